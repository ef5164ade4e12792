//! The service itself: two calls, one of each kind.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::sleep;
use tokio_stream::{Stream, StreamExt};
use tonic::{Request, Response, Status};

use wire::library_server::Library;
use wire::{Book, FindBookRequest, ListShelfRequest};

/// The messages, generated from `examples/proto/library.proto`.
#[allow(clippy::all, missing_docs)]
pub mod wire {
    tonic::include_proto!("plume.linkd.v3");
}

/// Every book anyone asks for is here.
pub struct Catalogue;

#[tonic::async_trait]
impl Library for Catalogue {
    async fn find_book(&self, request: Request<FindBookRequest>) -> Result<Response<Book>, Status> {
        let FindBookRequest { title, take_millis } = request.into_inner();
        if title.is_empty() {
            return Err(Status::invalid_argument("title is empty: which book?"));
        }
        sleep(Duration::from_millis(take_millis.into())).await;
        Ok(Response::new(Book {
            title,
            shelf: "A".into(),
            position: 1,
        }))
    }

    type ListShelfStream = Pin<Box<dyn Stream<Item = Result<Book, Status>> + Send>>;

    async fn list_shelf(
        &self,
        request: Request<ListShelfRequest>,
    ) -> Result<Response<Self::ListShelfStream>, Status> {
        let ListShelfRequest {
            shelf,
            books,
            interval_millis,
        } = request.into_inner();
        let interval = Duration::from_millis(interval_millis.into());
        // Lazy: a client that leaves drops the stream, and with it everything that was still to come.
        let walk = tokio_stream::iter(1..=books).then(move |position| {
            let shelf = shelf.clone();
            async move {
                sleep(interval).await;
                Ok(Book {
                    title: format!("Volume {position}"),
                    shelf,
                    position,
                })
            }
        });
        Ok(Response::new(Box::pin(walk)))
    }
}
