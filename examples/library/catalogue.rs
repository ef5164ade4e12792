//! The service itself: two calls, one of each kind.

use std::net::SocketAddr;
use std::pin::Pin;
use std::time::Duration;

use tokio::time::sleep;
use tokio_stream::{Stream, StreamExt};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::{Request, Response, Status};

use wire::library_server::Library;
use wire::{Book, FindBookRequest, ListShelfRequest};

/// The messages, generated from `examples/proto/library.proto`.
#[allow(clippy::all, missing_docs)]
pub mod wire {
    tonic::include_proto!("plume.linkd.v3");
}

/// Every book anyone asks for is here.
pub struct Catalogue {
    /// Which instance this is, for clients that want to know who answered: `x-instance`.
    name: MetadataValue<Ascii>,
}

impl Catalogue {
    /// Of the instance that serves at this address.
    pub fn at(address: SocketAddr) -> Self {
        let name = address.to_string().parse();
        Self {
            name: name.expect("digits, dots and colons are a header's value"),
        }
    }

    fn answer<T>(&self, message: T) -> Response<T> {
        let mut response = Response::new(message);
        response.metadata_mut().insert("x-instance", self.name.clone());
        response
    }
}

#[tonic::async_trait]
impl Library for Catalogue {
    async fn find_book(&self, request: Request<FindBookRequest>) -> Result<Response<Book>, Status> {
        let FindBookRequest { title, take_millis } = request.into_inner();
        if title.is_empty() {
            return Err(Status::invalid_argument("title is empty: which book?"));
        }
        sleep(Duration::from_millis(take_millis.into())).await;
        Ok(self.answer(Book {
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
        let walk: Self::ListShelfStream = Box::pin(walk);
        Ok(self.answer(walk))
    }
}
