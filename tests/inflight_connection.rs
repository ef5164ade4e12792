//! One connection, one poll at a time, within its time.

mod inflight_app;

use std::time::{Duration, Instant};

use inflight_app::{AMPLE, Act, App, count, head, ok, sources, unknown};
use tidegate::inflight::Absent;

const SHORT: Duration = Duration::from_millis(200);

#[tokio::test]
async fn polls_share_one_connection() {
    let app = App::start(|n| vec![Act::Send(ok(&format!("calls {n}\n")))]).await;
    let mut sources = app.sources("calls");
    for n in 0..20 {
        assert_eq!(count(&sources.poll(AMPLE).await), n);
    }
    assert_eq!((app.connections(), app.requests().len()), (1, 20));
}

#[tokio::test]
async fn chunked_answers_keep_the_connection_too() {
    let body = "8\r\ncalls 1\n\r\n0\r\n\r\n";
    let app =
        App::start(move |_| vec![Act::Send(head("200 OK", "Transfer-Encoding: chunked\r\n", body))]).await;
    let mut sources = app.sources("calls");
    for _ in 0..5 {
        assert_eq!(count(&sources.poll(AMPLE).await), 1);
    }
    assert_eq!(app.connections(), 1);
}

#[tokio::test]
async fn a_server_that_closes_after_each_answer_is_dialled_again() {
    for headers in [
        "Content-Length: 8\r\n",
        "Content-Length: 8\r\nConnection: close\r\n",
        "",
    ] {
        let answer = head("200 OK", headers, "calls 1\n");
        let app = App::start(move |_| vec![Act::Send(answer.clone()), Act::Close]).await;
        let mut sources = app.sources("calls");
        for poll in 1..=5 {
            assert_eq!(count(&sources.poll(AMPLE).await), 1, "{headers}");
            assert_eq!(app.connections(), poll);
        }
    }
}

#[tokio::test]
async fn a_connection_closed_as_the_request_goes_out_costs_no_reading() {
    // The second request on the connection is read and never answered.
    let app = App::start(|n| {
        if n == 1 {
            vec![Act::Close]
        } else {
            vec![Act::Send(ok("calls 1\n"))]
        }
    })
    .await;
    let mut sources = app.sources("calls");
    assert_eq!(count(&sources.poll(AMPLE).await), 1);
    assert_eq!(count(&sources.poll(AMPLE).await), 1);
    assert_eq!((app.connections(), app.requests().len()), (2, 3));
}

#[tokio::test]
async fn a_server_that_hangs_is_unknown_at_the_timeout() {
    let app = App::start(|_| vec![Act::Hang]).await;
    let mut sources = app.sources_with("calls", Absent::Zero, None);
    for poll in 1..=3 {
        let start = Instant::now();
        let sample = sources.poll(SHORT).await;
        let took = start.elapsed();
        assert!(
            unknown(&sample).ends_with("no answer within 200ms, connected, waiting for it"),
            "{sample:?}"
        );
        assert!(took >= SHORT && took < Duration::from_secs(10), "{took:?}");
        app.wait_gone(poll).await;
    }
}

#[tokio::test]
async fn a_slow_drip_is_unknown_at_the_timeout() {
    let app = App::start(|_| {
        let drop = [Act::Send(b"x 1\n".to_vec()), Act::Wait(Duration::from_millis(20))];
        let drops = std::iter::repeat_n(drop, 1000).flatten();
        [Act::Send(head("200 OK", "Content-Length: 4000\r\n", ""))]
            .into_iter()
            .chain(drops)
            .collect()
    })
    .await;
    let start = Instant::now();
    let sample = app.sources_with("calls", Absent::Zero, None).poll(SHORT).await;
    assert!(
        unknown(&sample).contains("no answer within 200ms, after "),
        "{sample:?}"
    );
    assert!(start.elapsed() >= SHORT && start.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn an_address_that_swallows_packets_is_unknown_at_the_timeout() {
    // A full backlog: connects hang in SYN until the timeout.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut fillers = Vec::new();
    while let Ok(Ok(stream)) = tokio::time::timeout(5 * SHORT, tokio::net::TcpStream::connect(address)).await
    {
        fillers.push(stream);
    }
    let sample = sources(&format!("http://{address}/"), "calls", Absent::Zero, None)
        .poll(SHORT)
        .await;
    assert!(
        unknown(&sample).ends_with("no answer within 200ms, connecting"),
        "{sample:?}"
    );
}

#[tokio::test]
async fn a_late_answer_is_never_the_next_polls() {
    let app = App::start(|n| {
        let late = Act::Wait(if n == 0 { 5 * SHORT } else { Duration::ZERO });
        vec![late, Act::Send(ok(&format!("calls {n}\n")))]
    })
    .await;
    let mut sources = app.sources("calls");
    assert!(unknown(&sources.poll(SHORT).await).contains("no answer within"));
    tokio::time::sleep(6 * SHORT).await;
    assert_eq!(count(&sources.poll(AMPLE).await), 1);
    assert_eq!(app.connections(), 2);
}

#[tokio::test]
async fn a_poll_given_up_leaves_nothing_behind() {
    let app = App::start(|n| {
        let late = Act::Wait(if n == 1 { 5 * SHORT } else { Duration::ZERO });
        vec![late, Act::Send(ok(&format!("calls {n}\n")))]
    })
    .await;
    let mut sources = app.sources("calls");
    assert_eq!(count(&sources.poll(AMPLE).await), 0);
    assert!(
        tokio::time::timeout(SHORT / 4, sources.poll(AMPLE))
            .await
            .is_err()
    );
    tokio::time::sleep(6 * SHORT).await;
    assert_eq!(count(&sources.poll(AMPLE).await), 2);
}

#[tokio::test]
async fn bytes_beyond_an_answer_are_never_the_next_polls() {
    let mut double = ok("calls 1\n");
    double.extend(ok("calls 0\n"));
    let app =
        App::start(move |n| vec![Act::Send(if n == 0 { double.clone() } else { ok("calls 5\n") })]).await;
    let mut sources = app.sources("calls");
    assert_eq!(count(&sources.poll(AMPLE).await), 1);
    // Let the stray answer arrive.
    tokio::time::sleep(SHORT).await;
    assert_eq!(count(&sources.poll(AMPLE).await), 5);
    assert_eq!(app.connections(), 2);
}

#[tokio::test]
async fn a_program_that_comes_back_is_counted_again() {
    let app = App::start(|n| match n {
        0 => vec![Act::Send(head("500 Oops", "Content-Length: 0\r\n", ""))],
        1 => vec![Act::Send(b"nonsense".to_vec()), Act::Close],
        _ => vec![Act::Send(ok("calls 1\n"))],
    })
    .await;
    let mut sources = app.sources("calls");
    unknown(&sources.poll(AMPLE).await);
    unknown(&sources.poll(AMPLE).await);
    assert_eq!(count(&sources.poll(AMPLE).await), 1);
}

#[tokio::test]
async fn sources_are_polled_side_by_side() {
    use tidegate::inflight::{PrometheusConfig, SourceConfig, Sources};
    let app = App::start(|_| vec![Act::Hang]).await;
    let config = PrometheusConfig::new(&app.url(), "calls", Absent::Unknown, None).unwrap();
    let mut sources = Sources::new(vec![SourceConfig::Prometheus(config); 50]);
    let start = Instant::now();
    unknown(&sources.poll(SHORT).await);
    assert!(start.elapsed() < 25 * SHORT, "{:?}", start.elapsed());
    assert_eq!(app.requests().len(), 50);
}

#[tokio::test]
async fn localhost_needs_no_resolver() {
    let app = App::with_body("calls 1\n").await;
    let url = format!("http://localhost:{}/metrics", app.address.port());
    assert_eq!(
        count(&sources(&url, "calls", Absent::Unknown, None).poll(AMPLE).await),
        1
    );
}

#[tokio::test]
async fn a_name_without_an_address_is_unknown() {
    // RFC 6761: .invalid never resolves.
    let sample = sources("http://tidegate.invalid/metrics", "calls", Absent::Zero, None)
        .poll(AMPLE)
        .await;
    let why = unknown(&sample);
    assert!(
        why.contains("cannot be resolved") || why.contains("looking up its host name"),
        "{why}"
    );
}
