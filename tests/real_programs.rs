//! Programs that exist: nginx, a Python gRPC server, sleep, a shell.

mod support;

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use nix::unistd::geteuid;
use tempfile::TempDir;

use support::children::{grpc_python, program, script};
use support::config::{LONG, ROOMY, Timing};
use support::grpc::{self, ServingStatus, Watch};
use support::patience::eventually;
use support::{PATIENCE, Signal, Tidegate, http, ports};

#[test]
fn nginx_delivers_a_download_whole() {
    let site = TempDir::new().expect("a directory");
    let address = ports::free();
    let page: Vec<u8> = (0..=250u8).cycle().take(1_500_000).collect();
    fs::write(site.path().join("page"), &page).expect("the page can be written");
    // At half a megabyte a second it takes three seconds.
    fs::write(site.path().join("nginx.conf"), nginx_conf(&site, address)).expect("the config can be written");
    let timing = Timing {
        stop_timeout: Duration::from_secs(20),
        ..LONG
    };
    let config = timing
        .unmeasured()
        .replace("child: {", "child: {stopSignal: SIGQUIT, ");
    let command = [
        program("nginx"),
        "-c".into(),
        format!("{}/nginx.conf", site.path().display()),
    ];
    let mut tidegate = Tidegate::wrapping(command).config(config).start();
    let mut download = eventually("nginx listens", || TcpStream::connect(address).ok());
    download
        .set_read_timeout(Some(PATIENCE))
        .expect("a timeout can be set");
    write!(
        download,
        "GET /page HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n"
    )
    .expect("nginx takes a request");
    let mut first = [0; 1000];
    download.read_exact(&mut first).expect("the download begins");

    let trigger = tidegate.signal(Signal::SIGTERM);
    let mut rest = Vec::new();
    download.read_to_end(&mut rest).expect("the download ends well");
    let whole = Instant::now();
    let answer = [&first[..], &rest[..]].concat();
    assert!(
        answer.ends_with(&page),
        "the download was cut: {} of {} bytes",
        answer.len(),
        page.len()
    );
    assert!(
        whole > trigger + timing.propagation,
        "it was to be under way when nginx is told; make it longer"
    );
    assert_eq!(tidegate.wait().code(), 0, "nginx leaves with 0 after SIGQUIT");
    assert!(tidegate.remaining().is_empty(), "workers are left");
}

fn nginx_conf(site: &TempDir, address: SocketAddr) -> String {
    let root = site.path().display();
    // Started as root, nginx gives its workers away, and they could not read a private directory.
    let user = if geteuid().is_root() { "user root;" } else { "" };
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("{name}_temp_path {root}/{name};\n"))
        .concat();
    format!(
        "{user}
daemon off;
worker_processes 2;
pid {root}/nginx.pid;
error_log {root}/error.log;
events {{ worker_connections 64; }}
http {{
access_log off;
{temporary}
server {{ listen {address}; root {root}; location / {{ limit_rate 500k; }} }}
}}
"
    )
}

#[test]
fn a_python_grpc_server_finishes_its_call() {
    let (calls, metrics) = (ports::free(), ports::free());
    let source = format!("prometheus: {{url: \"http://{metrics}/metrics\", query: calls_in_flight}}");
    let command = [
        grpc_python(),
        script("library.py"),
        calls.to_string(),
        metrics.to_string(),
    ];
    let mut tidegate = Tidegate::wrapping(command)
        .config(LONG.with_source(&source))
        .start();
    tidegate.stdout.wait_for("listening");
    let call = grpc::find_book(calls, Duration::from_secs(2));
    eventually("the call is under way", || {
        http::get(metrics, "/metrics")
            .ok()?
            .body
            .contains("calls_in_flight 1")
            .then_some(())
    });
    tidegate.signal(Signal::SIGTERM);
    let (answered, answer) = call.answer();
    answer.expect("the call is finished");
    let exit = tidegate.wait();
    assert!(exit.at >= answered);
    assert_eq!(
        exit.code(),
        128 + Signal::SIGTERM as i32,
        "grpcio dies of SIGTERM when nobody handles it"
    );
    assert_eq!(tidegate.termination().verdict(), "drained");
}

#[test]
fn sleep_goes_when_it_is_told() {
    let mut tidegate = Tidegate::wrapping(["/bin/sleep", "600"])
        .config(ROOMY.unmeasured())
        .start();
    Watch::open(tidegate.health(), "").wait_for(ServingStatus::Serving);
    let trigger = tidegate.signal(Signal::SIGTERM);
    let exit = tidegate.wait();
    assert_eq!(exit.code(), 143);
    let took = exit.at - trigger;
    assert!(
        took >= ROOMY.propagation,
        "gone after {took:?}: propagation is owed even to sleep"
    );
    assert!(took < ROOMY.budget(), "gone after {took:?}");
}

#[test]
fn a_shell_and_what_it_started_are_gone() {
    // The shell dies of SIGTERM; what it started in the background knows of nothing.
    let script = "trap '' HUP; sleep 601 & sleep 602 & echo started; wait";
    let mut tidegate = Tidegate::wrapping(["/bin/sh", "-c", script])
        .config(ROOMY.unmeasured())
        .start();
    tidegate.stdout.wait_for("started");
    let trigger = tidegate.signal(Signal::SIGTERM);
    let exit = tidegate.wait();
    assert_eq!(exit.code(), 143);
    assert!(exit.at - trigger < ROOMY.budget());
    assert!(
        tidegate.remaining().is_empty(),
        "left behind: {:?}",
        tidegate.remaining()
    );
}

#[test]
fn leftovers_that_are_deaf_are_killed_within_the_budget() {
    let script = "(trap '' TERM HUP INT; while :; do sleep 0.2; done) & echo started; wait";
    let timing = Timing {
        kill_wait: Duration::from_secs(1),
        ..ROOMY
    };
    let mut tidegate = Tidegate::wrapping(["/bin/sh", "-c", script])
        .config(timing.unmeasured())
        .start();
    tidegate.stdout.wait_for("started");
    let trigger = tidegate.signal(Signal::SIGTERM);
    let exit = tidegate.wait();
    assert!(
        exit.at - trigger < timing.budget(),
        "gone after {:?}",
        exit.at - trigger
    );
    assert!(
        tidegate.remaining().is_empty(),
        "left behind: {:?}",
        tidegate.remaining()
    );
}

#[test]
fn arguments_and_environment_arrive_byte_for_byte() {
    let script = "printf '%s|' \"$0\" \"$@\"; printf '%s\\n' \"$ODD\"";
    let command = [
        "/bin/sh",
        "-c",
        script,
        "zero",
        "",
        "a b",
        "--",
        "-x",
        "é$HOME`id`",
    ];
    let mut tidegate = Tidegate::wrapping(command)
        .config(ROOMY.unmeasured())
        .env("ODD", " two  spaces\tand a tab ")
        .start();
    assert_eq!(tidegate.wait().code(), 0);
    let said = tidegate.stdout.to_the_end();
    assert_eq!(
        said[0].text,
        "zero||a b|--|-x|é$HOME`id`| two  spaces\tand a tab "
    );
}
