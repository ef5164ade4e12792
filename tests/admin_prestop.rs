//! `tidegate prestop`, the exec hook: it begins the drain, or joins it, and waits until it is over.

mod support;

use std::process::Command;
use std::time::Instant;

use support::children::{TOLD, python, telling};
use support::client::{Client, SOCKET};
use support::config::{LONG, ROOMY};
use support::metrics_endpoint::MetricsEndpoint;
use support::patience::eventually;
use support::{PATIENCE, Running, Signal, Tidegate};

fn with_calls(calls: &MetricsEndpoint) -> Running {
    let tidegate = Tidegate::wrapping(telling(&[]))
        .config(LONG.measured(calls))
        .start();
    tidegate.child();
    tidegate
}

#[test]
fn it_waits_for_the_calls_and_returns_when_the_program_has_its_stop_signal() {
    let calls = MetricsEndpoint::with_calls(3);
    let mut tidegate = with_calls(&calls);
    let begun = Instant::now();
    let mut hook = tidegate.client(&["prestop"]);
    hook.stdout.wait_for("in-flight: 3 calls under way; ");
    calls.set_calls(1);
    hook.stdout.wait_for("in-flight: 1 call under way; ");
    assert!(hook.waits());
    assert_eq!(tidegate.stdout.with("signal ").len(), 0);

    let over = calls.set_calls(0);
    let ended = hook.end();
    assert_eq!(ended.code(), 0, "{ended:?}");
    assert!(ended.at >= over + LONG.quiet);
    assert!(
        ended
            .stdout
            .lines()
            .last()
            .expect("a last line")
            .starts_with("over: "),
        "{ended:?}"
    );
    let stopped = tidegate.stdout.wait_for("signal SIGTERM").at;
    assert!(stopped >= begun + LONG.propagation + LONG.quiet);
    assert_eq!(tidegate.wait().code(), TOLD);
    let report = tidegate.termination();
    assert_eq!(report.verdict(), "drained");
    assert_eq!(report.text("trigger"), "preStop");
}

#[test]
fn twenty_hooks_at_once_are_one_drain() {
    let calls = MetricsEndpoint::with_calls(1);
    let mut tidegate = with_calls(&calls);
    let hooks: Vec<_> = (0..20).map(|_| tidegate.client(&["prestop"])).collect();
    for hook in &hooks {
        hook.stdout.wait_for("in-flight: 1 call under way; ");
    }
    calls.set_calls(0);
    for hook in hooks {
        let ended = hook.end();
        assert_eq!(ended.code(), 0, "{ended:?}");
    }
    assert_eq!(tidegate.wait().code(), TOLD);
    assert_eq!(tidegate.stdout.with("signal SIGTERM").len(), 1);
    assert_eq!(tidegate.stderr.with("serving → notify").len(), 1);
}

#[test]
fn a_hook_that_is_killed_changes_nothing() {
    let calls = MetricsEndpoint::with_calls(1);
    let mut tidegate = with_calls(&calls);
    let hook = tidegate.client(&["prestop"]);
    hook.stdout.wait_for("in-flight: ");
    hook.signal(Signal::SIGKILL);
    drop(hook);
    let polled = Instant::now();
    calls.wait_for_polls_after(polled, 3);
    assert_eq!(tidegate.status()["phase"], "in-flight");
    calls.set_calls(0);
    assert_eq!(tidegate.wait().code(), TOLD);
    assert_eq!(tidegate.termination().verdict(), "drained");
}

#[test]
fn the_stop_signal_after_it_and_a_second_one_join() {
    let calls = MetricsEndpoint::with_calls(1);
    let mut tidegate = with_calls(&calls);
    let hook = tidegate.client(&["prestop"]);
    hook.stdout.wait_for("in-flight: ");
    let left = tidegate.status()["timeLeftMillis"].as_u64();
    tidegate.signal(Signal::SIGTERM);
    tidegate.stderr.wait_for("already stopping");
    tidegate.signal(Signal::SIGTERM);
    let status = tidegate.status();
    assert_eq!(status["phase"], "in-flight");
    assert!(
        status["timeLeftMillis"].as_u64() <= left,
        "the clock went on as it was"
    );
    calls.set_calls(0);
    assert_eq!(hook.end().code(), 0);
    assert_eq!(tidegate.wait().code(), TOLD);
    assert_eq!(tidegate.stdout.with("signal SIGTERM").len(), 1);
    assert_eq!(
        tidegate.stderr.with("already stopping").len(),
        1,
        "it is said once a phase"
    );
    assert_eq!(tidegate.termination().text("trigger"), "preStop");
}

#[test]
fn a_hook_during_a_stop_joins_it_and_so_does_a_second_one() {
    let calls = MetricsEndpoint::with_calls(1);
    let mut tidegate = with_calls(&calls);
    tidegate.signal(Signal::SIGTERM);
    tidegate.wait_for_phase("in-flight");
    let hooks = [tidegate.client(&["prestop"]), tidegate.client(&["prestop"])];
    for hook in &hooks {
        hook.stdout.wait_for("in-flight: 1 call under way; ");
    }
    calls.set_calls(0);
    for hook in hooks {
        assert_eq!(hook.end().code(), 0);
    }
    assert_eq!(tidegate.wait().code(), TOLD);
    assert_eq!(tidegate.termination().text("trigger"), "SIGTERM");
}

#[test]
fn a_hook_after_the_stop_signal_returns_at_once() {
    let mut tidegate = Tidegate::wrapping(telling(&["--deaf"]))
        .config(ROOMY.unmeasured())
        .start();
    tidegate.child();
    tidegate.signal(Signal::SIGTERM);
    tidegate.wait_for_phase("stop");
    assert!(tidegate.ask(&["prestop"]).starts_with("over: unmeasured, "));
    assert_eq!(tidegate.wait().code(), 128 + Signal::SIGKILL as i32);
}

#[test]
fn a_program_that_ends_by_itself_ends_the_wait() {
    let calls = MetricsEndpoint::with_calls(1);
    let mut tidegate = with_calls(&calls);
    let hook = tidegate.client(&["prestop"]);
    hook.stdout.wait_for("in-flight: ");
    let child = tidegate.child();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(child), Signal::SIGKILL).expect("killed");
    let ended = hook.end();
    assert_eq!(ended.code(), 0, "{ended:?}");
    assert!(ended.stdout.contains("over: child-exited, "), "{ended:?}");
    assert_eq!(tidegate.wait().code(), 128 + Signal::SIGKILL as i32);
}

#[test]
fn a_tidegate_that_is_killed_ends_the_wait() {
    let calls = MetricsEndpoint::with_calls(1);
    let mut tidegate = with_calls(&calls);
    let hook = tidegate.client(&["prestop"]);
    hook.stdout.wait_for("in-flight: ");
    tidegate.signal(Signal::SIGKILL);
    let ended = hook.end();
    assert_eq!(ended.code(), 0, "{ended:?}");
    assert!(ended.stdout.ends_with("over: tidegate is gone\n"), "{ended:?}");
}

#[test]
fn a_hook_that_comes_before_the_socket_finds_it() {
    let tidegate = Tidegate::wrapping(telling(&[])).config(LONG.unmeasured()).start();
    // Without a wait: tidegate has hardly begun.
    let hook = Client::at(tidegate.socket(), &["prestop"]);
    let ended = hook.end();
    assert_eq!(ended.code(), 0, "{ended:?}");
}

#[test]
fn a_signal_ends_the_wait_and_not_the_drain() {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let calls = MetricsEndpoint::with_calls(1);
        let mut tidegate = with_calls(&calls);
        let hook = tidegate.client(&["prestop"]);
        hook.stdout.wait_for("in-flight: ");
        hook.signal(signal);
        let ended = hook.end();
        assert_eq!(ended.code(), 1, "{ended:?}");
        assert_eq!(
            ended.stderr,
            format!("tidegate: prestop: {signal}: no longer waiting; the drain goes on\n")
        );
        assert_eq!(tidegate.status()["phase"], "in-flight");
        calls.set_calls(0);
        assert_eq!(tidegate.wait().code(), TOLD);
    }
}

#[test]
fn hurry_skips_the_waits_for_those_who_wait_too() {
    let calls = MetricsEndpoint::with_calls(1);
    let mut tidegate = with_calls(&calls);
    let hook = tidegate.client(&["prestop"]);
    hook.stdout.wait_for("in-flight: ");
    assert_eq!(
        tidegate.ask(&["hurry"]),
        "hurried: the program has its stop signal\n"
    );
    assert!(hook.end().stdout.contains("over: hurried, "));
    assert_eq!(tidegate.wait().code(), TOLD);
    assert_eq!(tidegate.termination().verdict(), "hurried");
}

#[test]
fn nobody_to_ask_is_one_line() {
    let room = tempfile::tempdir().expect("a directory");
    let socket = room.path().join("admin.sock");
    for command in ["prestop", "drain", "resume", "reset", "hurry", "status"] {
        let ended = Client::at(&socket, &[command]).end();
        assert_eq!(ended.code(), 125, "{ended:?}");
        assert_eq!(ended.stdout, "");
        assert_eq!(
            ended.stderr,
            format!(
                "tidegate: no tidegate found at {}: is it running, here and as this user? {SOCKET} says where else its socket is\n",
                socket.display()
            )
        );
    }
    let ended = Client::at("off", &["status"]).end();
    assert_eq!(
        (ended.code(), ended.stderr.lines().count()),
        (125, 1),
        "{ended:?}"
    );
    let ended = Client::at("admin.sock", &["status"]).end();
    assert_eq!(
        (ended.code(), ended.stderr.lines().count()),
        (125, 1),
        "{ended:?}"
    );
}

/// Runs a command on a pseudo-terminal and prints what it wrote there, escaped, in one line.
const ON_A_TERMINAL: &str = r#"
import os, pty, sys
pid, fd = pty.fork()
if pid == 0: os.execvp(sys.argv[1], sys.argv[1:])
said = b""
while True:
    try: chunk = os.read(fd, 4096)
    except OSError: break
    if not chunk: break
    said += chunk
    print(ascii(said.decode()), flush=True)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"#;

fn on_a_terminal(tidegate: &Running, words: &[&str], environment: &[(&str, &str)]) -> Client {
    eventually("the admin socket", || tidegate.socket().exists().then_some(()));
    let mut command = Command::new(python());
    command
        .args(["-I", "-c", ON_A_TERMINAL])
        .arg(std::env::var_os("TIDEGATE_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_tidegate").into()))
        .args(words)
        .env_remove("NO_COLOR")
        .env("TERM", "xterm")
        .env(SOCKET, tidegate.socket())
        .envs(environment.iter().copied());
    Client::start(command)
}

#[test]
fn on_a_terminal_there_is_a_live_line() {
    let calls = MetricsEndpoint::with_calls(2);
    let mut tidegate = with_calls(&calls);
    let hook = on_a_terminal(&tidegate, &["prestop"], &[]);
    hook.stdout.wait_for("in-flight: 2 calls under way");
    let drawn = hook.stdout.so_far().last().expect("a line").text.clone();
    // Drawn over, in colour, with the time that is left.
    assert!(
        drawn.contains("\\r\\x1b[2K") && drawn.contains("\\x1b[36m"),
        "{drawn}"
    );
    assert!(drawn.contains("s left"), "{drawn}");
    calls.set_calls(0);
    let ended = hook.end();
    assert_eq!(ended.code(), 0, "{ended:?}");
    let last = ended.stdout.lines().last().expect("a line");
    assert!(
        last.contains("\\r\\x1b[2Kover: drained, the program has its stop signal\\r\\n"),
        "{last}"
    );
    assert_eq!(tidegate.wait_within(PATIENCE).code(), TOLD);
}

#[test]
fn a_watch_on_a_terminal_leaves_the_verdict_behind() {
    let mut tidegate = Tidegate::wrapping(telling(&[]))
        .config(ROOMY.unmeasured())
        .start();
    tidegate.child();
    let watch = on_a_terminal(&tidegate, &["status", "--watch"], &[]);
    watch.stdout.wait_for("serving");
    tidegate.signal(Signal::SIGTERM);
    assert_eq!(tidegate.wait().code(), TOLD);
    let ended = watch.end();
    assert_eq!(ended.code(), 0, "{ended:?}");
    let said: String = ended
        .stdout
        .lines()
        .map(|chunk| chunk.trim_matches('\''))
        .collect();
    let left = "over: unmeasured, the program exited with 3\\r\\ntidegate is gone\\r\\n";
    assert!(said.ends_with(left), "{said}");
}

#[test]
fn no_color_is_no_colour() {
    let mut tidegate = Tidegate::wrapping(telling(&[]))
        .config(ROOMY.unmeasured())
        .start();
    tidegate.child();
    let ended = on_a_terminal(&tidegate, &["prestop"], &[("NO_COLOR", "1")]).end();
    assert_eq!(ended.code(), 0, "{ended:?}");
    assert!(ended.stdout.contains("propagation: "), "{ended:?}");
    assert!(!ended.stdout.contains("\\x1b[36m"), "{ended:?}");
    assert_eq!(tidegate.wait().code(), TOLD);
}
