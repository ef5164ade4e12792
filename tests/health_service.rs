//! `grpc.health.v1` as its clients see it.

mod health_room;

use std::time::{Duration, Instant};

use health_room::{
    HEADERS, HealthCheckResponse, HealthListRequest, PATIENCE, Raw, ServingStatus, WINDOW_UPDATE, ask,
    serving, unknown, until, within,
};
use tidegate::health::{Board, Listen, Recovery, Status, bind, serve};
use tokio::net::UnixStream;
use tonic::codec::CompressionEncoding;
use tonic::{Code, Streaming};

const CHECK: &str = "/grpc.health.v1.Health/Check";
const WATCH: &str = "/grpc.health.v1.Health/Watch";

async fn next(watch: &mut Streaming<HealthCheckResponse>) -> ServingStatus {
    within(watch.message())
        .await
        .unwrap()
        .expect("a message")
        .status()
}

#[tokio::test]
async fn check_says_what_the_board_shows() {
    let room = unknown(["a", "b"]);
    let mut client = room.client().await;
    for name in ["", "a", "b"] {
        assert_eq!(
            client.check(ask(name)).await.unwrap().get_ref().status(),
            ServingStatus::Unknown
        );
    }
    room.board.set("a", Status::Serving).unwrap();
    room.board.set("b", Status::NotServing).unwrap();
    for (name, status) in [
        ("", ServingStatus::NotServing),
        ("a", ServingStatus::Serving),
        ("b", ServingStatus::NotServing),
    ] {
        assert_eq!(
            client.check(ask(name)).await.unwrap().get_ref().status(),
            status,
            "{name}"
        );
    }
}

#[tokio::test]
async fn the_official_wire_is_spoken() {
    let room = serving();
    let channel = tonic::transport::Endpoint::from_shared(format!("http://{}", room.address)).unwrap();
    let mut client = tonic_health::pb::health_client::HealthClient::new(channel.connect().await.unwrap());
    let request = tonic_health::pb::HealthCheckRequest { service: "a".into() };
    let answer = client.check(request.clone()).await.unwrap();
    assert_eq!(
        answer.get_ref().status(),
        tonic_health::ServingStatus::Serving.into()
    );
    let mut watch = client.watch(request).await.unwrap().into_inner();
    let first = within(watch.message()).await.unwrap().unwrap();
    assert_eq!(first.status(), tonic_health::ServingStatus::Serving.into());
}

#[tokio::test]
async fn check_of_an_unknown_name_is_not_found_even_in_a_drain() {
    let room = serving();
    let mut client = room.client().await;
    assert_eq!(client.check(ask("c")).await.unwrap_err().code(), Code::NotFound);
    room.board.drain();
    assert_eq!(client.check(ask("c")).await.unwrap_err().code(), Code::NotFound);
}

#[tokio::test]
async fn watch_says_the_status_at_once_and_each_change_once() {
    let room = serving();
    let mut watch = room.client().await.watch(ask("a")).await.unwrap().into_inner();
    assert_eq!(next(&mut watch).await, ServingStatus::Serving);
    room.board.set("a", Status::Serving).unwrap();
    room.board.set("b", Status::NotServing).unwrap();
    room.board.set("a", Status::NotServing).unwrap();
    assert_eq!(next(&mut watch).await, ServingStatus::NotServing);
    room.board.set("a", Status::Unknown).unwrap();
    assert_eq!(next(&mut watch).await, ServingStatus::Unknown);
}

#[tokio::test]
async fn a_flip_that_ends_where_it_began_is_not_told() {
    let room = serving();
    let mut watch = room.client().await.watch(ask("a")).await.unwrap().into_inner();
    assert_eq!(next(&mut watch).await, ServingStatus::Serving);
    // One thread: the reader sees none of these before the last.
    room.board.set("a", Status::NotServing).unwrap();
    room.board.set("a", Status::Serving).unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    room.board.drain();
    assert_eq!(next(&mut watch).await, ServingStatus::NotServing);
}

#[tokio::test]
async fn watch_of_an_unknown_name_stays_open_and_is_told_of_the_drain() {
    let room = serving();
    let mut watch = room.client().await.watch(ask("c")).await.unwrap().into_inner();
    assert_eq!(next(&mut watch).await, ServingStatus::ServiceUnknown);
    room.board.drain();
    assert_eq!(next(&mut watch).await, ServingStatus::NotServing);
    room.board.undrain();
    assert_eq!(next(&mut watch).await, ServingStatus::ServiceUnknown);
}

#[tokio::test]
async fn a_drain_tells_every_watch_and_keeps_later_sets_to_itself() {
    let room = serving();
    let mut client = room.client().await;
    let mut watches = Vec::new();
    for name in ["", "a", "b"] {
        watches.push(client.watch(ask(name)).await.unwrap().into_inner());
    }
    let mut liveness = client.watch(ask("liveness")).await.unwrap().into_inner();
    for watch in watches.iter_mut().chain([&mut liveness]) {
        assert_eq!(next(watch).await, ServingStatus::Serving);
    }
    room.board.drain();
    for watch in &mut watches {
        assert_eq!(next(watch).await, ServingStatus::NotServing);
    }
    room.board.set("a", Status::Unknown).unwrap();
    assert_eq!(
        client.check(ask("a")).await.unwrap().get_ref().status(),
        ServingStatus::NotServing
    );
    assert_eq!(
        client.check(ask("liveness")).await.unwrap().get_ref().status(),
        ServingStatus::Serving
    );
    room.board.undrain();
    assert_eq!(next(&mut watches[1]).await, ServingStatus::Unknown);
    room.board.child_ended();
    assert_eq!(next(&mut liveness).await, ServingStatus::NotServing);
}

#[tokio::test]
async fn a_watch_opened_in_a_drain_is_told_at_once() {
    let room = serving();
    room.board.drain();
    for name in ["", "a", "c"] {
        let mut watch = room.client().await.watch(ask(name)).await.unwrap().into_inner();
        assert_eq!(next(&mut watch).await, ServingStatus::NotServing);
    }
}

#[tokio::test]
async fn a_stalled_reader_gets_the_latest_after_a_thousand_flips() {
    let room = serving();
    // SETTINGS_INITIAL_WINDOW_SIZE 0: not a byte of DATA may be sent.
    let mut raw = Raw::open(room.tcp().await, &[(4, 0)]).await;
    raw.call(1, WATCH, "a", "x").await;
    raw.next_of(HEADERS).await;
    for _ in 0..1000 {
        room.board.set("a", Status::NotServing).unwrap();
        tokio::task::yield_now().await;
        room.board.set("a", Status::Serving).unwrap();
        tokio::task::yield_now().await;
    }
    room.board.drain();
    raw.send(WINDOW_UPDATE, 0, 1, &1000u32.to_be_bytes()).await;
    let mut told = 1;
    while raw.status().await != ServingStatus::NotServing {
        told += 1;
    }
    assert!(
        told <= 3,
        "{told} messages for one reader who saw none of the flips"
    );
}

#[tokio::test]
async fn a_drain_costs_its_caller_nothing_and_ten_thousand_watches_a_moment() {
    const MOMENT: Duration = Duration::from_secs(1);
    let room = serving();
    let mut peers = Vec::new();
    for _ in 0..100 {
        let mut raw = Raw::open(room.tcp().await, &[]).await;
        for call in 0..100 {
            raw.call(2 * call + 1, WATCH, "a", "x").await;
        }
        for _ in 0..100 {
            assert_eq!(raw.status().await, ServingStatus::Serving);
        }
        peers.push(raw);
    }
    assert_eq!(room.board.audience(Instant::now()).watchers, 10_000);
    let (mut cost, mut last) = (Duration::MAX, Duration::MAX);
    // The machine may be busy with something else, once or twice.
    for _ in 0..10 {
        let start = Instant::now();
        room.board.drain();
        cost = cost.min(start.elapsed());
        for raw in &mut peers {
            for _ in 0..100 {
                assert_eq!(raw.status().await, ServingStatus::NotServing);
            }
        }
        last = last.min(start.elapsed());
        until(|| room.board.audience(Instant::now()).all_told()).await;
        if cost < Duration::from_micros(500) && last < MOMENT {
            break;
        }
        room.board.undrain();
        for raw in &mut peers {
            for _ in 0..100 {
                assert_eq!(raw.status().await, ServingStatus::Serving);
            }
        }
    }
    println!("10 000 watches on 100 connections: {cost:?} for the caller, the last told after {last:?}");
    assert!(cost < Duration::from_micros(500), "{cost:?}");
    assert!(last < MOMENT, "{last:?}");
    drop(peers);
    until(|| room.board.audience(Instant::now()).watchers == 0).await;
}

#[tokio::test]
async fn list_gives_every_name() {
    let room = serving();
    room.board.set("b", Status::NotServing).unwrap();
    let list = room
        .client()
        .await
        .list(HealthListRequest {})
        .await
        .unwrap()
        .into_inner();
    let statuses: Vec<_> = list
        .statuses
        .iter()
        .map(|(name, is)| (name.as_str(), is.status()))
        .collect();
    assert_eq!(
        statuses,
        [
            ("", ServingStatus::NotServing),
            ("a", ServingStatus::Serving),
            ("b", ServingStatus::NotServing),
            ("liveness", ServingStatus::Serving)
        ]
    );
}

#[tokio::test]
async fn a_list_has_a_hundred_names_at_most() {
    let hundred = unknown((0..98).map(|number| number.to_string()));
    let list = hundred.client().await.list(HealthListRequest {}).await.unwrap();
    assert_eq!(list.get_ref().statuses.len(), 100);
    let more = unknown((0..99).map(|number| number.to_string()));
    let refused = more.client().await.list(HealthListRequest {}).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted);
}

#[tokio::test]
async fn gzip_requests_are_understood_and_replies_are_plain() {
    let room = serving();
    let mut client = room.client().await.send_compressed(CompressionEncoding::Gzip);
    // Without accept_compressed, tonic's client would refuse a compressed reply.
    let answer = client.check(ask("a")).await.unwrap();
    assert_eq!(answer.metadata().get("grpc-encoding"), None);
    assert_eq!(answer.get_ref().status(), ServingStatus::Serving);
    let mut watch = client.watch(ask("a")).await.unwrap().into_inner();
    assert_eq!(next(&mut watch).await, ServingStatus::Serving);
    // A name that unpacks to more than a request may have.
    let refused = client.check(ask(&"x".repeat(1_000_000))).await.unwrap_err();
    assert_ne!(refused.code(), Code::NotFound);
    assert_eq!(
        client.check(ask("a")).await.unwrap().get_ref().status(),
        ServingStatus::Serving
    );
}

#[tokio::test]
async fn an_unknown_method_is_unimplemented() {
    let room = serving();
    assert_eq!(
        grpc_status(h2_client(&room).await, "/grpc.health.v1.Health/Reset").await,
        "12"
    );
    assert_eq!(
        grpc_status(h2_client(&room).await, "/else.Where/Check").await,
        "12"
    );
}

#[tokio::test]
async fn the_alb_method_says_twelve_while_serving_and_fourteen_in_a_drain() {
    let room = serving();
    let client = h2_client(&room).await;
    assert_eq!(grpc_status(client.clone(), "/AWS.ALB/healthcheck").await, "12");
    room.board.drain();
    assert!(!room.board.audience(Instant::now()).all_told());
    assert_eq!(grpc_status(client, "/AWS.ALB/healthcheck").await, "14");
    assert!(room.board.audience(Instant::now()).all_told());
}

#[tokio::test]
async fn reflection_describes_what_is_served_question_by_question() {
    use reflection::server_reflection_client::ServerReflectionClient;
    use reflection::server_reflection_request::MessageRequest;
    use reflection::server_reflection_response::MessageResponse;

    let room = serving();
    let channel = tonic::transport::Endpoint::from_shared(format!("http://{}", room.address)).unwrap();
    let mut client = ServerReflectionClient::new(channel.connect().await.unwrap());
    let (ask, questions) = tokio::sync::mpsc::channel(1);
    let questions = tokio_stream::StreamExt::map(
        tokio_stream::wrappers::ReceiverStream::new(questions),
        |question| reflection::ServerReflectionRequest {
            host: "h".into(),
            message_request: Some(question),
        },
    );
    // The answers begin before the questions end.
    let mut answers = within(client.server_reflection_info(questions))
        .await
        .unwrap()
        .into_inner();
    let health = "grpc.health.v1.Health".to_owned();
    for (question, wanted) in [
        (
            MessageRequest::ListServices(String::new()),
            Ok("grpc.reflection.v1alpha.ServerReflection"),
        ),
        (
            MessageRequest::FileContainingSymbol(health.clone()),
            Ok("ServingStatus"),
        ),
        (
            MessageRequest::FileContainingSymbol(health + ".Watch"),
            Ok("ServingStatus"),
        ),
        (
            MessageRequest::FileByFilename("grpc/reflection/v1/reflection.proto".into()),
            Ok("grpc.reflection.v1"),
        ),
        (MessageRequest::FileByFilename("x.proto".into()), Err(5)),
        (MessageRequest::AllExtensionNumbersOfType("x".into()), Err(5)),
    ] {
        ask.send(question.clone()).await.unwrap();
        let answer = within(answers.message()).await.unwrap().expect("an answer");
        assert_eq!(answer.original_request.unwrap().message_request, Some(question));
        let said = match answer.message_response.unwrap() {
            MessageResponse::ErrorResponse(error) => Err(error.error_code),
            MessageResponse::ListServicesResponse(list) => Ok(format!("{list:?}")),
            MessageResponse::FileDescriptorResponse(files) => {
                Ok(String::from_utf8_lossy(&files.file_descriptor_proto.concat()).into_owned())
            }
            MessageResponse::AllExtensionNumbersResponse(numbers) => Ok(format!("{numbers:?}")),
        };
        match wanted {
            Ok(part) => assert!(
                said.as_ref().is_ok_and(|said| said.contains(part)),
                "{part}: {said:?}"
            ),
            Err(code) => assert_eq!(said, Err(code)),
        }
    }
    drop(ask);
    assert!(within(answers.message()).await.unwrap().is_none());
}

#[allow(clippy::all)]
mod reflection {
    tonic::include_proto!("grpc.reflection.v1");
}

type H2Client = h2::client::SendRequest<hyper::body::Bytes>;

async fn h2_client(room: &health_room::Room) -> H2Client {
    let (client, connection) = h2::client::handshake(room.tcp().await).await.unwrap();
    tokio::spawn(connection);
    client
}

async fn grpc_status(client: H2Client, path: &str) -> String {
    let request = hyper::Request::post(format!("http://x{path}"))
        .header("content-type", "application/grpc")
        .body(())
        .unwrap();
    let (response, _) = client.ready().await.unwrap().send_request(request, true).unwrap();
    let response = within(response).await.unwrap();
    assert_eq!(response.status(), 200);
    response.headers()["grpc-status"].to_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_socket_path_as_authority_is_accepted_on_a_unix_socket() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("health.sock");
    let board = Board::new(["a"], Recovery::Automatic);
    board.set_every(Status::Serving);
    let bound = bind(&Listen::Unix(path.clone())).unwrap();
    let server = serve(bound, board, std::sync::Arc::new(String::new)).unwrap();
    let escaped = path.to_str().unwrap().replace('/', "%2F");
    for authority in [path.to_str().unwrap(), &escaped, "localhost", "a_b:c/d?e#f"] {
        let mut raw = Raw::open(UnixStream::connect(&path).await.unwrap(), &[]).await;
        for stream in [1, 3, 5] {
            raw.call(stream, CHECK, "a", authority).await;
            assert_eq!(raw.status().await, ServingStatus::Serving, "{authority}");
        }
    }
    server.shutdown(Instant::now() + PATIENCE).await;
    assert!(!path.exists());
}

#[tokio::test]
async fn a_list_of_addresses_as_authority_is_accepted() {
    let room = serving();
    let mut raw = Raw::open(room.tcp().await, &[]).await;
    // As the C core sends it where it balances over several.
    for (stream, authority) in [
        (1, "10.0.0.1:9095%2C10.0.0.2:9095"),
        (3, "[::1]:9095"),
        (5, "10.0.0.1:1,10.0.0.2:1"),
    ] {
        raw.call(stream, CHECK, "a", authority).await;
        assert_eq!(raw.status().await, ServingStatus::Serving, "{authority}");
    }
}

#[tokio::test]
async fn the_audience_is_told_when_the_message_has_left() {
    let room = serving();
    let mut client = room.client().await;
    let mut watch = client.watch(ask("a")).await.unwrap().into_inner();
    next(&mut watch).await;
    let mut stalled = Raw::open(room.tcp().await, &[(4, 0)]).await;
    stalled.call(1, WATCH, "b", "x").await;
    stalled.next_of(HEADERS).await;
    client.check(ask("a")).await.unwrap();
    let _liveness = client.watch(ask("liveness")).await.unwrap();

    room.board.drain();
    assert_eq!(next(&mut watch).await, ServingStatus::NotServing);
    until(|| room.board.audience(Instant::now()).watchers_told == 1).await;
    let audience = room.board.audience(Instant::now());
    assert_eq!(
        (audience.watchers, audience.probers, audience.probers_told),
        (2, 1, 0)
    );
    assert_eq!(
        audience.untold,
        ["the watch of \"b\" by 127.0.0.1", "the probes from 127.0.0.1"]
    );
    assert!(audience.next_expiry.is_some());

    client.check(ask("liveness")).await.unwrap();
    client.check(ask("c")).await.unwrap_err();
    assert_eq!(room.board.audience(Instant::now()).probers_told, 0);
    client.check(ask("a")).await.unwrap();
    assert_eq!(room.board.audience(Instant::now()).probers_told, 1);

    stalled.send(WINDOW_UPDATE, 0, 1, &1000u32.to_be_bytes()).await;
    until(|| room.board.audience(Instant::now()).all_told()).await;
}

#[tokio::test]
async fn a_reader_who_left_is_no_longer_waited_for() {
    let room = serving();
    let mut stalled = Raw::open(room.tcp().await, &[(4, 0)]).await;
    stalled.call(1, WATCH, "b", "x").await;
    stalled.next_of(HEADERS).await;
    room.board.drain();
    tokio::task::yield_now().await;
    assert!(!room.board.audience(Instant::now()).all_told());
    drop(stalled);
    until(|| room.board.audience(Instant::now()).all_told()).await;
}

#[tokio::test]
async fn every_change_of_the_evidence_wakes_the_driver() {
    let room = serving();
    let mut client = room.client().await;
    let mut watch = client.watch(ask("a")).await.unwrap().into_inner();
    next(&mut watch).await;
    room.board.drain();
    let told = async {
        while !room.board.audience(Instant::now()).all_told() {
            room.board.changed().await;
        }
    };
    let (_, status) = within(async { tokio::join!(told, watch.message()) }).await;
    assert_eq!(status.unwrap().unwrap().status(), ServingStatus::NotServing);
}
