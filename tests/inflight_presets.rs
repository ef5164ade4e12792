//! Presets against pages of the programs they know, recorded where that was possible.

mod inflight_app;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use inflight_app::{AMPLE, App, count};
use tidegate::http::Endpoint;
use tidegate::inflight::{Absent, Preset, PrometheusConfig, SourceConfig, Sources};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

macro_rules! page {
    ($name:literal) => {
        include_str!(concat!("fixtures/inflight/", $name, ".txt"))
    };
}

/// A preset, a page of its program, the calls under way on it and the calls ever begun.
const PAGES: &[(Preset, &str, u64, f64)] = &[
    (Preset::Envoy, page!("envoy"), 2, 5.0),
    (Preset::Haproxy, page!("haproxy"), 2, 5.0),
    // Of its six requests and three being written, one is the poll.
    (Preset::Nginx, page!("nginx"), 2, 5.0),
    (Preset::GrpcOtel, page!("grpc-otel"), 3, 11.0),
    (Preset::GrpcGo, page!("grpc-python"), 3, 7.0),
    (Preset::GrpcGo, page!("grpc-go"), 3, 45.0),
    (Preset::GrpcJava, page!("grpc-java"), 2, 11.0),
    (Preset::Spring, page!("spring"), 3, 20.0),
    (Preset::Spring, page!("spring-histogram"), 3, 20.0),
    (Preset::Spring, page!("spring-3.0"), 3, 20.0),
    (Preset::Kestrel, page!("kestrel"), 3, 28.0),
    (Preset::Vllm, page!("vllm"), 11, 86.0),
    (Preset::Triton, page!("triton"), 4, 35.0),
];

#[tokio::test]
async fn every_preset_reads_its_programs_page() {
    for (preset, page, calls, begun) in PAGES {
        let app = App::with_body(page).await;
        let endpoint = Endpoint::parse(&format!("http://{}", app.address)).unwrap();
        let mut sources = Sources::new(vec![preset.source(endpoint).unwrap()]);
        let sample = sources.poll(AMPLE).await;
        assert_eq!(count(&sample), *calls, "{}", preset.name());
        assert_eq!(sample.arrivals, Some(*begun), "{}", preset.name());
    }
}

#[test]
fn no_preset_is_without_a_page() {
    for preset in Preset::ALL {
        assert!(PAGES.iter().any(|page| page.0 == preset), "{}", preset.name());
    }
}

#[tokio::test]
async fn another_programs_page_is_unknown_or_says_that_nothing_was_called_yet() {
    for preset in Preset::ALL {
        let app = App::with_body("# TYPE up gauge\nup 1\n").await;
        let endpoint = Endpoint::parse(&format!("http://{}", app.address)).unwrap();
        let mut sources = Sources::new(vec![preset.source(endpoint).unwrap()]);
        let (parts, _) = sources.survey(AMPLE, std::time::Instant::now).await;
        let first_call_creates = [
            Preset::GrpcGo,
            Preset::GrpcJava,
            Preset::GrpcOtel,
            Preset::Spring,
            Preset::Kestrel,
        ];
        let known = matches!(parts[0].reading, tidegate::inflight::Reading::Count(0));
        assert_eq!(known, first_call_creates.contains(&preset), "{}", preset.name());
    }
}

#[tokio::test]
async fn envoy_is_asked_for_the_few_lines_that_count() {
    let app = App::with_body(page!("envoy")).await;
    let endpoint = Endpoint::parse(&format!("http://{}", app.address)).unwrap();
    let mut sources = Sources::new(vec![Preset::Envoy.source(endpoint).unwrap()]);
    sources.poll(AMPLE).await;
    assert!(
        app.requests()[0].starts_with("GET /stats/prometheus?filter=downstream_rq_(active%7Ctotal) HTTP/1.1"),
        "{:?}",
        app.requests()
    );
}

#[tokio::test]
async fn our_own_polls_of_nginx_are_no_arrivals() {
    let page = |requests: usize| {
        inflight_app::ok(&format!(
            "Active connections: 1 \nserver accepts handled requests\n 1 1 {requests} \nReading: 0 Writing: 1 Waiting: 0 \n"
        ))
    };
    // An arrival comes before the third poll.
    let app =
        App::start(move |n| vec![inflight_app::Act::Send(page(if n < 2 { n + 1 } else { n + 2 }))]).await;
    let endpoint = Endpoint::parse(&app.url()).unwrap();
    let mut sources = Sources::new(vec![Preset::Nginx.source(endpoint).unwrap()]);
    let mut arrivals = Vec::new();
    for _ in 0..4 {
        let sample = sources.poll(AMPLE).await;
        assert_eq!(count(&sample), 0);
        arrivals.push(sample.arrivals.unwrap());
    }
    assert_eq!(arrivals, [0.0, 0.0, 1.0, 1.0]);
}

/// A program that is killed when the test ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn the_page_of_a_real_prometheus_client_is_read() {
    let root = env!("CARGO_MANIFEST_DIR");
    let exporter = Command::new(format!("{root}/.venv/bin/python"))
        .arg(format!("{root}/tests/python/exporter.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("tests/needs.sh makes .venv");
    let mut exporter = Running(exporter);
    let mut port = String::new();
    BufReader::new(exporter.0.stdout.take().unwrap())
        .read_line(&mut port)
        .unwrap();
    let url = format!("http://127.0.0.1:{}/metrics", port.trim());
    for (query, calls) in [
        ("sum(calls_in_progress)", 2),
        (r#"calls_in_progress{method="a \"quoted\" {x=\"1\",}\nline"}"#, 2),
        (r#"calls_started_total{method="back\\slash"}"#, 3),
        ("count({__name__=~\"call_seconds_(sum|count)\"})", 2),
        // A name in quotes asks for another of its formats.
        (r#"{"calls_in_progress"}"#, 2),
    ] {
        let config = PrometheusConfig::new(&url, query, Absent::Unknown, Some("sum(calls_started_total)"));
        let mut sources = Sources::new(vec![SourceConfig::Prometheus(config.unwrap())]);
        // Twice, over the connection that is kept.
        for _ in 0..2 {
            let sample = sources.poll(AMPLE).await;
            assert_eq!(count(&sample), calls, "{query}");
            assert_eq!(sample.arrivals, Some(7.0), "{query}");
        }
    }
}

#[tokio::test]
async fn the_page_of_a_real_nginx_is_read() {
    let site = tempfile::tempdir().unwrap();
    let root = site.path().display();
    let listening = format!("{root}/status.sock");
    // One process, because a master that is killed leaves its workers. A unix socket, because a
    // port could be taken by another program before nginx has it.
    let config = format!(
        "daemon off; master_process off; pid {root}/pid; error_log {root}/error.log; events {{}}\n\
         http {{ access_log off; client_body_temp_path {root}/b; proxy_temp_path {root}/p;\n\
         fastcgi_temp_path {root}/f; uwsgi_temp_path {root}/u; scgi_temp_path {root}/s;\n\
         server {{ listen unix:{listening}; location /status {{ stub_status; }} }} }}\n"
    );
    std::fs::write(site.path().join("nginx.conf"), config).unwrap();
    let nginx = Command::new("nginx")
        .env(
            "PATH",
            format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap()),
        )
        .args([
            "-c",
            &format!("{root}/nginx.conf"),
            "-e",
            &format!("{root}/error.log"),
        ])
        .spawn()
        .expect("tests/needs.sh installs nginx");
    let _nginx = Running(nginx);
    let page = async || {
        let mut stream = tokio::net::UnixStream::connect(&listening).await.ok()?;
        let request = b"GET /status HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
        stream.write_all(request).await.ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.ok()?;
        Some(answer)
    };
    let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let answer = loop {
        match page().await {
            Some(answer) => break answer,
            None => assert!(std::time::Instant::now() < end, "nginx does not listen"),
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    };
    // As nginx wrote it, passed on over TCP.
    let app = App::start(move |_| vec![inflight_app::Act::Send(answer.clone())]).await;
    let mut sources = Sources::new(vec![
        Preset::Nginx
            .source(Endpoint::parse(&app.url()).unwrap())
            .unwrap(),
    ]);
    let sample = sources.poll(AMPLE).await;
    assert_eq!(count(&sample), 0);
    assert_eq!(sample.arrivals, Some(0.0));
}
