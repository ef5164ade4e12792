//! The end of the health service waits for no one.

mod health_room;

use std::time::{Duration, Instant};

use health_room::{
    DATA, GOAWAY, HEADERS, PATIENCE, PREFACE, Raw, Room, SETTINGS, ServingStatus, ask, get, serving, within,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tonic::Code;

const WATCH: &str = "/grpc.health.v1.Health/Watch";

/// What the driver grants.
const GRANT: Duration = Duration::from_millis(100);

/// Generous: the machine may be slow, the wait may not be unbounded.
const SLACK: Duration = Duration::from_secs(2);

/// Shuts down with the driver's grant; how long it took.
async fn shut(room: Room) -> Duration {
    let start = Instant::now();
    within(room.server.shutdown(start + GRANT)).await;
    start.elapsed()
}

async fn settle() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}

#[tokio::test]
async fn with_nobody_there_it_ends_at_once() {
    let took = shut(serving()).await;
    assert!(took < GRANT, "{took:?}");
}

#[tokio::test]
async fn polite_watchers_are_gone_before_the_deadline() {
    let room = serving();
    let mut watch = room.client().await.watch(ask("a")).await.unwrap().into_inner();
    within(watch.message()).await.unwrap();
    room.board.drain();
    within(watch.message()).await.unwrap();
    let start = Instant::now();
    let (_, end) = tokio::join!(room.server.shutdown(start + PATIENCE), watch.message());
    assert_eq!(end.unwrap_err().code(), Code::Unavailable);
    assert!(start.elapsed() < SLACK);
}

#[tokio::test]
async fn a_watch_ends_only_after_goaway() {
    let room = serving();
    let mut raw = Raw::open(room.tcp().await, &[]).await;
    raw.call(1, WATCH, "a", "x").await;
    assert_eq!(raw.status().await, ServingStatus::Serving);
    room.board.drain();
    assert_eq!(raw.status().await, ServingStatus::NotServing);
    let ended = tokio::spawn(room.server.shutdown(Instant::now() + Duration::from_secs(1)));
    let mut goaway = false;
    loop {
        let frame = raw.next().await.expect("the trailers come before the end");
        match frame.kind {
            GOAWAY => goaway = true,
            // Trailers: END_STREAM.
            HEADERS => {
                assert_eq!(frame.flags & 1, 1);
                assert!(goaway, "the watch ended on a connection that seemed well");
                break;
            }
            DATA => panic!("nothing has changed"),
            _ => {}
        }
    }
    within(ended).await.unwrap();
}

#[tokio::test]
async fn a_drain_alone_ends_no_watch() {
    let room = serving();
    let mut watch = room.client().await.watch(ask("a")).await.unwrap().into_inner();
    within(watch.message()).await.unwrap();
    room.board.drain();
    within(watch.message()).await.unwrap();
    assert!(
        tokio::time::timeout(Duration::from_millis(200), watch.message())
            .await
            .is_err()
    );
}

#[tokio::test]
async fn peers_that_say_nothing_or_half_of_it_are_not_waited_for() {
    let room = serving();
    let mut held = Vec::new();
    for words in [
        &b""[..],
        &PREFACE[..7],
        PREFACE,
        b"GET /rea",
        b"GET /readyz HTTP/1.1\r\nHost: x\r\n",
        b"POST /readyz HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ] {
        let mut stream = room.tcp().await;
        stream.write_all(words).await.unwrap();
        held.push(stream);
    }
    // A request whose message never comes whole.
    let mut raw = Raw::open(room.tcp().await, &[]).await;
    raw.call(1, WATCH, "a", "x").await;
    raw.send(
        HEADERS,
        0x4,
        3,
        b"\x83\x86\x44\x1c/grpc.health.v1.Health/Check\x5f\x10application/grpc",
    )
    .await;
    raw.send(DATA, 0, 3, &[0, 0]).await;
    settle().await;
    let took = shut(room).await;
    assert!(took >= GRANT, "{took:?}");
    assert!(took < GRANT + SLACK, "{took:?}");
    for stream in &mut held {
        let mut rest = Vec::new();
        let _ = within(stream.read_to_end(&mut rest)).await;
    }
}

#[tokio::test]
async fn peers_that_never_answer_a_ping_or_open_a_window_are_not_waited_for() {
    let room = serving();
    let mut held = Vec::new();
    for settings in [&[][..], &[(4, 0)][..]] {
        let mut raw = Raw::open(room.tcp().await, settings).await;
        raw.call(1, WATCH, "a", "x").await;
        raw.next_of(HEADERS).await;
        held.push(raw);
    }
    let took = shut(room).await;
    assert!(took < GRANT + SLACK, "{took:?}");
    for raw in &mut held {
        raw.next_of(GOAWAY).await;
        while raw.next().await.is_some() {}
    }
}

#[tokio::test]
async fn three_thousand_idle_connections_are_gone_on_time() {
    let room = serving();
    let mut held = Vec::new();
    for number in 0..3000 {
        let mut stream = room.tcp().await;
        match number % 3 {
            0 => {}
            1 => stream
                .write_all(b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
                .await
                .unwrap(),
            _ => {
                stream.write_all(PREFACE).await.unwrap();
                stream
                    .write_all(&[0, 0, 0, SETTINGS, 0, 0, 0, 0, 0])
                    .await
                    .unwrap();
            }
        }
        held.push(stream);
    }
    settle().await;
    let took = shut(room).await;
    assert!(took < GRANT + SLACK, "{took:?}");
    for stream in &mut held {
        let mut rest = Vec::new();
        let _ = within(stream.read_to_end(&mut rest)).await;
    }
}

#[tokio::test]
async fn a_probe_is_answered_while_shutting_down() {
    let room = serving();
    room.board.drain();
    // Someone who keeps the shutdown waiting.
    let mut raw = Raw::open(room.tcp().await, &[]).await;
    raw.call(1, WATCH, "a", "x").await;
    raw.next_of(DATA).await;
    // A probe that has connected and not yet asked.
    let mut early = room.tcp().await;
    settle().await;
    let address = room.address;
    let start = Instant::now();
    let ended = tokio::spawn(room.server.shutdown(start + Duration::from_secs(2)));
    raw.next_of(GOAWAY).await;
    assert_eq!(get(address, "/readyz").await, (503, "draining\n".into()));
    early
        .write_all(b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
        .await
        .unwrap();
    let mut answer = String::new();
    within(early.read_to_string(&mut answer)).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert!(!ended.is_finished());
    drop(raw);
    within(ended).await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(2), "it waited for nobody");
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn dropping_the_server_ends_it() {
    let room = serving();
    let mut raw = Raw::open(room.tcp().await, &[]).await;
    raw.call(1, WATCH, "a", "x").await;
    raw.next_of(DATA).await;
    drop(room.server);
    while raw.next().await.is_some() {}
    assert!(TcpStream::connect(room.address).await.is_err());
}
