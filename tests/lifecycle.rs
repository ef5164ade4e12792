//! The httpGet preStop endpoint: it triggers the drain and is answered when that is over.

mod support;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use support::children::{TOLD, telling};
use support::config::ROOMY;
use support::http::{Answer, get};
use support::metrics_endpoint::MetricsEndpoint;
use support::{Running, Signal, Tidegate, ports};

fn listening(calls: &MetricsEndpoint, more: &str) -> (Running, SocketAddr) {
    let address = ports::free();
    let config = format!(
        "{}lifecycle: {{listen: '{address}'{more}}}\n",
        ROOMY.measured(calls)
    );
    let tidegate = Tidegate::wrapping(telling(&[])).config(config).start();
    tidegate.child();
    (tidegate, address)
}

/// A hook as the kubelet calls it, with this head.
fn call(address: SocketAddr, head: &str) -> Answer {
    let mut socket = TcpStream::connect(address).expect("somebody listens");
    write!(
        socket,
        "{head}\r\nHost: 10.0.0.7:9096\r\nUser-Agent: kube-lifecycle/1.36\r\n\r\n"
    )
    .expect("sent");
    let mut text = String::new();
    socket.read_to_string(&mut text).expect("an answer");
    let (head, body) = text.split_once("\r\n\r\n").expect("HTTP");
    Answer {
        status: head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok())
            .expect("a status"),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}

#[test]
fn a_hook_triggers_the_drain_and_is_answered_when_it_is_over() {
    let calls = MetricsEndpoint::with_calls(1);
    let (mut tidegate, address) = listening(&calls, "");
    let hook = thread::spawn(move || (get(address, "/prestop").expect("an answer"), Instant::now()));
    tidegate.wait_for_phase("in-flight");
    assert!(!hook.is_finished());
    calls.set_calls(0);
    let (answer, at) = hook.join().expect("a thread");
    assert_eq!(answer.status, 200);
    assert!(
        answer.body.starts_with("over: drained, the program "),
        "{}",
        answer.body
    );
    let stopped = tidegate.stdout.wait_for("signal SIGTERM").at;
    assert!(at + Duration::from_secs(2) > stopped);
    assert_eq!(tidegate.wait().code(), TOLD);
    assert_eq!(tidegate.termination().text("trigger"), "preStop");
    assert_eq!(tidegate.termination().verdict(), "drained");
}

#[test]
fn repeated_hooks_and_the_stop_signal_join_and_one_that_leaves_changes_nothing() {
    let calls = MetricsEndpoint::with_calls(1);
    let (mut tidegate, address) = listening(&calls, "");
    let mut gone = TcpStream::connect(address).expect("somebody listens");
    gone.write_all(b"GET /prestop HTTP/1.1\r\nHost: x\r\n\r\n")
        .expect("sent");
    tidegate.wait_for_phase("propagation");
    drop(gone);
    let hooks: Vec<_> = (0..10)
        .map(|_| thread::spawn(move || get(address, "/prestop")))
        .collect();
    tidegate.wait_for_phase("in-flight");
    let left = tidegate.status()["timeLeftMillis"].as_u64();
    tidegate.signal(Signal::SIGTERM);
    assert!(tidegate.status()["timeLeftMillis"].as_u64() <= left);
    calls.set_calls(0);
    for hook in hooks {
        assert_eq!(hook.join().expect("a thread").expect("an answer").status, 200);
    }
    assert_eq!(tidegate.wait().code(), TOLD);
    assert_eq!(tidegate.stdout.with("signal SIGTERM").len(), 1);
}

#[test]
fn a_hook_is_answered_before_the_deadline_however_the_drain_goes() {
    let calls = MetricsEndpoint::with_calls(1);
    let (mut tidegate, address) = listening(&calls, "");
    let begun = Instant::now();
    let answer = get(address, "/prestop").expect("an answer");
    assert!(begun.elapsed() < ROOMY.budget(), "{:?}", begun.elapsed());
    assert_eq!(answer.status, 200);
    assert!(answer.body.starts_with("over: deadline"), "{}", answer.body);
    assert_eq!(tidegate.wait().code(), TOLD);
}

#[test]
fn anything_else_on_that_port_is_not_found_and_stops_nothing() {
    let calls = MetricsEndpoint::with_calls(0);
    let (tidegate, address) = listening(&calls, "");
    for head in [
        "GET / HTTP/1.1",
        "GET /prestop/ HTTP/1.1",
        "GET /readyz HTTP/1.1",
        "POST /prestop HTTP/1.1",
        "HEAD /prestop HTTP/1.1",
        "GET //prestop HTTP/1.1",
    ] {
        assert_eq!(call(address, head).status, 404, "{head}");
    }
    for garbage in [&b"\0\xff\x16\x03"[..], b"GET", &[b'x'; 100_000]] {
        let mut socket = TcpStream::connect(address).expect("somebody listens");
        // It may be closed before it was all sent.
        let _ = socket.write_all(garbage);
    }
    assert_eq!(tidegate.status()["phase"], "serving");
}

#[test]
fn who_does_not_know_the_token_stops_nothing() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), "first-s3cret\n").expect("written");
    let calls = MetricsEndpoint::with_calls(0);
    let (mut tidegate, address) = listening(&calls, &format!(", tokenFile: '{}'", file.path().display()));
    let with = |token: &str| format!("GET /prestop HTTP/1.1\r\nAuthorization: {token}");
    let refused = call(address, "GET /prestop HTTP/1.1");
    assert_eq!(refused.status, 401);
    assert!(
        refused.head.to_lowercase().contains("www-authenticate: bearer"),
        "{}",
        refused.head
    );
    assert_eq!(call(address, &with("Bearer first")).status, 401);
    std::fs::write(file.path(), "second-s3cret\n").expect("written");
    assert_eq!(
        call(address, &with("Bearer first-s3cret")).status,
        401,
        "the file is read anew"
    );
    std::fs::write(file.path(), "").expect("written");
    assert_eq!(
        call(address, &with("Bearer ")).status,
        401,
        "an empty file is no token"
    );
    assert_eq!(tidegate.status()["phase"], "serving");
    std::fs::write(file.path(), "third-s3cret").expect("written");
    assert_eq!(call(address, &with("Bearer third-s3cret")).status, 200);
    assert_eq!(tidegate.wait().code(), TOLD);
    assert!(tidegate.stderr.with("s3cret").is_empty());
}

#[test]
fn a_token_that_cannot_be_read_is_said_and_lets_nobody_in() {
    let calls = MetricsEndpoint::with_calls(0);
    let (tidegate, address) = listening(&calls, ", tokenFile: /no/such/token");
    tidegate
        .stderr
        .wait_for("no preStop hook is let in unless that is there");
    for _ in 0..3 {
        let refused = call(address, "GET /prestop HTTP/1.1\r\nAuthorization: Bearer x");
        assert_eq!(refused.status, 401);
    }
    let said = "lifecycle.tokenFile cannot be read: /no/such/token";
    tidegate.stderr.wait_for(said);
    assert_eq!(tidegate.status()["phase"], "serving");
    assert_eq!(
        tidegate.stderr.with(said).len(),
        1,
        "whoever calls often fills no log"
    );
}

#[test]
fn callers_who_say_nothing_keep_nobody_out() {
    let calls = MetricsEndpoint::with_calls(0);
    let (mut tidegate, address) = listening(&calls, "");
    // Each may take 5 s, and 64 are served at once: if they were waited for, it would be for most of a minute.
    let idle: Vec<_> = (0..600)
        .map(|number| {
            let mut caller = TcpStream::connect(address).expect("somebody listens");
            // Half of them begin.
            if number % 2 == 0 {
                let _ = caller.write_all(b"GET /pre");
            }
            caller
        })
        .collect();
    // The stop signal needs no port, and waits for no caller.
    let hook = thread::spawn(move || get(address, "/prestop"));
    tidegate.wait_for_phase("propagation");
    assert_eq!(hook.join().expect("a thread").expect("an answer").status, 200);
    assert_eq!(tidegate.wait().code(), TOLD);
    drop(idle);
}

#[test]
fn a_port_that_is_taken_is_one_line_and_nothing_is_started() {
    let taken = ports::listen(ports::free());
    let address = taken.local_addr().expect("an address");
    let mut tidegate = Tidegate::wrapping(telling(&[]))
        .config(format!("lifecycle: {{listen: '{address}'}}\n"))
        .start();
    assert_eq!(tidegate.wait().code(), 125);
    // That it is on loopback, as everything in the tests, is said before.
    let mut said = tidegate.stderr.to_the_end();
    said.retain(|line| !line.text.contains("is loopback"));
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].text.contains("lifecycle.listen: cannot listen on")
            && said[0].text.contains("stop what listens there")
    );
    assert!(tidegate.stdout.to_the_end().is_empty());
}
