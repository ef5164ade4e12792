//! tidegate as the program's PID 1.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::thread;
use std::time::Duration;

use crate::pod::{Hook, of, restart, stop_pod};
use crate::support::children::{TOLD, telling};
use crate::support::config::{LONG, ROOMY};
use crate::support::metrics_endpoint::MetricsEndpoint;
use crate::support::patience::eventually;
use crate::support::tidegate::{Running, binary};
use crate::support::{Tidegate, ports};

fn prestop(tidegate: &Running) -> Hook {
    let socket = tidegate.socket().display().to_string();
    Hook::Exec(
        vec![binary().into_string().expect("a path in UTF-8"), "prestop".into()],
        vec![(crate::support::client::SOCKET.to_owned(), socket)],
    )
}

fn serving(config: String) -> Running {
    let tidegate = Tidegate::wrapping(telling(&[])).config(config).start();
    tidegate.child();
    tidegate.wait_for_phase("serving");
    tidegate
}

/// An address of this machine that is not loopback: what a pod's IP is.
pub fn own_address() -> Ipv4Addr {
    // Nothing is sent: a datagram socket that connects only chooses its address.
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
    socket
        .connect("192.0.2.1:9")
        .expect("this machine has a route and so an address that is not loopback");
    match socket.local_addr().expect("an address") {
        SocketAddr::V4(address) if !address.ip().is_loopback() => *address.ip(),
        other => panic!("{other} is no address a kubelet would call"),
    }
}

#[test]
fn an_exec_hook_and_the_signal_after_it_are_one_drain() {
    let calls = MetricsEndpoint::with_calls(0);
    let mut tidegate = serving(ROOMY.measured(&calls));
    let container = of(&tidegate, prestop(&tidegate));
    let [stopped] = &stop_pod(ROOMY.grace, &[container])[..] else {
        unreachable!()
    };
    assert_eq!(tidegate.wait().code(), TOLD);
    assert!(!stopped.killed && !stopped.hook_failed, "{stopped:?}");
    assert!(stopped.hook_said.contains("drained"), "{stopped:?}");
    assert!(
        stopped.gone < Some(ROOMY.budget() + Duration::from_secs(1)),
        "{stopped:?}"
    );
    assert_eq!(tidegate.termination().text("trigger"), "preStop");
    assert_eq!(tidegate.stdout.with("signal SIGTERM").len(), 1);
}

#[test]
fn an_http_hook_is_called_on_the_pods_address() {
    let calls = MetricsEndpoint::with_calls(0);
    let address = SocketAddr::from((own_address(), ports::free().port()));
    let config = format!("{}lifecycle: {{listen: '{address}'}}\n", ROOMY.measured(&calls));
    let mut tidegate = serving(config);
    let container = of(&tidegate, Hook::HttpGet(address, "/prestop"));
    let [stopped] = &stop_pod(ROOMY.grace, &[container])[..] else {
        unreachable!()
    };
    assert_eq!(tidegate.wait().code(), TOLD);
    assert!(!stopped.killed, "{stopped:?}");
    assert!(stopped.hook_said.starts_with("HTTP/1.1 200 "), "{stopped:?}");
    assert_eq!(tidegate.termination().verdict(), "drained");
}

#[test]
fn a_hook_that_fails_is_followed_by_the_signal_which_drains_alone() {
    let calls = MetricsEndpoint::with_calls(1);
    let mut tidegate = serving(ROOMY.measured(&calls));
    let hook = Hook::Exec(vec!["false".into()], Vec::new());
    let container = of(&tidegate, hook);
    let pod = thread::spawn(move || stop_pod(ROOMY.grace, &[container]));
    tidegate.wait_for_phase("in-flight");
    calls.set_calls(0);
    let stopped = pod.join().expect("the kubelet");
    assert_eq!(tidegate.wait().code(), TOLD);
    assert!(stopped[0].hook_failed && !stopped[0].killed, "{stopped:?}");
    assert_eq!(tidegate.termination().text("trigger"), "SIGTERM");
    assert_eq!(tidegate.termination().verdict(), "drained");
}

#[test]
fn a_hook_that_sleeps_is_reckoned_with_when_it_is_declared() {
    // The hook spends 2 s of 6; with preStopSeconds the drain fits into what is left.
    let calls = MetricsEndpoint::with_calls(1);
    let config = format!("{}preStopSeconds: 2\n", ROOMY.measured(&calls));
    let mut tidegate = serving(config);
    let container = of(&tidegate, Hook::Sleep(Duration::from_secs(2)));
    let stopped = stop_pod(ROOMY.grace, &[container]);
    assert_eq!(tidegate.wait().code(), TOLD);
    assert!(!stopped[0].killed, "{stopped:?}");
    assert_eq!(tidegate.termination().verdict(), "deadline");
}

#[test]
fn a_shorter_second_delete_runs_the_hook_again_which_joins() {
    // The API server lets a second delete shorten the grace period; the kubelet then begins anew.
    let calls = MetricsEndpoint::with_calls(1);
    let mut tidegate = serving(LONG.measured(&calls));
    let (first, second) = (
        of(&tidegate, prestop(&tidegate)),
        of(&tidegate, prestop(&tidegate)),
    );
    let longer = thread::spawn(move || stop_pod(LONG.grace, &[first]));
    tidegate.wait_for_phase("in-flight");
    let shorter = thread::spawn(move || stop_pod(LONG.grace / 2, &[second]));
    eventually("the second hook", || {
        (tidegate.stderr.with("asked: prestop").len() == 2).then_some(())
    });
    calls.set_calls(0);
    let stopped = [longer, shorter].map(|kubelet| kubelet.join().expect("the kubelet"));
    assert_eq!(tidegate.wait().code(), TOLD);
    assert!(stopped.iter().flatten().all(|one| !one.killed), "{stopped:?}");
    assert_eq!(tidegate.stdout.with("signal SIGTERM").len(), 1);
    assert_eq!(tidegate.termination().verdict(), "drained");
}

#[test]
fn a_liveness_restart_drains_as_well_and_the_next_container_serves() {
    let calls = MetricsEndpoint::with_calls(0);
    let mut tidegate = serving(ROOMY.measured(&calls));
    let stopped = restart(ROOMY.grace, &of(&tidegate, prestop(&tidegate)));
    assert_eq!(tidegate.wait().code(), TOLD);
    assert!(!stopped.killed, "{stopped:?}");
    assert_eq!(tidegate.termination().verdict(), "drained");
    let again = serving(ROOMY.measured(&calls));
    assert_eq!(again.status()["phase"], "serving");
}
