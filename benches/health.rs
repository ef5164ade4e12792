//! The health server side by side with others, in one run: a minimal tonic-health server (this program, started
//! again) and grpcio's own health service. The server has one core, the load the other.
//!
//! `cargo bench --bench health` (Debian: nghttp2-client, util-linux; `tests/needs.sh` for grpcio). The result is in
//! docs/benchmarks.md.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

const SERVER_CORE: &str = "0";
const LOAD_CORE: &str = "1";

const REQUESTS: u32 = 200_000;
const ROUNDS: usize = 5;
/// How often a drain is told to so many watchers on so many connections.
const DRAINS: [(usize, usize, usize); 3] = [(200, 1, 1), (30, 10, 100), (10, 100, 100)];

fn main() {
    let mut arguments = std::env::args().skip(1);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    if arguments.next().as_deref() == Some("serve-tonic-health") {
        let address = arguments.next().expect("an address").parse().expect("an address");
        return runtime.block_on(serve_tonic_health(address));
    }
    pin_to(LOAD_CORE);
    let room = tempfile::tempdir().expect("a directory");
    checks(room.path());
    runtime.block_on(memory(room.path()));
    runtime.block_on(drains(room.path()));
}

async fn serve_tonic_health(address: SocketAddr) {
    let (reporter, service) = tonic_health::server::health_reporter();
    reporter
        .set_service_status("", tonic_health::ServingStatus::Serving)
        .await;
    let server = tonic::transport::Server::builder().add_service(service);
    server.serve(address).await.expect("it serves");
}

/// The threads and programs started from here on run on this core, unless they say otherwise.
fn pin_to(core: &str) {
    let pid = std::process::id().to_string();
    let done = Command::new("taskset")
        .args(["-a", "-p", "-c", core, &pid])
        .stdout(Stdio::null())
        .status();
    assert!(done.expect("taskset is there (util-linux)").success());
}

/// One of those compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Tidegate,
    TonicHealth,
    Grpcio,
}

struct Server {
    process: Child,
    address: SocketAddr,
}

impl Server {
    fn start(kind: Kind, room: &Path) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let address = std::net::TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .expect("a free port");
        let mut command = Command::new("taskset");
        command.args(["-c", SERVER_CORE]);
        match kind {
            Kind::Tidegate => {
                let config = room.join("tidegate.yaml");
                let text = format!(
                    "terminationGracePeriodSeconds: 30\nhealth: {{listen: \"{address}\"}}\nadmin: {{socket: \"{}\"}}\n\
                     drain: {{propagation: 300ms, quiet: 1ms}}\nchild: {{stopTimeout: 1s}}\n",
                    room.join("admin.sock").display()
                );
                fs::write(&config, text).expect("a file");
                command.arg(env!("CARGO_BIN_EXE_tidegate"));
                command.arg("run").arg("--config").arg(config);
                command.args(["--", "sleep", "1000"]);
            }
            Kind::TonicHealth => {
                command.arg(std::env::current_exe().expect("our own path"));
                command.args(["serve-tonic-health", &address.to_string()]);
            }
            Kind::Grpcio => {
                command.arg(root.join(".venv/bin/python"));
                command.arg(root.join("tests/python/health.py"));
                command.arg(address.to_string());
            }
        }
        let process = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("taskset is there (util-linux)");
        let server = Self { process, address };
        let begun = Instant::now();
        while std::net::TcpStream::connect(address).is_err() {
            assert!(
                begun.elapsed() < Duration::from_secs(20),
                "{kind:?} does not start"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(Duration::from_millis(100));
        server
    }

    /// The process' own CPU time, in microseconds (proc(5), stat: utime and stime in ticks of 10 ms).
    fn cpu(&self) -> u64 {
        let stat = fs::read_to_string(self.proc("stat")).expect("it lives");
        let rest = stat.rsplit(')').next().expect("fields");
        let ticks: u64 = rest
            .split_whitespace()
            .skip(11)
            .take(2)
            .map(|field| field.parse::<u64>().expect("a number"))
            .sum();
        ticks * 10_000
    }

    /// Resident memory in bytes.
    fn resident(&self) -> u64 {
        let status = fs::File::open(self.proc("status")).expect("it lives");
        let lines = BufReader::new(status).lines().map_while(Result::ok);
        let line = lines.into_iter().find(|line| line.starts_with("VmRSS:"));
        let kilobytes = line.expect("VmRSS").split_whitespace().nth(1).map(str::parse);
        kilobytes
            .expect("a number")
            .map(|number: u64| number * 1024)
            .expect("a number")
    }

    fn proc(&self, file: &str) -> PathBuf {
        format!("/proc/{}/{file}", self.process.id()).into()
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.process.id() as i32), signal).expect("it lives");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // SIGKILL would leave tidegate's program behind.
        self.signal(Signal::SIGINT);
        self.signal(Signal::SIGINT);
        std::thread::sleep(Duration::from_millis(50));
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Requests a second and CPU time a request, by h2load: 10 connections, 20 streams each.
fn checks(room: &Path) {
    let kinds = [Kind::Tidegate, Kind::TonicHealth, Kind::Grpcio];
    let body = room.join("check");
    fs::write(&body, [0; 5]).expect("a file");
    let mut rates = [const { Vec::new() }; 3];
    let mut costs = [const { Vec::new() }; 3];
    let servers = kinds.map(|kind| Server::start(kind, room));
    for round in 0..=ROUNDS {
        for (number, server) in servers.iter().enumerate() {
            let requests = if kinds[number] == Kind::Grpcio {
                REQUESTS / 20
            } else {
                REQUESTS
            };
            let before = server.cpu();
            let rate = load(server.address, requests, &body);
            // The first round warms up.
            if round > 0 {
                rates[number].push(rate);
                costs[number].push((server.cpu() - before) as f64 / f64::from(requests));
            }
        }
    }
    println!(
        "Check, 10 connections × 20 streams, {ROUNDS} rounds of {REQUESTS} (grpcio: a twentieth), medians\n"
    );
    println!("| server | req/s | ratio to tidegate's | CPU µs a request |");
    println!("| --- | ---: | ---: | ---: |");
    let rates = rates.map(|mut rates| median(&mut rates));
    for (number, kind) in kinds.iter().enumerate() {
        let cost = median(&mut costs[number]);
        println!(
            "| {kind:?} | {:.0} | {:.2} | {cost:.2} |",
            rates[number],
            rates[number] / rates[0]
        );
    }
    println!();
}

fn load(address: SocketAddr, requests: u32, body: &Path) -> f64 {
    let ended = Command::new("h2load")
        .args(["-n", &requests.to_string(), "-c", "10", "-m", "20"])
        .args(["-H", "content-type: application/grpc", "-H", "te: trailers", "-d"])
        .arg(body)
        .arg(format!("http://{address}/grpc.health.v1.Health/Check"))
        .output()
        .expect("h2load is there (nghttp2-client)");
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(
        said.contains(&format!("{requests} succeeded, 0 failed")),
        "{said}"
    );
    let line = said
        .lines()
        .find(|line| line.starts_with("finished in"))
        .expect("a result");
    let rate = line
        .split(", ")
        .nth(1)
        .and_then(|rate| rate.strip_suffix(" req/s"));
    rate.and_then(|rate| rate.parse().ok()).expect("a rate")
}

/// Resident memory a watcher, 10 000 of them on 100 connections.
async fn memory(room: &Path) {
    println!("Memory of 10 000 Watches on 100 connections\n");
    println!("| server | bytes a Watch |\n| --- | ---: |");
    for kind in [Kind::Tidegate, Kind::TonicHealth] {
        let server = Server::start(kind, room);
        let before = server.resident();
        let (_told, _crowd) = crowd(server.address, 100, 100).await;
        let each = (server.resident() - before) / 10_000;
        println!("| {kind:?} | {each} |");
    }
    println!();
}

/// From SIGTERM to NOT_SERVING: of one drain, when the last watcher knew.
async fn drains(room: &Path) {
    println!("From SIGTERM to NOT_SERVING at the last watcher (ms)\n");
    println!("| watchers | drains | p50 | p99 |\n| ---: | ---: | ---: | ---: |");
    for (runs, connections, each) in DRAINS {
        let mut latencies = Vec::new();
        for _ in 0..runs {
            let server = Server::start(Kind::Tidegate, room);
            let (mut told, _crowd) = crowd(server.address, connections, each).await;
            let begun = Instant::now();
            server.signal(Signal::SIGTERM);
            let mut last = begun;
            for _ in 0..connections * each {
                last = last.max(told.recv().await.expect("everybody is told"));
            }
            latencies.push((last - begun).as_secs_f64() * 1e3);
        }
        let p50 = median(&mut latencies);
        let p99 = latencies[(latencies.len() * 99).div_ceil(100) - 1];
        println!("| {} | {runs} | {p50:.3} | {p99:.3} |", connections * each);
    }
}

type Crowd = tokio::task::JoinSet<()>;

/// Opens so many Watches of "" on so many connections, all of which have heard SERVING. What they hear later
/// comes by the channel, as the moment it was read.
async fn crowd(
    address: SocketAddr,
    connections: usize,
    each: usize,
) -> (mpsc::UnboundedReceiver<Instant>, Crowd) {
    let (tell, mut told) = mpsc::unbounded_channel();
    let mut crowd = Crowd::new();
    for _ in 0..connections {
        let tell = tell.clone();
        crowd.spawn(async move { watch(address, each, tell).await });
    }
    for _ in 0..connections * each {
        told.recv().await.expect("every Watch has a first message");
    }
    (told, crowd)
}

/// HTTP/2 by hand, so that the client costs next to nothing. A moment for each DATA frame.
async fn watch(address: SocketAddr, watches: usize, tell: mpsc::UnboundedSender<Instant>) {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let mut sent = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec();
    let mut block = b"\x83\x86\x44\x1c/grpc.health.v1.Health/Watch".to_vec();
    block.extend(b"\x41\x01x\x5f\x10application/grpc\x40\x02te\x08trailers");
    for call in 0..watches {
        let id = u32::try_from(2 * call + 1).expect("few").to_be_bytes();
        sent.extend([0, 0, u8::try_from(block.len()).expect("short"), 1, 4]);
        sent.extend(id);
        sent.extend(&block);
        sent.extend([0, 0, 5, 0, 1]);
        sent.extend(id);
        sent.extend([0; 5]);
    }
    stream.write_all(&sent).await.expect("it reads");
    let mut bytes = Vec::new();
    let mut piece = vec![0; 65_536];
    loop {
        let read = stream.read(&mut piece).await.unwrap_or(0);
        if read == 0 {
            return;
        }
        let now = Instant::now();
        bytes.extend(&piece[..read]);
        let mut from = 0;
        while let Some(header) = bytes.get(from..from + 9) {
            let length = u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize;
            if bytes.len() < from + 9 + length {
                break;
            }
            if header[3] == 0 && length > 0 && tell.send(now).is_err() {
                return;
            }
            from += 9 + length;
        }
        bytes.drain(..from);
    }
}

/// Sorts them.
fn median(numbers: &mut [f64]) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}
