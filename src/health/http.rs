//! The routes: `/readyz`, `/healthz`, `/metrics`, the ALB's gRPC method, and
//! everything else gRPC to the service.
//!
//! No route answers 500: a health endpoint's 500 raises alarms where a 503 is
//! the plain truth.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Instant;

use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode, Version};
use tonic::Code;

use super::audience::Peer;
use super::board::{Board, OVERALL, Readiness, Status};
use super::grpc::{self, Failure, Frames, Packing};
use super::outgoing::{Content, Outgoing};
use super::pulse::Pulse;
use super::reflection::Answers;
use super::server::Metrics;
use super::service;
use super::wire::HealthListRequest;
use super::wire::health_check_response::ServingStatus;

/// The method an AWS Application Load Balancer calls unless told otherwise. Its default success code is 12
/// (UNIMPLEMENTED), what a server that knows nothing of it would say.
const ALB_METHOD: &str = "/AWS.ALB/healthcheck";

const CHECK: &str = "/grpc.health.v1.Health/Check";
const WATCH: &str = "/grpc.health.v1.Health/Watch";
const LIST: &str = "/grpc.health.v1.Health/List";

const REFLECTION: &str = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
const REFLECTION_ALPHA: &str = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";

/// Every gRPC method there is here.
const METHODS: [&str; 6] = [CHECK, WATCH, LIST, REFLECTION, REFLECTION_ALPHA, ALB_METHOD];

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
    metrics: Metrics,
}

impl Routes {
    pub(super) fn new(board: Board, metrics: Metrics) -> Self {
        Self { board, metrics }
    }

    /// Answers one request. Never fails.
    pub(super) async fn answer(
        &self,
        request: Request<Incoming>,
        caller: Caller,
    ) -> Result<Response<Outgoing>, Infallible> {
        let call = caller.pulse.call();
        let response = if is_grpc(&request) {
            self.grpc(request, &caller).await
        } else {
            self.plain(request.method(), request.uri().path(), &caller)
        };
        Ok(response.map(|content| Outgoing::new(content, call)))
    }

    async fn grpc(&self, request: Request<Incoming>, caller: &Caller) -> Response<Content> {
        if request.version() != Version::HTTP_2 {
            return text(StatusCode::HTTP_VERSION_NOT_SUPPORTED, "gRPC needs HTTP/2");
        }
        if request.method() != Method::POST {
            return not_allowed("POST");
        }
        match self.call(request, caller).await {
            Ok(content) => grpc::response(content),
            Err(failure) => failure.response(Content::Text(None)),
        }
    }

    async fn call(&self, request: Request<Incoming>, caller: &Caller) -> Result<Content, Failure> {
        let board = &self.board;
        match request.uri().path() {
            CHECK => {
                let name = grpc::message(request).await?;
                service::check(board, &name, caller).map(|reply| Content::Reply(Some(reply)))
            }
            WATCH => {
                let name = grpc::message(request).await?;
                service::watch(board, &name, caller).map(Content::Watch)
            }
            LIST => {
                let HealthListRequest {} = grpc::message(request).await?;
                service::list(board, caller).map(|reply| Content::Reply(Some(reply)))
            }
            REFLECTION | REFLECTION_ALPHA => {
                let frames = Frames::new(Packing::of(request.headers())?);
                Ok(Content::Reflection(Answers::new(request.into_body(), frames)))
            }
            ALB_METHOD => Err(self.alb(caller)),
            _ => Err(Failure::new(Code::Unimplemented, "no such method here")),
        }
    }

    /// 12 while serving, 14 otherwise.
    fn alb(&self, caller: &Caller) -> Failure {
        let status = self.board.status(OVERALL).unwrap_or_default();
        self.board.probed(caller.peer, status.into(), caller.now);
        match status {
            Status::Serving => Failure::new(Code::Unimplemented, "serving"),
            Status::Unknown | Status::NotServing => Failure::new(Code::Unavailable, "not serving"),
        }
    }

    fn plain(&self, method: &Method, path: &str, caller: &Caller) -> Response<Content> {
        if METHODS.contains(&path) {
            // As gRPC over HTTP/2 has it: a 200 with a gRPC error in it would be taken for success.
            return text(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "a gRPC method: content-type application/grpc, over HTTP/2",
            );
        }
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

    fn readyz(&self, caller: &Caller) -> Response<Content> {
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

    fn healthz(&self) -> Response<Content> {
        if self.board.is_live() {
            text(StatusCode::OK, "ok")
        } else {
            text(StatusCode::SERVICE_UNAVAILABLE, "the child has ended")
        }
    }
}

fn is_grpc(request: &Request<Incoming>) -> bool {
    request
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"))
}

fn text(status: StatusCode, line: &str) -> Response<Content> {
    let mut response = full(status, "text/plain; charset=utf-8", format!("{line}\n"));
    // A status is true now and not a moment longer, whatever proxy stands between.
    response
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn metrics(page: String) -> Response<Content> {
    full(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", page)
}

fn not_allowed(allowed: &'static str) -> Response<Content> {
    let mut response = text(
        StatusCode::METHOD_NOT_ALLOWED,
        &format!("the method must be {}", allowed.replace(", ", " or ")),
    );
    response
        .headers_mut()
        .insert(ALLOW, HeaderValue::from_static(allowed));
    response
}

fn full(status: StatusCode, kind: &'static str, body: String) -> Response<Content> {
    let mut response = Response::new(Content::Text(Some(Bytes::from(body))));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
