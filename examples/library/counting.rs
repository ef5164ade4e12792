//! What is under way, counted from a call's entry until its last byte has been handed to the connection.
//!
//! A handler's own scope is too short a measure: a streaming handler returns before its first message is
//! sent. So the count rides in the response body, which the server drops after the trailers, or at once when
//! the client leaves; in both cases the call is over, and no path forgets it.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::{HeaderMap, Request, Response};
use tonic::codegen::{BoxFuture, Service};
use tonic::server::NamedService;
use tonic::{Code, Status};

/// The numbers of all calls, shared between the service and `/metrics`.
#[derive(Clone)]
pub struct Counts(Arc<Mutex<Numbers>>);

/// One scrape's worth of numbers.
#[derive(Clone)]
pub struct Numbers {
    /// Calls under way.
    pub in_flight: u64,
    /// Calls ever begun, by method.
    pub started: BTreeMap<Method, u64>,
    /// Calls over, by method and by the code they ended with.
    pub handled: BTreeMap<(Method, &'static str), u64>,
}

/// The methods there are. Anything else a client asks for is one label, so that nobody can grow the metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// `FindBook`, unary.
    FindBook,
    /// `ListShelf`, server streaming.
    ListShelf,
    /// A method that does not exist.
    Unknown,
}

/// One call under way; dropping it ends the call.
struct Call {
    counts: Counts,
    method: Method,
    code: Option<Code>,
}

/// A gRPC service whose calls are counted.
#[derive(Clone)]
pub struct Counted<S> {
    inner: S,
    counts: Counts,
}

/// A response body that carries its call.
struct CountedBody {
    inner: tonic::body::Body,
    call: Call,
}

impl Default for Counts {
    /// Every known series is there from the start, at zero: a series that appears with the first call is
    /// missing until then, and missing is not zero.
    fn default() -> Self {
        let known = [Method::FindBook, Method::ListShelf];
        Self(Arc::new(Mutex::new(Numbers {
            in_flight: 0,
            started: known.map(|method| (method, 0)).into(),
            handled: known.map(|method| ((method, code_name(Code::Ok)), 0)).into(),
        })))
    }
}

impl Counts {
    /// The numbers as they are now.
    pub fn read(&self) -> Numbers {
        self.with(|numbers| numbers.clone())
    }

    fn begin(&self, method: Method) -> Call {
        self.with(|numbers| {
            numbers.in_flight += 1;
            *numbers.started.entry(method).or_default() += 1;
        });
        Call {
            counts: self.clone(),
            method,
            code: None,
        }
    }

    fn with<T>(&self, work: impl FnOnce(&mut Numbers) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Method {
    /// The method of a request path such as `/plume.linkd.v3.Library/FindBook`.
    fn of(path: &str) -> Self {
        match path.rsplit('/').next() {
            Some("FindBook") => Self::FindBook,
            Some("ListShelf") => Self::ListShelf,
            _ => Self::Unknown,
        }
    }

    /// Its `grpc_type` and `grpc_method` labels.
    pub fn labels(self) -> (&'static str, &'static str) {
        match self {
            Self::FindBook => ("unary", "FindBook"),
            Self::ListShelf => ("server_stream", "ListShelf"),
            Self::Unknown => ("unary", "unknown"),
        }
    }
}

impl Call {
    fn note(&mut self, headers: &HeaderMap) {
        if let Some(status) = Status::from_header_map(headers) {
            self.code = Some(status.code());
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        // No status went out: the client left before the end.
        let code = code_name(self.code.unwrap_or(Code::Cancelled));
        self.counts.with(|numbers| {
            numbers.in_flight -= 1;
            *numbers.handled.entry((self.method, code)).or_default() += 1;
        });
    }
}

/// The `grpc_code` label, spelt as the Go and Java interceptors spell it.
fn code_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "Canceled",
        Code::InvalidArgument => "InvalidArgument",
        Code::Unimplemented => "Unimplemented",
        Code::Unavailable => "Unavailable",
        _ => "Unknown",
    }
}

impl<S> Counted<S> {
    /// Counts the calls of `inner` in `counts`.
    pub fn new(inner: S, counts: Counts) -> Self {
        Self { inner, counts }
    }
}

impl<S: NamedService> NamedService for Counted<S> {
    const NAME: &'static str = S::NAME;
}

impl<S> Service<Request<tonic::body::Body>> for Counted<S>
where
    S: Service<Request<tonic::body::Body>, Response = Response<tonic::body::Body>, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<tonic::body::Body>) -> Self::Future {
        let mut call = self.counts.begin(Method::of(request.uri().path()));
        let answer = self.inner.call(request);
        Box::pin(async move {
            let (head, inner) = answer.await?.into_parts();
            call.note(&head.headers);
            Ok(Response::from_parts(
                head,
                tonic::body::Body::new(CountedBody { inner, call }),
            ))
        })
    }
}

impl Body for CountedBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(cx));
        if let Some(Ok(frame)) = &frame
            && let Some(trailers) = frame.trailers_ref()
        {
            self.call.note(trailers);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
