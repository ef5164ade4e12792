//! What a program answers becomes a count, or unknown with a reason; never a guess.

mod inflight_app;

use inflight_app::{AMPLE, Act, App, count, head, ok, sources, unknown};
use tidegate::inflight::{Absent, PrometheusConfig, SourceConfig, Sources};

/// The reason one poll of `answer` is unknown, even where absent series are zero.
async fn reason(answer: Vec<u8>, then: Act) -> String {
    let app = App::start(move |_| vec![Act::Send(answer.clone()), then.clone()]).await;
    let sample = app
        .sources_with("sum(calls)", Absent::Zero, None)
        .poll(AMPLE)
        .await;
    let why = unknown(&sample);
    let prefix = format!("http://{}/metrics: ", app.address);
    why.strip_prefix(&prefix)
        .unwrap_or_else(|| panic!("no address: {why}"))
        .to_owned()
}

async fn reason_of_body(body: &str) -> String {
    reason(ok(body), Act::Hang).await
}

#[tokio::test]
async fn started_minus_handled_is_the_calls_under_way() {
    let app = App::with_body(
        "# TYPE grpc_server_started_total counter\n\
         grpc_server_started_total{grpc_method=\"A\"} 100\n\
         grpc_server_started_total{grpc_method=\"B\"} 50\n\
         # TYPE grpc_server_handled_total counter\n\
         grpc_server_handled_total{grpc_method=\"A\",grpc_code=\"OK\"} 90\n\
         grpc_server_handled_total{grpc_method=\"A\",grpc_code=\"Internal\"} 7\n\
         grpc_server_handled_total{grpc_method=\"B\",grpc_code=\"OK\"} 49\n",
    )
    .await;
    let query = "sum(grpc_server_started_total) - sum(grpc_server_handled_total)";
    let sample = app
        .sources_with(query, Absent::Unknown, Some("sum(grpc_server_started_total)"))
        .poll(AMPLE)
        .await;
    assert_eq!((count(&sample), sample.arrivals), (4, Some(150.0)));
}

#[tokio::test]
async fn fractions_are_rounded_up_and_rounding_errors_are_not() {
    let app = App::with_body("a 0.1\nb 0.2\nc 0.3\nd 1.25\n").await;
    assert_eq!(count(&app.sources("a + b - c").poll(AMPLE).await), 0);
    assert_eq!(count(&app.sources("c - a - b").poll(AMPLE).await), 0);
    assert_eq!(count(&app.sources("a").poll(AMPLE).await), 1);
    assert_eq!(count(&app.sources("d").poll(AMPLE).await), 2);
}

#[tokio::test]
async fn values_that_are_no_number_of_calls_are_unknown() {
    assert!(reason_of_body("calls NaN\n").await.contains("NaN"));
    assert!(reason_of_body("calls +Inf\n").await.contains("infinite"));
    assert!(reason_of_body("calls -Inf\n").await.contains("infinite"));
    assert!(reason_of_body("calls -1\n").await.contains("negative"));
    let app = App::with_body("a 1\nb 0\n").await;
    assert!(unknown(&app.sources("a / b").poll(AMPLE).await).contains("infinite"));
    assert!(unknown(&app.sources("b / b").poll(AMPLE).await).contains("NaN"));
}

#[tokio::test]
async fn a_missing_metric_is_unknown_or_zero_as_configured() {
    let app = App::with_body("other 1\n").await;
    let sample = app.sources("sum(calls)").poll(AMPLE).await;
    assert!(
        unknown(&sample).ends_with(": no series matches `calls`"),
        "{}",
        unknown(&sample)
    );
    let sample = app
        .sources_with("sum(calls)", Absent::Zero, Some("sum(begun_total)"))
        .poll(AMPLE)
        .await;
    assert_eq!((count(&sample), sample.arrivals), (0, Some(0.0)));
}

#[tokio::test]
async fn what_is_no_exposition_is_unknown_even_where_absent_is_zero() {
    for body in [
        "",
        "\n",
        "<!doctype html>\n<p>calls 0</p>\n",
        "{\"calls\":0}\n",
        "\u{0}\u{1}\u{fffd}\n",
        "# nothing here\n",
    ] {
        assert!(
            reason_of_body(body)
                .await
                .starts_with("the answer is no exposition"),
            "{body:?}"
        );
    }
    let mut binary = ok(&"x".repeat(256));
    let length = binary.len();
    binary.splice(length - 256.., 0..=255u8);
    assert!(
        reason(binary, Act::Hang)
            .await
            .starts_with("the answer is no exposition")
    );
}

#[tokio::test]
async fn a_broken_wanted_line_is_unknown_with_its_number() {
    let why = reason_of_body("other broken\ncalls{a=\"b\"} 1\ncalls{a=\"c\"} x\n").await;
    assert_eq!(why, "the value is not a number at line 3, which `calls` matches");
    // Also where it is the only line.
    let why = reason_of_body("calls 1_000\n").await;
    assert_eq!(
        why,
        "the answer is no exposition: it has no metric at all; the value is not a number at line 1"
    );
    let why = reason_of_body("calls 1\ncalls 1\n").await;
    assert_eq!(
        why,
        "the series was there before at line 2, which `calls` matches"
    );
}

#[tokio::test]
async fn arrivals_that_cannot_be_read_make_the_reading_unknown() {
    let app = App::with_body("calls 2\nbegun_total x\n").await;
    let sample = app
        .sources_with("calls", Absent::Unknown, Some("begun_total"))
        .poll(AMPLE)
        .await;
    assert_eq!(
        unknown(&sample),
        format!(
            "arrivals: {}: the value is not a number at line 2, which `begun_total` matches",
            app.url()
        )
    );
    assert_eq!(sample.arrivals, None);
}

#[tokio::test]
async fn only_200_is_an_answer() {
    for (status, text) in [
        ("404 Not Found", "it answered 404 Not Found; is the path right?"),
        (
            "500 Internal Server Error",
            "it answered 500 Internal Server Error",
        ),
        ("503 Service Unavailable", "it answered 503 Service Unavailable"),
        (
            "302 Found",
            "it answered 302 Found; redirects are not followed: use the final URL",
        ),
        ("204 No Content", "it answered 204 No Content"),
        (
            "401 Unauthorized",
            "it answered 401 Unauthorized; credentials stand in the URL, as http://user:password@host",
        ),
    ] {
        let length = if status.starts_with("204") {
            ""
        } else {
            "Content-Length: 8\r\n"
        };
        let body = if status.starts_with("204") {
            ""
        } else {
            "calls 0\n"
        };
        let answer = head(status, &format!("Location: http://elsewhere/\r\n{length}"), body);
        assert_eq!(reason(answer, Act::Hang).await, text);
    }
}

#[tokio::test]
async fn a_cut_answer_is_unknown() {
    let cut = "the connection was cut before the answer was complete";
    let short = head("200 OK", "Content-Length: 100\r\n", "calls 0\n");
    assert_eq!(reason(short, Act::Close).await, cut);
    let chunk = head("200 OK", "Transfer-Encoding: chunked\r\n", "8\r\ncalls 0\n\r\n");
    assert_eq!(reason(chunk, Act::Close).await, cut);
    assert_eq!(
        reason(b"HTTP/1.1 200 OK\r\nContent-".to_vec(), Act::Close).await,
        cut
    );
    assert_eq!(reason(Vec::new(), Act::Close).await, cut);
    // Only the connection's end tells the length: the last line's end is all the evidence there is.
    let open = head("200 OK", "", "calls 10");
    assert_eq!(
        reason(open, Act::Close).await,
        "the answer was cut: its last line has no end"
    );
    let metrics = "Content-Type: application/openmetrics-text; version=1.0.0\r\nContent-Length: 8\r\n";
    let why = reason(head("200 OK", metrics, "calls 0\n"), Act::Hang).await;
    assert_eq!(why, "the answer was cut: it is OpenMetrics without its `# EOF`");
}

#[tokio::test]
async fn chunks_and_bodies_until_close_are_read() {
    let answers = [
        head(
            "200 OK",
            "Transfer-Encoding: chunked\r\n",
            "4\r\ncall\r\n3\r\ns 7\r\n1\r\n\n\r\n0\r\n\r\n",
        ),
        head("200 OK", "", "calls 7\n"),
        b"HTTP/1.0 200 OK\r\n\r\ncalls 7\n".to_vec(),
        head("200 OK", "Content-Length: 7\r\n", "calls 7"),
        head(
            "200 OK",
            "Content-Type: application/openmetrics-text\r\nContent-Length: 13\r\n",
            "calls 7\n# EOF",
        ),
    ];
    for answer in answers {
        let shown = String::from_utf8_lossy(&answer).into_owned();
        let app = App::start(move |_| vec![Act::Send(answer.clone()), Act::Close]).await;
        let sample = app.sources("calls").poll(AMPLE).await;
        assert_eq!(sample.reading, tidegate::inflight::Reading::Count(7), "{shown}");
    }
}

#[tokio::test]
async fn answers_that_are_not_plain_http_are_unknown() {
    assert!(
        reason(b"calls 0\n".to_vec(), Act::Close)
            .await
            .starts_with("the answer is not HTTP/1")
    );
    assert!(
        reason(b"SSH-2.0-OpenSSH_9.6\r\n".to_vec(), Act::Hang)
            .await
            .starts_with("the answer is not HTTP/1")
    );
    let gzip = head(
        "200 OK",
        "Content-Encoding: gzip\r\nContent-Length: 8\r\n",
        "calls 0\n",
    );
    assert!(reason(gzip, Act::Hang).await.contains("content encoding"));
    let huge = head(
        "200 OK",
        &format!("X-Huge: {}\r\n", "x".repeat(100_000)),
        "calls 0\n",
    );
    assert_eq!(
        reason(huge, Act::Hang).await,
        "the answer's headers are larger than 64 KiB"
    );
    let large = head("200 OK", "Content-Length: 9999999999\r\n", "calls 0\n");
    assert_eq!(reason(large, Act::Hang).await, "the answer is larger than 64 MiB");
}

#[tokio::test]
async fn refused_says_so() {
    let free = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    let sample = sources(&format!("http://{free}/metrics"), "calls", Absent::Zero, None)
        .poll(AMPLE)
        .await;
    assert_eq!(
        unknown(&sample),
        format!("http://{free}/metrics: connection refused: nothing listens there")
    );
}

#[tokio::test]
async fn a_counter_that_fell_is_unknown_once() {
    let bodies = [
        "s_total 100\nh_total 90\n",
        "s_total 3\nh_total 2\n",
        "s_total 4\nh_total 2\n",
    ];
    let app = App::start(move |n| vec![Act::Send(ok(bodies[n]))]).await;
    let mut sources = app.sources_with("sum(s_total) - h_total", Absent::Unknown, Some("sum(s_total)"));
    assert_eq!(count(&sources.poll(AMPLE).await), 10);
    let fell = sources.poll(AMPLE).await;
    assert!(
        unknown(&fell).contains("the counter `s_total` went back from 100 to 3"),
        "{}",
        unknown(&fell)
    );
    // Arrivals mean something only by their change, and this is one.
    assert_eq!(fell.arrivals, Some(3.0));
    assert_eq!(count(&sources.poll(AMPLE).await), 2);
}

#[tokio::test]
async fn gauges_may_fall() {
    let bodies = ["calls 5\nx_total 1\n", "calls 1\nx_total 1\n"];
    let app = App::start(move |n| vec![Act::Send(ok(bodies[n]))]).await;
    let mut sources = app.sources("calls + 0 * x_total");
    assert_eq!(count(&sources.poll(AMPLE).await), 5);
    assert_eq!(count(&sources.poll(AMPLE).await), 1);
}

#[tokio::test]
async fn sources_add_up_and_one_unknown_makes_all_unknown() {
    let (one, two) = (
        App::with_body("calls 1\nbegun_total 10\n").await,
        App::with_body("calls 2\n").await,
    );
    let config = |app: &App, query, arrivals| {
        SourceConfig::Prometheus(PrometheusConfig::new(&app.url(), query, Absent::Unknown, arrivals).unwrap())
    };
    let mut sources = Sources::new(vec![
        config(&one, "calls", Some("begun_total")),
        config(&two, "calls", None),
    ]);
    let sample = sources.poll(AMPLE).await;
    assert_eq!((count(&sample), sample.arrivals), (3, Some(10.0)));
    let mut sources = Sources::new(vec![
        config(&one, "calls", Some("begun_total")),
        config(&two, "none", None),
    ]);
    let sample = sources.poll(AMPLE).await;
    assert!(unknown(&sample).contains(&two.url()), "{}", unknown(&sample));
    assert_eq!(sample.arrivals, Some(10.0));
    assert!(Sources::new(Vec::new()).is_empty());
}

#[tokio::test]
async fn requests_say_who_asks_and_for_what() {
    let app = App::with_body("calls 1\n{\"my.calls\"} 1\n").await;
    let url = format!("http://user:secret@{}/metrics?x=1#y", app.address);
    sources(&url, "calls", Absent::Unknown, None).poll(AMPLE).await;
    app.sources("{\"my.calls\"}").poll(AMPLE).await;
    let requests = app.requests();
    assert!(
        requests[0].starts_with("GET /metrics?x=1 HTTP/1.1\r\n"),
        "{}",
        requests[0]
    );
    let lower = requests[0].to_ascii_lowercase();
    assert!(
        lower.contains(&format!("\r\nhost: {}\r\n", app.address)),
        "{lower}"
    );
    assert!(requests[0].contains("Basic dXNlcjpzZWNyZXQ="), "{}", requests[0]);
    assert!(
        lower.contains("text/plain;version=0.0.4") && !lower.contains("utf-8") && !lower.contains("gzip")
    );
    assert!(requests[1].contains("escaping=allow-utf-8"), "{}", requests[1]);
}

#[test]
fn a_config_that_cannot_be_says_which_key() {
    let error = |url, query, arrivals| {
        PrometheusConfig::new(url, query, Absent::Unknown, arrivals)
            .unwrap_err()
            .to_string()
    };
    assert!(error("https://x/", "a", None).starts_with("url: \"https://x/\" is https"));
    assert!(
        error("http://x/", "rate(a[1m])", None).starts_with("query: column 1: `rate()` is not supported")
    );
    assert!(error("http://x/", "a", Some("a b")).starts_with("arrivals: column 3: "));
}
