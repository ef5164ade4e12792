//! The tcp source from outside, by `tidegate inflight`: gRPC connections that are idle, a call that
//! is silent, a poll's own connection.

mod inflight_app;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use inflight_app::App;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

/// A gRPC server on a port of its own, until the test ends.
async fn grpc_server() -> u16 {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (_, health) = tonic_health::server::health_reporter();
    let incoming = tokio_stream::wrappers::TcpListenerStream::new(listener);
    tokio::spawn(
        tonic::transport::Server::builder()
            .add_service(health)
            .serve_with_incoming(incoming),
    );
    port
}

/// Watches with this config until a line ends so.
async fn watch_until(yaml: String, wanted: &'static str) {
    let watching = tokio::task::spawn_blocking(move || {
        let mut watch = Command::new(env!("CARGO_BIN_EXE_tidegate"))
            .args(["inflight", "--watch"])
            .env("TIDEGATE_CONFIG", yaml)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let end = Instant::now() + Duration::from_secs(60);
        let mut last = String::new();
        let mut seen = 0;
        for line in BufReader::new(watch.stdout.take().unwrap()).lines() {
            last = line.unwrap();
            // Twice in a row where it matters: one look may still be the first.
            seen += usize::from(last.ends_with(wanted));
            if seen == 2 || Instant::now() > end {
                break;
            }
        }
        watch.kill().unwrap();
        watch.wait().unwrap();
        assert_eq!(seen, 2, "{wanted}: {last}");
    });
    watching.await.unwrap();
}

fn tcp(port: u16, how: &str) -> String {
    format!("drain: {{pollTimeout: 20s}}\ninflight: [{{tcp: {{ports: [{port}], {how}}}}}]")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_channel_is_no_call_and_a_silent_stream_is_seen_by_established_alone() {
    let port = grpc_server().await;
    let endpoint = tonic::transport::Endpoint::from_shared(format!("http://127.0.0.1:{port}")).unwrap();
    let mut client = HealthClient::new(endpoint.connect().await.unwrap());
    let everything = || HealthCheckRequest {
        service: String::new(),
    };
    client.check(everything()).await.unwrap();
    watch_until(tcp(port, "idleAfter: 1h"), "sum: 1").await;
    watch_until(tcp(port, "idleAfter: 100ms"), "sum: 0").await;

    let mut stream = client.watch(everything()).await.unwrap().into_inner();
    stream.message().await.unwrap();
    // The stream is open and says nothing: no byte moves, as with a call that is being worked on.
    watch_until(tcp(port, "idleAfter: 100ms"), "sum: 0").await;
    watch_until(tcp(port, "mode: established"), "sum: 1").await;
    watch_until(tcp(port, "mode: established, ignorePeers: [127.0.0.1]"), "sum: 0").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_polls_own_connection_to_the_port_is_no_call() {
    let app = App::with_body("calls 0\n").await;
    let (port, url) = (app.address.port(), app.url());
    let yaml = format!(
        "drain: {{pollTimeout: 20s}}\ninflight:\n\
         - prometheus: {{url: '{url}', query: calls}}\n\
         - tcp: {{ports: [{port}], mode: established}}\n"
    );
    watch_until(yaml.clone(), "sum: 0").await;
    // Somebody else's is.
    let _other = tokio::net::TcpStream::connect(app.address).await.unwrap();
    watch_until(yaml, "sum: 1").await;
}
