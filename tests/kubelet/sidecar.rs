//! tidegate in a container beside the program.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use crate::pod::{App, Container, Hook, Kind, restart, stop_pod};
use crate::support::children::TOLD;
use crate::support::config::{LONG, ROOMY, TIGHT, Timing};
use crate::support::http::get;
use crate::support::metrics_endpoint::MetricsEndpoint;
use crate::support::patience::eventually;
use crate::support::tidegate::Running;
use crate::support::{Signal, Tidegate, ports};
use crate::wrap::own_address;

/// A program that listens, and a sidecar beside it.
pub struct Pod {
    pub app: App,
    pub tidegate: Running,
    pub app_address: SocketAddr,
    hook: SocketAddr,
}

impl Pod {
    /// With a sidecar that knows the program by its port.
    pub fn with_target(timing: &Timing, calls: &MetricsEndpoint, options: &[&str], more: &str) -> Self {
        let address = ports::free();
        let more = format!("target: {{ports: [{}]}}\n{more}", address.port());
        Self::start(timing, calls, address, options, &more)
    }

    /// With a sidecar that cannot reach it.
    pub fn out_of_reach(timing: &Timing, calls: &MetricsEndpoint) -> Self {
        Self::start(timing, calls, ports::free(), &[], "")
    }

    fn start(
        timing: &Timing,
        calls: &MetricsEndpoint,
        app_address: SocketAddr,
        options: &[&str],
        more: &str,
    ) -> Self {
        let hook = SocketAddr::from((own_address(), ports::free().port()));
        let app = start_app(app_address, options);
        let config = format!(
            "{}{more}lifecycle: {{listen: '{hook}'}}\n",
            timing.measured(calls)
        );
        let tidegate = Tidegate::sidecar().config(config).start();
        tidegate.wait_for_phase("serving");
        let pod = Self {
            app,
            tidegate,
            app_address,
            hook,
        };
        if more.contains("target:") {
            pod.wait_until_held();
        }
        pod
    }

    pub fn wait_until_held(&self) {
        let pid = self.app.pid();
        eventually("the program, found", || {
            (self.tidegate.status()["child"]["pid"] == pid).then_some(())
        });
    }

    pub fn app_container(&self) -> Container {
        Container::main(self.app.pid(), Hook::HttpGet(self.hook, "/prestop"))
    }

    fn sidecar(&self, kind: Kind) -> Container {
        Container {
            kind,
            ..Container::main(self.tidegate.pid(), Hook::None)
        }
    }

    fn readyz(&self) -> u16 {
        get(self.tidegate.health(), "/readyz")
            .expect("health answers")
            .status
    }
}

pub fn start_app(address: SocketAddr, options: &[&str]) -> App {
    let address = address.to_string();
    let mut all = vec!["--listen", &address];
    all.extend(options);
    App::telling(&all)
}

#[test]
fn a_native_sidecar_drains_by_the_hook_and_survives_until_its_own_late_signal() {
    let calls = MetricsEndpoint::with_calls(1);
    let mut pod = Pod::out_of_reach(&ROOMY, &calls);
    let containers = [pod.app_container(), Container::native_sidecar(pod.tidegate.pid())];
    let kubelet = thread::spawn(move || stop_pod(ROOMY.grace, &containers));
    pod.tidegate.wait_for_phase("in-flight");
    assert_eq!(pod.app.asked(), [""; 0]);
    calls.set_calls(0);
    let stopped = kubelet.join().expect("the kubelet");
    let (app, sidecar) = (&stopped[0], &stopped[1]);
    assert!(
        app.hook_said
            .ends_with("over: drained, the program is left to the kubelet\n"),
        "{app:?}"
    );
    assert!(app.told > app.hook_ended && !app.killed, "{app:?}");
    assert_eq!(pod.app.asked(), ["signal SIGTERM"]);
    assert!(sidecar.told >= app.gone && !sidecar.killed, "{stopped:?}");
    assert_eq!(pod.tidegate.wait().code(), 0);
    let report = pod.tidegate.termination();
    assert_eq!((report.verdict(), report.text("trigger")), ("drained", "preStop"));
}

#[test]
fn with_a_target_the_program_is_stopped_inside_the_budget_and_told_once() {
    let calls = MetricsEndpoint::with_calls(1);
    let mut pod = Pod::with_target(&ROOMY, &calls, &["--linger", "0.3"], "");
    let containers = [pod.app_container(), pod.sidecar(Kind::NativeSidecar)];
    let kubelet = thread::spawn(move || stop_pod(ROOMY.grace, &containers));
    pod.tidegate.wait_for_phase("in-flight");
    calls.set_calls(0);
    let stopped = kubelet.join().expect("the kubelet");
    // The hook was answered when the program was gone: the kubelet's own signal met nobody.
    assert!(
        stopped[0]
            .hook_said
            .ends_with("over: drained, the program has ended\n"),
        "{stopped:?}"
    );
    assert_eq!(pod.app.end().code(), Some(TOLD));
    assert_eq!(pod.app.asked(), ["signal SIGTERM"]);
    assert!(stopped.iter().all(|one| !one.killed), "{stopped:?}");
    assert_eq!(pod.tidegate.wait().code(), 0);
}

#[test]
fn a_target_that_is_deaf_has_sigkill_before_the_deadline() {
    let calls = MetricsEndpoint::with_calls(0);
    let mut pod = Pod::with_target(&ROOMY, &calls, &["--deaf"], "");
    let containers = [pod.app_container(), pod.sidecar(Kind::NativeSidecar)];
    let stopped = stop_pod(ROOMY.grace, &containers);
    assert!(pod.app.was_killed());
    // By us, not by the kubelet.
    assert!(!stopped[0].killed, "{stopped:?}");
    assert!(
        stopped[0].hook_ended >= Some(ROOMY.budget() - ROOMY.kill_wait),
        "{stopped:?}"
    );
    assert_eq!(pod.tidegate.wait().code(), 0);
    let report = pod.tidegate.termination();
    assert_eq!(report.0["child"]["killedByDeadline"], true, "{report:?}");
}

#[test]
fn a_plain_containers_own_signal_is_not_its_end_while_the_hook_is_draining() {
    let calls = MetricsEndpoint::with_calls(1);
    let mut pod = Pod::out_of_reach(&ROOMY, &calls);
    let containers = [pod.app_container(), pod.sidecar(Kind::Main)];
    let kubelet = thread::spawn(move || stop_pod(ROOMY.grace, &containers));
    pod.tidegate.wait_for_phase("in-flight");
    // Its own signal came first, perhaps.
    pod.tidegate.stderr.wait_for("asked: prestop");
    assert_eq!(pod.readyz(), 503);
    assert_eq!(pod.app.asked(), [""; 0]);
    calls.set_calls(0);
    let stopped = kubelet.join().expect("the kubelet");
    assert!(stopped.iter().all(|one| !one.killed), "{stopped:?}");
    assert!(stopped[0].hook_said.contains("over: drained"), "{stopped:?}");
    assert_eq!(pod.tidegate.wait().code(), 0);
    assert_eq!(pod.app.asked(), ["signal SIGTERM"]);
}

#[test]
fn its_own_signal_alone_drains_and_ends_it() {
    let calls = MetricsEndpoint::with_calls(1);
    let mut pod = Pod::with_target(&ROOMY, &calls, &[], "");
    pod.tidegate.signal(Signal::SIGTERM);
    pod.tidegate.wait_for_phase("in-flight");
    calls.set_calls(0);
    assert_eq!(pod.tidegate.wait().code(), 0);
    assert_eq!(pod.app.end().code(), Some(TOLD));
    assert_eq!(pod.tidegate.termination().text("trigger"), "SIGTERM");
}

#[test]
fn after_a_liveness_restart_the_drain_is_undone_when_the_program_is_back() {
    let calls = MetricsEndpoint::with_calls(0);
    let directory = tempfile::TempDir::new().expect("a directory");
    let log = directory.path().join("hooks");
    let note = |word: &str| {
        format!(
            "{{exec: {{command: [sh, -c, 'echo {word} >>{}']}}}}",
            log.display()
        )
    };
    let hooks = format!(
        "hooks: {{onDrain: [{}], onResume: [{}]}}\n",
        note("left"),
        note("back")
    );
    // Were it undone by the clock, this would last a minute.
    let mut pod = Pod::with_target(&LONG, &calls, &[], &hooks);
    let stopped = restart(LONG.grace, &pod.app_container());
    assert!(!stopped.killed, "{stopped:?}");
    assert_eq!(pod.readyz(), 503);
    pod.app.end();
    pod.app = start_app(pod.app_address, &[]);
    eventually("SERVING again", || (pod.readyz() == 200).then_some(()));
    let status = pod.tidegate.status();
    assert_eq!(status["phase"], "serving");
    assert!(status["child"]["end"].is_null(), "it is the next one's: {status}");
    eventually("the hooks", || {
        let said = std::fs::read_to_string(&log).unwrap_or_default();
        (said == "left\nback\n").then_some(())
    });
    // And the next stop is a drain like the first.
    pod.wait_until_held();
    let containers = [pod.app_container(), pod.sidecar(Kind::NativeSidecar)];
    let stopped = stop_pod(LONG.grace, &containers);
    assert!(
        stopped[0]
            .hook_said
            .contains("over: drained, the program has ended"),
        "{stopped:?}"
    );
    assert_eq!(pod.tidegate.wait().code(), 0);
}

#[test]
fn a_drain_is_undone_at_the_end_of_the_grace_period_and_not_before() {
    let calls = MetricsEndpoint::with_calls(0);
    let mut pod = Pod::out_of_reach(&TIGHT, &calls);
    let begun = Instant::now();
    let stopped = restart(TIGHT.grace, &pod.app_container());
    assert!(stopped.hook_ended < Some(TIGHT.grace), "{stopped:?}");
    eventually("SERVING again", || (pod.readyz() == 200).then_some(()));
    assert!(begun.elapsed() >= TIGHT.grace);
    pod.app.end();
    pod.tidegate.signal(Signal::SIGTERM);
    assert_eq!(pod.tidegate.wait().code(), 0);
}

#[test]
fn a_program_that_crashes_while_it_serves_is_no_drain_and_not_the_end() {
    let calls = MetricsEndpoint::with_calls(0);
    let mut pod = Pod::with_target(&LONG, &calls, &[], "");
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pod.app.pid()), Signal::SIGUSR2).expect("sent");
    pod.app.end();
    pod.tidegate.stderr.wait_for("it has ended");
    assert_eq!(pod.tidegate.status()["phase"], "serving");
    assert!(pod.tidegate.poll_exit().is_none());
    pod.app = start_app(pod.app_address, &[]);
    pod.wait_until_held();
}

#[test]
fn when_the_program_is_gone_already_the_late_signal_leaves_the_registry_and_ends_it_in_time() {
    let calls = MetricsEndpoint::with_calls(1);
    let directory = tempfile::TempDir::new().expect("a directory");
    let left = directory.path().join("left");
    let hook = format!(
        "hooks: {{onDrain: [{{exec: {{command: [touch, {}]}}}}]}}\n",
        left.display()
    );
    let mut pod = Pod::with_target(&LONG, &calls, &[], &hook);
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pod.app.pid()), Signal::SIGUSR2).expect("sent");
    pod.app.end();
    pod.tidegate.stderr.wait_for("it has ended");
    let stopped = stop_pod(Duration::from_secs(30), &[pod.sidecar(Kind::NativeSidecar)]);
    assert!(stopped[0].gone < Some(Duration::from_secs(10)), "{stopped:?}");
    assert_eq!(pod.tidegate.wait().code(), 0);
    assert!(left.exists());
    assert_eq!(pod.tidegate.termination().verdict(), "child-exited");
}

#[test]
fn a_program_that_dies_in_a_drain_is_not_waited_for() {
    let calls = MetricsEndpoint::with_calls(1);
    let mut pod = Pod::with_target(&LONG, &calls, &[], "");
    let container = pod.app_container();
    let kubelet = thread::spawn(move || stop_pod(LONG.grace, &[container]));
    pod.tidegate.wait_for_phase("in-flight");
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pod.app.pid()), Signal::SIGUSR2).expect("sent");
    pod.app.end();
    let stopped = kubelet.join().expect("the kubelet");
    assert!(
        stopped[0]
            .hook_said
            .contains("over: child-exited, the program has ended"),
        "{stopped:?}"
    );
    pod.tidegate.signal(Signal::SIGTERM);
    assert_eq!(pod.tidegate.wait().code(), 0);
}

#[test]
fn a_hold_is_undone_by_resume_and_the_sidecar_sleeps_while_the_program_serves() {
    let calls = MetricsEndpoint::with_calls(0);
    let mut pod = Pod::with_target(&ROOMY, &calls, &[], "");
    pod.tidegate.ask(&["drain"]);
    assert_eq!(pod.readyz(), 503);
    pod.tidegate.ask(&["resume"]);
    assert_eq!(pod.readyz(), 200);
    assert_eq!(pod.app.asked(), [""; 0]);
    assert!(pod.tidegate.is_still(), "it wakes up while the program is held");
    pod.tidegate.signal(Signal::SIGTERM);
    assert_eq!(pod.tidegate.wait().code(), 0);
}

#[test]
fn signals_that_are_no_triggers_go_to_nobody() {
    let calls = MetricsEndpoint::with_calls(0);
    let mut pod = Pod::with_target(&ROOMY, &calls, &[], "");
    pod.tidegate.signal(Signal::SIGHUP);
    pod.tidegate.signal(Signal::SIGUSR1);
    pod.tidegate.signal(Signal::SIGTERM);
    assert_eq!(pod.tidegate.wait().code(), 0);
    pod.app.end();
    assert_eq!(pod.app.asked(), ["signal SIGTERM"]);
}
