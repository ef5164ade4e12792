//! Who sends to the health port without end holds up no deadline, and who is half-way is answered.

mod support;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use support::children::{TOLD, telling};
use support::config::{ROOMY, TIGHT};
use support::{Signal, Tidegate};

/// HTTP/2's preface and empty SETTINGS.
const HELLO: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
const SETTINGS: &[u8] = b"\0\0\0\x04\0\0\0\0\0";
const REQUEST: &[u8] = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";

/// Peers at once: each may keep the thread for as long as its socket has something.
const PEERS: usize = 8;

/// More than a busy machine needs to get to a timer, and less than a flood took.
const LATE: Duration = Duration::from_millis(500);

#[test]
fn settings_without_end_hold_up_no_stop_signal() {
    holds_nothing_up(HELLO, SETTINGS);
}

#[test]
fn requests_without_end_hold_up_no_stop_signal() {
    holds_nothing_up(b"", REQUEST);
}

#[test]
fn a_probe_under_way_when_the_signal_comes_is_answered() {
    let mut tidegate = Tidegate::wrapping(telling(&[]))
        .config(ROOMY.unmeasured())
        .start();
    tidegate.child();
    let mut socket = TcpStream::connect(tidegate.health()).expect("the health port is open");
    socket
        .write_all(b"GET /readyz HTTP/1.1\r\nHost: x\r\n")
        .expect("half a request");
    tidegate.signal(Signal::SIGTERM);
    tidegate.wait_for_phase("propagation");
    socket
        .write_all(b"Connection: close\r\n\r\n")
        .expect("the other half");
    let mut answer = String::new();
    socket.read_to_string(&mut answer).expect("an answer");
    assert!(
        answer.starts_with("HTTP/1.1 503 ") && answer.ends_with("draining\n"),
        "{answer}"
    );
    assert_eq!(tidegate.wait().code(), TOLD);
}

fn holds_nothing_up(first: &'static [u8], again: &'static [u8]) {
    let mut tidegate = Tidegate::wrapping(telling(&[]))
        .config(TIGHT.unmeasured())
        .start();
    tidegate.child();
    let over = Arc::new(AtomicBool::new(false));
    let address = tidegate.health();
    let peers: Vec<_> = (0..PEERS)
        .map(|_| flood(address, first, again, Arc::clone(&over)))
        .collect();
    std::thread::sleep(Duration::from_millis(300));
    let trigger = tidegate.signal(Signal::SIGTERM);
    let stopped = tidegate.stdout.wait_for("signal SIGTERM").at;
    let exit = tidegate.wait();
    over.store(true, Ordering::Relaxed);
    for peer in peers {
        peer.join().expect("a flood ends with its socket");
    }
    assert_eq!(exit.code(), TOLD);
    let took = exit.at - trigger;
    assert!(
        took < TIGHT.propagation + LATE,
        "gone after {took:?}, stopped after {:?}",
        stopped - trigger
    );
}

/// Sends `again` and again until the socket or the test is over, and throws away what comes.
fn flood(
    address: SocketAddr,
    first: &'static [u8],
    again: &'static [u8],
    over: Arc<AtomicBool>,
) -> JoinHandle<()> {
    let mut socket = TcpStream::connect(address).expect("the health port is open");
    let mut answers = socket.try_clone().expect("a socket can be shared");
    std::thread::spawn(move || while answers.read(&mut [0; 65_536]).is_ok_and(|read| read > 0) {});
    std::thread::spawn(move || {
        let many = again.repeat(1000);
        let mut sent = socket.write_all(first);
        while sent.is_ok() && !over.load(Ordering::Relaxed) {
            sent = socket.write_all(&many);
        }
    })
}
