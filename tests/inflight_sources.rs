//! json, exec and file, the sum of many, and what `tidegate inflight` says of them.

mod inflight_app;

use std::process::{Command, Output};
use std::time::Duration;

use inflight_app::{AMPLE, Act, App, count, head, ok, unknown};
use tidegate::http::Endpoint;
use tidegate::inflight::{FileConfig, JsonConfig, Path, SourceConfig, Sources, Take};

fn json(url: &str, path: &str, take: Take) -> SourceConfig {
    SourceConfig::Json(JsonConfig::new(
        Endpoint::parse(url).unwrap(),
        Path::parse(path).unwrap(),
        take,
    ))
}

fn file(path: &std::path::Path) -> Sources {
    Sources::new(vec![SourceConfig::File(FileConfig::new(path))])
}

/// Runs `tidegate inflight` with this config.
fn inflight(yaml: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tidegate"))
        .arg("inflight")
        .env("TIDEGATE_CONFIG", yaml)
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap() + &String::from_utf8(output.stderr.clone()).unwrap()
}

#[tokio::test]
async fn a_number_in_a_document_is_read_over_one_connection() {
    let app = App::start(|n| vec![Act::Send(ok(&format!(r#"{{"calls": {{"inFlight": {n}}}}}"#)))]).await;
    let mut sources = Sources::new(vec![json(&app.url(), "$.calls.inFlight", Take::Number)]);
    for n in 0..3 {
        assert_eq!(count(&sources.poll(AMPLE).await), n);
    }
    assert_eq!(app.connections(), 1);
}

#[tokio::test]
async fn a_document_that_does_not_end_is_not_kept() {
    let app = App::start(|_| {
        vec![
            Act::Send(head("200 OK", "Content-Type: application/json\r\n", "[0")),
            Act::Flood(b",0".repeat(50_000)),
        ]
    })
    .await;
    let mut sources = Sources::new(vec![json(&app.url(), "$[0]", Take::Number)]);
    let sample = sources.poll(AMPLE).await;
    assert!(
        unknown(&sample).ends_with("larger than 1 MiB"),
        "{}",
        unknown(&sample)
    );
}

#[tokio::test]
async fn an_answer_that_is_no_number_is_unknown() {
    for (answer, why) in [
        (
            head("503 Service Unavailable", "Content-Length: 1\r\n", "0"),
            "it answered 503",
        ),
        (ok("<html>0</html>"), "the answer is no JSON"),
        (ok("{\"calls\": null}"), "is null, no number"),
        (ok(""), "the answer is no JSON"),
    ] {
        let app = App::start(move |_| vec![Act::Send(answer.clone())]).await;
        let mut sources = Sources::new(vec![json(&app.url(), "$.calls", Take::Number)]);
        let sample = sources.poll(AMPLE).await;
        assert!(unknown(&sample).contains(why), "{}", unknown(&sample));
    }
}

#[tokio::test]
async fn a_file_is_a_number_or_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("inflight");
    let mut sources = file(&path);
    let missing = sources.poll(AMPLE).await;
    assert!(
        unknown(&missing).contains("No such file"),
        "{}",
        unknown(&missing)
    );
    for (text, calls) in [
        ("0", Some(0)),
        (" 17\n", Some(17)),
        ("", None),
        ("0 0", None),
        ("-1", None),
    ] {
        std::fs::write(&path, text).unwrap();
        let sample = sources.poll(AMPLE).await;
        match calls {
            Some(calls) => assert_eq!(count(&sample), calls),
            None => assert!(unknown(&sample).starts_with(&path.display().to_string())),
        }
    }
    std::fs::write(&path, "0".repeat(5000)).unwrap();
    assert!(unknown(&sources.poll(AMPLE).await).ends_with("longer than any number"));
    let folder_itself = file(folder.path()).poll(AMPLE).await;
    assert!(unknown(&folder_itself).ends_with("no regular file"));
}

#[tokio::test]
async fn a_fifo_without_a_writer_does_not_hang() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fifo");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let sample = file(&path).poll(AMPLE).await;
    assert!(
        unknown(&sample).ends_with("no regular file"),
        "{}",
        unknown(&sample)
    );
}

#[tokio::test]
async fn many_sources_add_up_and_one_unknown_makes_the_sum_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("inflight");
    std::fs::write(&path, "4").unwrap();
    let app = App::with_body(r#"{"calls": [1, 2, 3]}"#).await;
    let configs = vec![
        SourceConfig::File(FileConfig::new(&path)),
        json(&app.url(), "$.calls", Take::Length),
        SourceConfig::File(FileConfig::new(&path)),
    ];
    let mut sources = Sources::new(configs);
    assert_eq!(count(&sources.poll(AMPLE).await), 11);
    std::fs::remove_file(&path).unwrap();
    let sample = sources.poll(AMPLE).await;
    assert_eq!(unknown(&sample).matches("No such file").count(), 2);
}

#[test]
fn a_program_says_the_number() {
    let output = inflight("inflight: [{exec: {command: [printf, ' 3\\n']}}]");
    assert!(said(&output).ends_with("sum: 3\n"), "{}", said(&output));
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_program_that_does_not_is_unknown() {
    for (command, why) in [
        ("['false']", "false: unknown (it exited with 1)"),
        ("[sh, -c, 'echo 0; exit 3']", "sh: unknown (it exited with 3)"),
        (
            "[sh, -c, 'echo 0; kill -9 $$']",
            "sh: unknown (it was killed by SIGKILL (9))",
        ),
        ("[echo, 0 calls]", "no number and nothing else"),
        ("[/nonexistent]", "/nonexistent"),
        ("['yes']", "it printed more than 64 KiB"),
    ] {
        let output = inflight(&format!(
            "inflight: [{{exec: {{command: {command}, timeout: 20s}}}}]"
        ));
        assert!(said(&output).contains(why), "{command}: {}", said(&output));
        assert!(said(&output).ends_with("sum: unknown\n"), "{}", said(&output));
        assert_eq!(output.status.code(), Some(1));
    }
}

#[test]
fn a_program_that_hangs_is_killed_with_its_group() {
    let folder = tempfile::tempdir().unwrap();
    let pids = folder.path().join("pids");
    let script = format!("sleep 1000 & echo $! $$ > {}; wait", pids.display());
    let begun = std::time::Instant::now();
    let output = inflight(&format!(
        "inflight: [{{exec: {{command: [sh, -c, '{script}'], timeout: 2s}}}}]"
    ));
    assert!(begun.elapsed() >= Duration::from_secs(2));
    assert!(
        said(&output).contains("sh: unknown (no answer within 2s; it was killed"),
        "{}",
        said(&output)
    );
    let pids = std::fs::read_to_string(pids).unwrap();
    let end = begun + Duration::from_secs(60);
    for pid in pids.split_whitespace() {
        let alive = || {
            std::fs::read_to_string(format!("/proc/{pid}/stat"))
                .is_ok_and(|stat| !stat.rsplit(')').next().unwrap().starts_with(" Z"))
        };
        while alive() {
            assert!(std::time::Instant::now() < end, "{pid} is still there");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mistyped_query_names_what_is_close() {
    let app = App::with_body(
        "# TYPE grpc_server_started_total counter\ngrpc_server_started_total{m=\"Get\"} 4\ngrpc_server_handled_total 4\ngo_threads 9\n",
    )
    .await;
    let url = app.url();
    let ask = |query: &str| {
        said(&inflight(&format!(
            "inflight: [{{prometheus: {{url: '{url}', query: '{query}'}}}}]"
        )))
    };
    let text = ask("sum(grpc_server_startd_total)");
    assert!(
        text.contains("close to `grpc_server_startd_total` there is grpc_server_started_total"),
        "{text}"
    );
    let text = ask("sum(grpc_server_started_total{m=\"Set\"})");
    assert!(
        text.contains("there is grpc_server_started_total{m=\"Get\"}"),
        "{text}"
    );
    let text = ask("sum(unlike_anything)");
    assert!(text.contains("there is nothing like `unlike_anything`"), "{text}");
}

#[test]
fn without_a_source_it_says_so() {
    let output = inflight("{}");
    assert_eq!(output.status.code(), Some(125));
    assert!(said(&output).starts_with("tidegate: inflight: no source; name a --config FILE"));
}

#[test]
fn watching_goes_on_until_a_signal_and_ends_with_the_last_poll() {
    use std::io::{BufRead, BufReader};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("n");
    std::fs::write(&path, "1").unwrap();
    let mut watch = Command::new(env!("CARGO_BIN_EXE_tidegate"))
        .args(["inflight", "--watch"])
        .env(
            "TIDEGATE_CONFIG",
            format!(
                "drain: {{pollInterval: 20ms}}\ninflight: [{{file: {{path: {}}}}}]",
                path.display()
            ),
        )
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let mut sums = |wanted: &str| {
        let found = lines.find(|line| line.as_ref().unwrap().ends_with(wanted));
        found.unwrap().unwrap()
    };
    sums("sum: 1");
    sums("sum: 1");
    std::fs::remove_file(&path).unwrap();
    sums("sum: unknown");
    let pid = nix::unistd::Pid::from_raw(watch.id() as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    assert_eq!(watch.wait().unwrap().code(), Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_source_shows_a_secret() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("inflight");
    std::fs::write(&path, "hunter2").unwrap();
    let refused = App::start(|_| {
        vec![Act::Send(head(
            "401 Unauthorized",
            "Content-Length: 7\r\n",
            "hunter2",
        ))]
    })
    .await;
    let answered = App::with_body("hunter2").await;
    for app in [&refused, &answered] {
        let url = format!("http://user:hunter2@{}/m?token=hunter2", app.address);
        let yaml = format!(
            "drain: {{pollTimeout: 20s}}\ninflight:\n\
             - prometheus: {{url: '{url}', query: calls, arrivals: calls}}\n\
             - json: {{url: '{url}', path: $.calls}}\n\
             - preset: {{name: nginx, url: '{url}'}}\n\
             - preset: {{name: envoy, url: '{url}'}}\n\
             - exec: {{command: [echo, hunter2]}}\n\
             - exec: {{command: [/nonexistent, hunter2]}}\n\
             - file: {{path: {}}}\n",
            path.display()
        );
        let output = inflight(&yaml);
        assert_eq!(
            said(&output).matches("unknown (").count(),
            10,
            "{}",
            said(&output)
        );
        assert!(!said(&output).contains("hunter2"), "{}", said(&output));
        // Basic authorization of user:hunter2.
        assert!(!said(&output).contains("dXNlcjpodW50ZXIy"), "{}", said(&output));
    }
}

#[test]
fn an_unknown_reading_names_its_source_once() {
    let output = inflight("inflight: [{prometheus: {url: 'http://127.0.0.1:1/metrics', query: x}}]\n");
    let said = said(&output);
    assert!(
        said.starts_with("http://127.0.0.1:1/metrics: unknown (connection refused"),
        "{said}"
    );
    assert_eq!(said.matches("127.0.0.1:1").count(), 1, "{said}");
}
