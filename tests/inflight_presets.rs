//! Presets against pages of the programs they know, recorded where that was possible.

mod inflight_app;
mod support;

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use inflight_app::{AMPLE, App, count};
use support::ports;
use tidegate::http::Endpoint;
use tidegate::inflight::{Absent, Preset, PrometheusConfig, Reading, SourceConfig, Sources};
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

/// A program behind a proxy that answers when it is told to.
struct Backend {
    address: SocketAddr,
    held: Arc<Mutex<Vec<TcpStream>>>,
}

impl Backend {
    fn start() -> Self {
        let listener = ports::listen(ports::free());
        let address = listener.local_addr().unwrap();
        let held = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&held);
        std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                kept.lock().unwrap().push(stream);
            }
        });
        Self { address, held }
    }

    fn answer_all(&self) {
        for mut stream in self.held.lock().unwrap().drain(..) {
            stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                .unwrap();
        }
    }
}

/// Two calls through the proxy at `front`: they are counted while they last, and as arrivals after it.
async fn two_calls_are_counted(preset: Preset, metrics: SocketAddr, front: SocketAddr, backend: &Backend) {
    let endpoint = Endpoint::parse(&format!("http://{metrics}")).unwrap();
    let mut sources = Sources::new(vec![preset.source(endpoint).unwrap()]);
    let mut reads = async |calls: u64, begun: f64| {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let sample = sources.poll(AMPLE).await;
            if sample.reading == Reading::Count(calls) && sample.arrivals == Some(begun) {
                return;
            }
            assert!(
                Instant::now() < end,
                "{}: not {calls} and {begun}: {sample:?}",
                preset.name()
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    reads(0, 0.0).await;
    let calls: Vec<TcpStream> = (0..2)
        .map(|_| {
            let mut call = TcpStream::connect(front).unwrap();
            call.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
            call
        })
        .collect();
    reads(2, 2.0).await;
    backend.answer_all();
    // Kept open and idle, connections are no calls.
    reads(0, 2.0).await;
    drop(calls);
}

#[tokio::test]
async fn the_page_of_a_real_haproxy_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let (backend, front, metrics) = (Backend::start(), ports::free(), ports::free());
    let config = format!(
        "defaults\n mode http\n timeout connect 5s\n timeout client 60s\n timeout server 60s\n\
         frontend web\n bind {front}\n default_backend app\n\
         backend app\n server one {}\n\
         frontend metrics\n bind {metrics}\n http-request use-service prometheus-exporter if {{ path /metrics }}\n",
        backend.address
    );
    let file = folder.path().join("haproxy.cfg");
    std::fs::write(&file, config).unwrap();
    let haproxy = Command::new("haproxy")
        .env(
            "PATH",
            format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap()),
        )
        .args(["-db", "-q", "-f"])
        .arg(&file)
        .spawn()
        .expect("tests/needs.sh installs haproxy");
    let _haproxy = Running(haproxy);
    two_calls_are_counted(Preset::Haproxy, metrics, front, &backend).await;
}

#[tokio::test]
async fn the_page_of_a_real_envoy_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let (backend, front, admin) = (Backend::start(), ports::free(), ports::free());
    let place = |address: SocketAddr| {
        format!(
            "{{socket_address: {{address: {}, port_value: {}}}}}",
            address.ip(),
            address.port()
        )
    };
    let config = format!(
        r#"
admin: {{address: {admin}}}
static_resources:
  listeners:
  - address: {front}
    filter_chains:
    - filters:
      - name: http
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: ingress
          route_config: {{virtual_hosts: [{{name: all, domains: ["*"], routes: [{{match: {{prefix: /}}, route: {{cluster: app}}}}]}}]}}
          http_filters:
          - name: router
            typed_config: {{"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}}
  clusters:
  - name: app
    type: STATIC
    connect_timeout: 5s
    load_assignment: {{cluster_name: app, endpoints: [{{lb_endpoints: [{{endpoint: {{address: {app}}}}}]}}]}}
"#,
        admin = place(admin),
        front = place(front),
        app = place(backend.address),
    );
    let file = folder.path().join("envoy.yaml");
    std::fs::write(&file, config).unwrap();
    let envoy = Command::new(format!("{}/.venv/bin/envoy", env!("CARGO_MANIFEST_DIR")))
        .args(["--disable-hot-restart", "--concurrency", "1", "-l", "warn", "-c"])
        .arg(&file)
        .spawn()
        .expect("tests/needs.sh makes .venv, with Envoy in it");
    let _envoy = Running(envoy);
    two_calls_are_counted(Preset::Envoy, admin, front, &backend).await;
}
