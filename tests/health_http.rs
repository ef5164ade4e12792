//! `/readyz`, `/healthz` and `/metrics`, as a kubelet and a Prometheus see them.

mod health_room;

use std::time::Instant;

use health_room::{serving, unknown, within};
use tidegate::health::Status;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[tokio::test]
async fn readyz_says_why_not() {
    let room = unknown(["a", "b"]);
    assert_eq!(room.get("/readyz").await, (503, "no verdict yet: a, b\n".into()));
    room.board.set_every(Status::Serving);
    assert_eq!(room.get("/readyz?verbose=1").await, (200, "ok\n".into()));
    room.board.set("b", Status::NotServing).unwrap();
    assert_eq!(room.get("/readyz").await, (503, "not serving: b\n".into()));
    room.board.drain();
    assert_eq!(room.get("/readyz").await, (503, "draining\n".into()));
    room.board.child_ended();
    assert_eq!(room.get("/readyz").await, (503, "the child has ended\n".into()));
}

#[tokio::test]
async fn healthz_outlives_the_drain_and_not_the_child() {
    let room = serving();
    assert_eq!(room.get("/healthz").await, (200, "ok\n".into()));
    room.board.drain();
    assert_eq!(room.get("/healthz").await, (200, "ok\n".into()));
    room.board.child_ended();
    assert_eq!(room.get("/healthz").await.0, 503);
}

#[tokio::test]
async fn metrics_are_whatever_the_closure_says() {
    let room = serving();
    assert_eq!(room.get("/metrics").await, (200, "tidegate_up 1\n".into()));
    let answer = room.http("GET /metrics HTTP/1.0\r\n\r\n").await;
    assert!(answer.contains("text/plain; version=0.0.4"), "{answer}");
}

#[tokio::test]
async fn head_has_no_body_and_counts_as_a_probe() {
    let room = serving();
    room.board.drain();
    let answer = room
        .http("HEAD /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        .await;
    assert!(
        answer.starts_with("HTTP/1.1 503 ") && answer.ends_with("\r\n\r\n"),
        "{answer}"
    );
    assert!(answer.contains("content-length: 9"), "{answer}");
    assert_eq!(room.board.audience(Instant::now()).probers_told, 1);
}

#[tokio::test]
async fn other_paths_are_404_other_methods_405_and_grpc_without_its_content_type_415() {
    let room = serving();
    for path in ["/", "/readyz/", "/grpc.health.v1.Health/Nope"] {
        assert_eq!(room.get(path).await.0, 404, "{path}");
    }
    // gRPC over HTTP/2: "if Content-Type does not begin with application/grpc, servers SHOULD respond with 415".
    for path in ["/grpc.health.v1.Health/Check", "/AWS.ALB/healthcheck"] {
        assert_eq!(room.get(path).await.0, 415, "{path}");
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "BREW"] {
        let request = format!("{method} /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        let answer = room.http(&request).await;
        assert!(
            answer.starts_with("HTTP/1.1 405 ") && answer.contains("allow: GET, HEAD"),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn grpc_over_http1_is_told_what_it_needs() {
    let room = serving();
    let answer = room
        .http("POST /grpc.health.v1.Health/Check HTTP/1.1\r\nHost: x\r\nContent-Type: application/grpc\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        .await;
    assert!(answer.starts_with("HTTP/1.1 505 "), "{answer}");
}

#[tokio::test]
async fn http2_probes_get_the_same_answers() {
    let room = serving();
    let (client, connection) = h2::client::handshake(room.tcp().await).await.unwrap();
    tokio::spawn(connection);
    for (path, status) in [
        ("/readyz", 200),
        ("/healthz", 200),
        ("/metrics", 200),
        ("/nowhere", 404),
    ] {
        let request = hyper::Request::get(format!("http://x{path}")).body(()).unwrap();
        let (response, _) = client
            .clone()
            .ready()
            .await
            .unwrap()
            .send_request(request, true)
            .unwrap();
        assert_eq!(within(response).await.unwrap().status(), status, "{path}");
    }
}

#[tokio::test]
async fn one_connection_serves_probe_after_probe() {
    let room = serving();
    let mut stream = room.tcp().await;
    for _ in 0..3 {
        stream
            .write_all(b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
            .await
            .unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\nok\n") {
            within(stream.read_buf(&mut answer)).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_client_that_has_said_all_still_gets_its_answer() {
    let room = serving();
    let mut stream = room.tcp().await;
    stream
        .write_all(b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
        .await
        .unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = String::new();
    within(stream.read_to_string(&mut answer)).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}
