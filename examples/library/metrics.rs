//! `/metrics` in the Prometheus text format, over HTTP/1 on a port of its own.

use std::convert::Infallible;
use std::fmt::Write;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use crate::counting::Counts;

const SERVICE: &str = "plume.linkd.v3.Library";

/// Serves scrapes until the program ends.
pub async fn serve(listener: TcpListener, counts: Counts) {
    loop {
        let Ok((socket, _)) = listener.accept().await else {
            // Out of descriptors, most likely: a moment later there may be some again.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let counts = counts.clone();
        let service = service_fn(move |request| {
            let answer = answer(&request, &counts);
            async move { Ok::<_, Infallible>(answer) }
        });
        tokio::spawn(async move {
            // A scraper that breaks off harms nobody but itself.
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(socket), service)
                .await;
        });
    }
}

fn answer(request: &Request<Incoming>, counts: &Counts) -> Response<Full<Bytes>> {
    let (status, text) = match request.uri().path() {
        "/metrics" => (StatusCode::OK, exposition(counts)),
        _ => (StatusCode::NOT_FOUND, "only /metrics is here\n".to_owned()),
    };
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(
        CONTENT_TYPE,
        hyper::header::HeaderValue::from_static("text/plain; version=0.0.4"),
    );
    response
}

/// The names that go-grpc-middleware gave these counters, which dashboards already know, and one gauge.
fn exposition(counts: &Counts) -> String {
    let numbers = counts.read();
    let mut text = String::from(
        "# HELP library_calls_in_flight Calls under way, from entry to the last byte.\n\
         # TYPE library_calls_in_flight gauge\n",
    );
    // Writing to a String cannot fail.
    let _ = writeln!(text, "library_calls_in_flight {}", numbers.in_flight);
    text.push_str(
        "# HELP grpc_server_started_total Calls begun.\n# TYPE grpc_server_started_total counter\n",
    );
    for (method, count) in &numbers.started {
        let (kind, name) = method.labels();
        let _ = writeln!(
            text,
            "grpc_server_started_total{{grpc_type=\"{kind}\",grpc_service=\"{SERVICE}\",grpc_method=\"{name}\"}} {count}"
        );
    }
    text.push_str("# HELP grpc_server_handled_total Calls over.\n# TYPE grpc_server_handled_total counter\n");
    for ((method, code), count) in &numbers.handled {
        let (kind, name) = method.labels();
        let _ = writeln!(
            text,
            "grpc_server_handled_total{{grpc_type=\"{kind}\",grpc_service=\"{SERVICE}\",grpc_method=\"{name}\",grpc_code=\"{code}\"}} {count}"
        );
    }
    text
}
