//! TLS on the health port.

mod health_room;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use health_room::tls::{believing, connect, fixture, readyz, secured};
use health_room::{DATA, PREFACE, Raw, ServingStatus, within};
use tidegate::health::Tls;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const CHECK: &str = "/grpc.health.v1.Health/Check";
const WATCH: &str = "/grpc.health.v1.Health/Watch";

fn first() -> Tls {
    Tls {
        cert: fixture("first.pem"),
        key: fixture("first.key"),
    }
}

#[tokio::test]
async fn the_client_chooses_the_protocol_by_alpn() {
    let room = secured(&first());
    for protocol in ["h2", "http/1.1"] {
        let stream = connect(&room, &believing("first.pem", protocol)).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(protocol.as_bytes()));
    }
    assert_eq!(readyz(&room, "first.pem").await, "HTTP/1.1 200 OK");
    let stream = connect(&room, &believing("first.pem", "h2")).await.unwrap();
    let mut raw = Raw::open(stream, &[]).await;
    raw.call(1, CHECK, "a", "x").await;
    assert_eq!(raw.status().await, ServingStatus::Serving);
    raw.call(3, WATCH, "a", "x").await;
    assert_eq!(raw.status().await, ServingStatus::Serving);
    room.board.drain();
    assert_eq!(raw.status().await, ServingStatus::NotServing);
    let start = Instant::now();
    within(room.server.shutdown(start + Duration::from_millis(100))).await;
    while raw.next().await.is_some() {}
}

#[tokio::test]
async fn changed_files_are_shown_to_the_next_who_connects() {
    let directory = tempfile::tempdir().unwrap();
    let tls = Tls {
        cert: directory.path().join("tls.crt"),
        key: directory.path().join("tls.key"),
    };
    let put = |cert: &Path, key: &Path| {
        // As the kubelet does it, each file appears whole.
        for (from, to) in [(cert, &tls.cert), (key, &tls.key)] {
            let new = to.with_extension("new");
            fs::copy(from, &new).unwrap();
            fs::rename(&new, to).unwrap();
        }
    };
    put(&fixture("first.pem"), &fixture("first.key"));
    let room = secured(&tls);
    let kept = connect(&room, &believing("first.pem", "h2")).await.unwrap();
    let mut raw = Raw::open(kept, &[]).await;
    put(&fixture("second.pem"), &fixture("second.key"));
    assert_eq!(readyz(&room, "second.pem").await, "HTTP/1.1 200 OK");
    assert!(connect(&room, &believing("first.pem", "h2")).await.is_err());
    // Two that do not belong together, then no certificate at all: what was good goes on.
    put(&fixture("first.pem"), &fixture("second.key"));
    assert_eq!(readyz(&room, "second.pem").await, "HTTP/1.1 200 OK");
    fs::write(&tls.cert, "half").unwrap();
    assert_eq!(readyz(&room, "second.pem").await, "HTTP/1.1 200 OK");
    fs::remove_file(&tls.key).unwrap();
    assert_eq!(readyz(&room, "second.pem").await, "HTTP/1.1 200 OK");
    put(&fixture("first.pem"), &fixture("first.key"));
    assert_eq!(readyz(&room, "first.pem").await, "HTTP/1.1 200 OK");
    // Who was connected before all that notices nothing.
    raw.call(1, CHECK, "a", "x").await;
    assert_eq!(raw.status().await, ServingStatus::Serving);
}

#[tokio::test]
async fn who_does_not_speak_tls_is_hung_up_on_without_harm() {
    let room = secured(&first());
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut garbage = vec![
        PREFACE.to_vec(),
        b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(),
        b"\x16\x03\x01\x40\x00".repeat(4000),
    ];
    for _ in 0..50 {
        garbage.push(
            (0..1500)
                .map(|_| {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (seed >> 56) as u8
                })
                .collect(),
        );
    }
    for bytes in garbage {
        let mut stream = room.tcp().await;
        let _ = stream.write_all(&bytes).await;
        let _ = stream.shutdown().await;
        let mut answer = Vec::new();
        let _ = within(stream.read_to_end(&mut answer)).await;
        assert!(!answer.starts_with(b"HTTP/"), "an answer without TLS");
    }
    // Garbage inside TLS.
    let mut stream = connect(&room, &believing("first.pem", "h2")).await.unwrap();
    let _ = stream.write_all(&[0x7f; 5000]).await;
    let _ = within(stream.read_to_end(&mut Vec::new())).await;
    assert_eq!(readyz(&room, "first.pem").await, "HTTP/1.1 200 OK");
}

#[tokio::test]
async fn half_a_handshake_is_not_waited_for_at_the_end() {
    let room = secured(&first());
    let mut half = room.tcp().await;
    half.write_all(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
        .await
        .unwrap();
    let stream = connect(&room, &believing("first.pem", "h2")).await.unwrap();
    let mut raw = Raw::open(stream, &[]).await;
    raw.call(1, WATCH, "a", "x").await;
    raw.next_of(DATA).await;
    let start = Instant::now();
    within(room.server.shutdown(start + Duration::from_millis(100))).await;
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
}

#[test]
fn files_that_make_no_identity_are_one_line_and_125() {
    let (cert, key) = (fixture("first.pem"), fixture("first.key"));
    let (other, nowhere) = (fixture("second.key"), Path::new("/nowhere/tls.key"));
    let directory = tempfile::tempdir().unwrap();
    for (cert, key, wanted) in [
        (
            cert.as_path(),
            nowhere,
            "health.tls.key: cannot read /nowhere/tls.key: No such file",
        ),
        (
            key.as_path(),
            key.as_path(),
            "health.tls.cert: no certificate in ",
        ),
        (
            cert.as_path(),
            cert.as_path(),
            "health.tls.key: no private key in ",
        ),
        (cert.as_path(), other.as_path(), "make no identity: "),
    ] {
        let ended = Command::new(env!("CARGO_BIN_EXE_tidegate"))
            .args(["--listen", &format!("unix:{}/h", directory.path().display())])
            .args(["--", "/bin/echo", "started"])
            .env("TIDEGATE_HEALTH_TLS_CERT", cert)
            .env("TIDEGATE_HEALTH_TLS_KEY", key)
            .env("TIDEGATE_ADMIN_SOCKET", "off")
            .output()
            .unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(125), "{said}");
        assert!(said.contains(wanted) && said.lines().count() == 1, "{said}");
        assert!(ended.stdout.is_empty(), "the program was started");
    }
}
