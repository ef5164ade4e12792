//! The routes: `/readyz`, `/healthz`, `/metrics`, the ALB's gRPC method, and
//! everything else gRPC to the service.
//!
//! No route answers 500: a health endpoint's 500 raises alarms where a 503 is
//! the plain truth.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http_body_util::Full;
use hyper::body::{Body, Bytes};
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode, Version};
use tonic::Code;
use tonic::codegen::Service as _;
use tonic::codegen::StdError;

use super::audience::Peer;
use super::board::{Board, OVERALL, Readiness, Status};
use super::outgoing::Outgoing;
use super::pulse::Pulse;
use super::server::Metrics;
use super::service::{self, Service};
use super::watching::Seat;
use super::wire::health_check_response::ServingStatus;
use super::wire::health_server::HealthServer;

/// The method an AWS Application Load Balancer calls unless told otherwise. Its default success code is 12
/// (UNIMPLEMENTED), what a server that knows nothing of it would say.
const ALB_METHOD: &str = "/AWS.ALB/healthcheck";

/// How long a gRPC request may take to arrive whole.
const REQUEST_TIME: Duration = Duration::from_secs(10);

/// Who asks, on which connection, and when. Travels with the request.
#[derive(Clone, Debug)]
pub(super) struct Caller {
    pub(super) peer: Peer,
    pub(super) pulse: Arc<Pulse>,
    pub(super) now: Instant,
}

/// What all connections answer with.
pub(super) struct Routes {
    board: Board,
    grpc: HealthServer<Service>,
    metrics: Metrics,
}

impl Routes {
    pub(super) fn new(board: Board, metrics: Metrics) -> Self {
        let grpc = service::server(board.clone());
        Self { board, grpc, metrics }
    }

    /// Answers one request. Never fails.
    pub(super) async fn answer<B>(
        &self,
        mut request: Request<B>,
        caller: Caller,
    ) -> Result<Response<Outgoing>, Infallible>
    where
        B: Body + Send + 'static,
        B::Error: Into<StdError> + Send + 'static,
    {
        let call = caller.pulse.call();
        let mut response = if is_grpc(&request) {
            request.extensions_mut().insert(caller.clone());
            self.grpc(request, &caller).await
        } else {
            self.plain(request.method(), request.uri().path(), &caller)
        };
        let seat = response.extensions_mut().remove::<Arc<Seat>>();
        Ok(response.map(|body| Outgoing::new(body, seat, call)))
    }

    async fn grpc<B>(&self, request: Request<B>, caller: &Caller) -> Response<tonic::body::Body>
    where
        B: Body + Send + 'static,
        B::Error: Into<StdError> + Send + 'static,
    {
        if request.version() != Version::HTTP_2 {
            return text(StatusCode::HTTP_VERSION_NOT_SUPPORTED, "gRPC needs HTTP/2");
        }
        if request.method() != Method::POST {
            return not_allowed("POST");
        }
        if request.uri().path() == ALB_METHOD {
            return self.alb(caller).into_http();
        }
        let mut grpc = self.grpc.clone();
        match tokio::time::timeout(REQUEST_TIME, grpc.call(request)).await {
            Ok(Ok(response)) => response,
            Ok(Err(never)) => match never {},
            Err(_) => tonic::Status::deadline_exceeded("the request took too long to arrive").into_http(),
        }
    }

    /// 12 while serving, 14 otherwise.
    fn alb(&self, caller: &Caller) -> tonic::Status {
        let status = self.board.status(OVERALL).unwrap_or_default();
        self.board.probed(caller.peer, status.into(), caller.now);
        match status {
            Status::Serving => tonic::Status::new(Code::Unimplemented, "serving"),
            Status::Unknown | Status::NotServing => tonic::Status::unavailable("not serving"),
        }
    }

    fn plain(&self, method: &Method, path: &str, caller: &Caller) -> Response<tonic::body::Body> {
        if !matches!(path, "/readyz" | "/healthz" | "/metrics") {
            return text(
                StatusCode::NOT_FOUND,
                "not here; there are /readyz, /healthz and /metrics",
            );
        }
        // The answer to HEAD is that to GET; hyper leaves the body out.
        if method != Method::GET && method != Method::HEAD {
            return not_allowed("GET, HEAD");
        }
        match path {
            "/readyz" => self.readyz(caller),
            "/healthz" => self.healthz(),
            _ => metrics((self.metrics)()),
        }
    }

    fn readyz(&self, caller: &Caller) -> Response<tonic::body::Body> {
        let (status, response) = match self.board.readiness() {
            Readiness::Ready => (ServingStatus::Serving, text(StatusCode::OK, "ok")),
            Readiness::NotReady(why) => (
                ServingStatus::NotServing,
                text(StatusCode::SERVICE_UNAVAILABLE, &why),
            ),
        };
        self.board.probed(caller.peer, status, caller.now);
        response
    }

    fn healthz(&self) -> Response<tonic::body::Body> {
        if self.board.is_live() {
            text(StatusCode::OK, "ok")
        } else {
            text(StatusCode::SERVICE_UNAVAILABLE, "the child has ended")
        }
    }
}

fn is_grpc<B>(request: &Request<B>) -> bool {
    request
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"))
}

fn text(status: StatusCode, line: &str) -> Response<tonic::body::Body> {
    let mut response = full(status, "text/plain; charset=utf-8", format!("{line}\n"));
    // A status is true now and not a moment longer, whatever proxy stands between.
    response
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn metrics(page: String) -> Response<tonic::body::Body> {
    full(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", page)
}

fn not_allowed(allowed: &'static str) -> Response<tonic::body::Body> {
    let mut response = text(
        StatusCode::METHOD_NOT_ALLOWED,
        &format!("the method must be {allowed}"),
    );
    response
        .headers_mut()
        .insert(ALLOW, HeaderValue::from_static(allowed));
    response
}

fn full(status: StatusCode, kind: &'static str, body: String) -> Response<tonic::body::Body> {
    let mut response = Response::new(tonic::body::Body::new(Full::new(Bytes::from(body))));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
