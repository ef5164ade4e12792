//! Whatever is thrown at the health port, probes are answered.

mod health_room;

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use health_room::tls::{fixture, secured};
use health_room::{DATA, HEADERS, PING, PREFACE, Raw, SETTINGS, ask, serving, until, within};
use tidegate::health::Tls;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const WATCH: &str = "/grpc.health.v1.Health/Watch";

#[tokio::test]
async fn an_oversized_header_is_refused_without_harm() {
    let room = serving();
    let mut stream = room.tcp().await;
    let request = format!(
        "GET /readyz HTTP/1.1\r\nHost: x\r\nCookie: {}\r\n\r\n",
        "x".repeat(200_000)
    );
    let _ = stream.write_all(request.as_bytes()).await;
    let mut answer = Vec::new();
    let _ = within(stream.read_to_end(&mut answer)).await;
    if !answer.is_empty() {
        assert!(
            answer.starts_with(b"HTTP/1.1 431 "),
            "{}",
            String::from_utf8_lossy(&answer)
        );
    }

    let (client, connection) = h2::client::handshake(room.tcp().await).await.unwrap();
    tokio::spawn(connection);
    let request = hyper::Request::get("http://x/readyz")
        .header("cookie", "x".repeat(60_000))
        .body(())
        .unwrap();
    let (response, _) = client
        .clone()
        .ready()
        .await
        .unwrap()
        .send_request(request, true)
        .unwrap();
    if let Ok(response) = within(response).await {
        assert_eq!(response.status(), 431);
    }
    assert_eq!(room.get("/readyz").await.0, 200);
}

#[tokio::test]
async fn random_bytes_do_no_harm() {
    let room = serving();
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    for round in 0..200 {
        let mut stream = room.tcp().await;
        let length = (random() % 2000) as usize;
        let mut bytes: Vec<u8> = if round % 2 == 0 {
            PREFACE.to_vec()
        } else {
            b"GET /readyz HTTP/1.1\r\n".to_vec()
        };
        bytes.extend((0..length).map(|_| random() as u8));
        let _ = stream.write_all(&bytes).await;
        let _ = stream.shutdown().await;
        let mut answer = Vec::new();
        let _ = within(stream.read_to_end(&mut answer)).await;
        assert!(
            !answer.starts_with(b"HTTP/1.1 5"),
            "{}",
            String::from_utf8_lossy(&answer)
        );
    }
    assert_eq!(room.get("/readyz").await.0, 200);
}

#[tokio::test]
async fn a_probe_finds_a_place_among_a_crowd_that_says_nothing() {
    let room = serving();
    let mut watch = room.client().await.watch(ask("a")).await.unwrap().into_inner();
    within(watch.message()).await.unwrap();
    let begun = Instant::now();
    let mut crowd = Vec::new();
    for _ in 0..5000 {
        match TcpStream::connect(room.address).await {
            Ok(stream) => crowd.push(stream),
            // This test's own descriptors are spent.
            Err(_) => break,
        }
    }
    crowd.truncate(crowd.len().saturating_sub(20));
    assert_eq!(room.get("/readyz").await.0, 200);
    // The crowd's oldest made room, long before their silence alone would have closed them.
    while crowd.iter().filter(|stream| is_open(stream)).count() > 4096 {
        assert!(begun.elapsed() < Duration::from_secs(10), "nobody made room");
        tokio::task::yield_now().await;
    }
    room.board.drain();
    // The watch, which is worth more, is still there.
    within(watch.message())
        .await
        .unwrap()
        .expect("the drain's message");
}

fn is_open(stream: &TcpStream) -> bool {
    matches!(stream.try_read(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock)
}

#[tokio::test]
async fn watches_are_bounded_and_checks_go_on() {
    let room = serving();
    let mut watching = Vec::new();
    let mut refused = 0;
    // Ten thousand and so many, and a hundred more.
    for connection in 0..12_u32 {
        let mut raw = Raw::open(room.tcp().await, &[]).await;
        let calls = if connection < 11 { 900 } else { 440 };
        for call in 0..calls {
            raw.call(2 * call + 1, WATCH, "a", "x").await;
        }
        for _ in 0..calls {
            let headers = raw.next_of(HEADERS).await;
            // END_STREAM: an answer without a message.
            refused += usize::from(headers.flags & 1 == 1);
        }
        watching.push(raw);
    }
    assert_eq!(room.board.audience(Instant::now()).watchers, 10_240);
    assert_eq!(refused, 100);
    room.client().await.check(ask("a")).await.unwrap();
    let status = room.client().await.watch(ask("a")).await.unwrap_err();
    assert_eq!(status.code(), tonic::Code::ResourceExhausted);
    drop(watching);
    until(|| room.board.audience(Instant::now()).watchers == 0).await;
    room.client().await.watch(ask("a")).await.unwrap();
}

#[tokio::test]
async fn ten_thousand_calls_at_once_on_one_connection_are_a_thousand() {
    let room = serving();
    let mut raw = Raw::open(room.tcp().await, &[]).await;
    let settings = raw.next_of(SETTINGS).await;
    // SETTINGS_MAX_CONCURRENT_STREAMS (RFC 9113, section 6.5.2).
    assert!(
        settings.payload.chunks(6).any(|one| one == [0, 3, 0, 0, 3, 232]),
        "{settings:?}"
    );
    raw.call(1, WATCH, "a", "x").await;
    raw.next_of(DATA).await;
    let (mut from, mut to) = tokio::io::split(raw.stream);
    // It may hang up on such a peer, and it may refuse; what it may not do is serve them all.
    let reading = tokio::spawn(async move {
        let mut answers = Vec::new();
        let _ = from.read_to_end(&mut answers).await;
    });
    let mut sending = Raw { stream: &mut to };
    for call in 1..10_000_u32 {
        if sending.try_call(2 * call + 1, WATCH, "a", "x").await.is_err() {
            break;
        }
    }
    let watchers = room.board.audience(Instant::now()).watchers;
    assert!(watchers <= 1000, "{watchers}");
    assert_eq!(room.get("/readyz").await.0, 200);
    reading.abort();
}

/// Takes the ten seconds it is about.
#[tokio::test]
async fn who_says_nothing_or_half_a_request_is_closed_after_ten_seconds() {
    let room = serving();
    let start = Instant::now();
    let mut silent = Vec::new();
    for words in [&b""[..], &PREFACE[..20], b"GET /readyz HTTP/1.1\r\nHo"] {
        let mut stream = room.tcp().await;
        stream.write_all(words).await.unwrap();
        silent.push(stream);
    }
    let tls = Tls {
        cert: fixture("first.pem"),
        key: fixture("first.key"),
    };
    let with_tls = secured(&tls);
    for words in [&b""[..], b"\x16\x03\x01\x02\x00\x01"] {
        let mut stream = with_tls.tcp().await;
        stream.write_all(words).await.unwrap();
        silent.push(stream);
    }
    let mut resting = room.tcp().await;
    let mut watch = room.client().await.watch(ask("a")).await.unwrap().into_inner();
    within(watch.message()).await.unwrap();
    let idle = room.client().await;
    probe(&mut resting).await;
    for stream in &mut silent {
        let mut rest = Vec::new();
        let _ = within(stream.read_to_end(&mut rest)).await;
        assert!(start.elapsed() >= Duration::from_secs(10));
    }
    // Those that rest between two requests, or listen, are still there.
    probe(&mut resting).await;
    idle.clone().check(ask("a")).await.unwrap();
    room.board.drain();
    within(watch.message())
        .await
        .unwrap()
        .expect("the drain's message");
}

async fn probe(stream: &mut TcpStream) {
    stream
        .write_all(b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
        .await
        .unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"ok\n") {
        assert_ne!(within(stream.read_buf(&mut answer)).await.unwrap(), 0, "closed");
    }
}

/// The next PING that asks, in virtual time; nothing at the connection's end.
async fn next_ping(raw: &mut Raw<TcpStream>) -> Option<Vec<u8>> {
    loop {
        let mut head = [0; 9];
        raw.stream.read_exact(&mut head).await.ok()?;
        let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
        raw.stream.read_exact(&mut payload).await.ok()?;
        if head[3] == PING && head[4] & 1 == 0 {
            return Some(payload);
        }
    }
}

/// Time stands still while anything is done, and leaps when nothing is: minutes take none.
#[tokio::test(start_paused = true)]
async fn a_peer_is_asked_for_a_sign_of_life_every_30_s_and_has_10_s_to_give_it() {
    let room = serving();
    let begun = tokio::time::Instant::now();
    let mut raw = Raw::open(room.tcp().await, &[]).await;
    raw.call(1, "/grpc.health.v1.Health/Watch", "a", "x").await;
    for turn in 1..=3 {
        let ping = next_ping(&mut raw).await.expect("a peer that answers is kept");
        let passed = begun.elapsed().as_secs();
        assert!((30 * turn..=30 * turn + 1).contains(&passed), "{passed}");
        raw.send(PING, 1, 0, &ping).await;
    }
    next_ping(&mut raw).await.expect("asked once more");
    // Not answered.
    assert_eq!(next_ping(&mut raw).await, None, "and let go");
    let passed = begun.elapsed().as_secs();
    assert!((130..=131).contains(&passed), "{passed}");
}
