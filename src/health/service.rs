//! `grpc.health.v1`: Check, Watch and List, read from the board.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tonic::codec::CompressionEncoding;
use tonic::codegen::tokio_stream::Stream;
use tonic::{Request, Response, Status};

use super::board::{Board, LIVENESS};
use super::http::Caller;
use super::pulse::{Pulse, Stage};
use super::watching::Watching;
use super::wire::health_check_response::ServingStatus;
use super::wire::health_server::{Health, HealthServer};
use super::wire::{HealthCheckRequest, HealthCheckResponse, HealthListRequest, HealthListResponse};

/// Names a List answers at most, as grpc-go's server has it; more are RESOURCE_EXHAUSTED.
const MAX_LISTED: usize = 100;

/// Bytes of a request message, after decompression: a name and its framing.
const MAX_REQUEST: usize = 4096;

/// The service behind the generated server.
#[derive(Debug)]
pub(super) struct Service {
    board: Board,
}

/// The generated server over the board. Gzip requests are accepted; replies, a few bytes each, are not
/// compressed.
pub(super) fn server(board: Board) -> HealthServer<Service> {
    HealthServer::new(Service { board })
        .accept_compressed(CompressionEncoding::Gzip)
        .max_decoding_message_size(MAX_REQUEST)
}

impl Service {
    fn probed(&self, caller: Option<&Caller>, status: ServingStatus) {
        if let Some(caller) = caller {
            self.board.probed(caller.peer, status, caller.now);
        }
    }
}

#[tonic::async_trait]
impl Health for Service {
    type WatchStream = Statuses;

    async fn check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        let name = &request.get_ref().service;
        let status = self
            .board
            .status(name)
            .ok_or_else(|| Status::not_found("no such service"))?;
        let status = ServingStatus::from(status);
        if name != LIVENESS {
            self.probed(request.extensions().get(), status);
        }
        Ok(Response::new(response(status)))
    }

    async fn list(
        &self,
        request: Request<HealthListRequest>,
    ) -> Result<Response<HealthListResponse>, Status> {
        let statuses = self.board.statuses();
        if statuses.len() > MAX_LISTED {
            let why = format!("{} services, and a list has at most {MAX_LISTED}", statuses.len());
            return Err(Status::resource_exhausted(why));
        }
        let whole = self.board.status(super::board::OVERALL).unwrap_or_default();
        self.probed(request.extensions().get(), whole.into());
        let statuses: BTreeMap<_, _> = statuses
            .into_iter()
            .map(|(name, status)| (name, response(status.into())))
            .collect();
        Ok(Response::new(HealthListResponse { statuses }))
    }

    async fn watch(&self, request: Request<HealthCheckRequest>) -> Result<Response<Statuses>, Status> {
        let caller: &Caller = request
            .extensions()
            .get()
            .ok_or_else(|| Status::unavailable("the connection is unknown"))?;
        let watching = self
            .board
            .watch(&request.get_ref().service, caller.peer)
            .map_err(|_| Status::resource_exhausted("too many watches are open"))?;
        let seat = watching.seat();
        let mut response = Response::new(Statuses::new(watching, Arc::clone(&caller.pulse)));
        // For the body, which sees the messages leave.
        response.extensions_mut().insert(seat);
        Ok(response)
    }
}

fn response(status: ServingStatus) -> HealthCheckResponse {
    HealthCheckResponse {
        status: status.into(),
    }
}

type Item = Result<HealthCheckResponse, Status>;
type Step = Pin<Box<dyn Future<Output = (Option<Item>, Option<Watch>)> + Send>>;

/// The messages of one Watch: the status at once and at each change, and UNAVAILABLE after the
/// connection's GOAWAY.
pub(super) struct Statuses {
    /// The next message in the making; nothing once the stream has ended.
    step: Option<Step>,
}

struct Watch {
    watching: Watching,
    pulse: Arc<Pulse>,
}

impl Statuses {
    fn new(watching: Watching, pulse: Arc<Pulse>) -> Self {
        Self {
            step: Some(Box::pin(Watch { watching, pulse }.step())),
        }
    }
}

impl Watch {
    async fn step(mut self) -> (Option<Item>, Option<Self>) {
        tokio::select! {
            // A change that came with the end is still told.
            biased;
            status = self.watching.next() => (Some(Ok(response(status))), Some(self)),
            () = self.pulse.reached(Stage::SaidGoaway) => (Some(Err(Status::unavailable("the pod is going away"))), None),
        }
    }
}

impl Stream for Statuses {
    type Item = Item;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Item>> {
        let this = self.get_mut();
        let Some(step) = &mut this.step else {
            return Poll::Ready(None);
        };
        match step.as_mut().poll(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready((item, rest)) => {
                this.step = rest.map(|watch| -> Step { Box::pin(watch.step()) });
                Poll::Ready(item)
            }
        }
    }
}
