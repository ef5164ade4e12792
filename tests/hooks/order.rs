//! When hooks run: at once, once, in order, and never backwards.

use std::time::{Duration, Instant};

use crate::registry::{Asked, Registry, Turn, fine};
use crate::support::children::{TOLD, telling};
use crate::support::config::{ROOMY, Timing};
use crate::support::patience::eventually;
use crate::support::{Running, Signal, Tidegate};
use crate::{WIDE, hook, settled, up};

fn call(registry: &Registry, path: &str) -> String {
    format!("{{http: {{url: '{}/{path}'}}}}", registry.url())
}

#[test]
fn the_registry_is_left_then_the_window_passes_then_the_stop_signal_comes() {
    let registry = Registry::start(|_, _| fine());
    let mut tidegate = up(&call(&registry, "leave"), "");
    let begun = tidegate.signal(Signal::SIGTERM);
    let left = registry.wait_for(1).at;
    let stopped = tidegate.stdout.wait_for("signal SIGTERM").at;
    assert!(left >= begun && left < stopped);
    assert!(stopped - begun >= WIDE.propagation, "{:?}", stopped - begun);
    assert_eq!(tidegate.wait().code(), TOLD);
    assert_eq!(registry.lines(), ["PUT /leave"]);
}

#[test]
fn hooks_run_side_by_side() {
    // The first is never answered, and still tried when the second is done.
    let (one, two) = (Registry::start(|_, _| Turn::Hang), Registry::start(|_, _| fine()));
    let patient = format!("{{http: {{url: '{}', timeout: 20s}}}}", one.url());
    let tidegate = up(&format!("{patient}, {}", call(&two, "")), "");
    tidegate.ask(&["drain"]);
    eventually("the second is done", || {
        (hook(&tidegate, 1)["state"] == "done").then_some(())
    });
    one.wait_for(1);
    assert_eq!(hook(&tidegate, 0)["state"], "running");
}

#[test]
fn joined_drains_leave_once() {
    let registry = Registry::start(|_, _| fine());
    let mut tidegate = up(&call(&registry, "leave"), &call(&registry, "back"));
    tidegate.ask(&["drain"]);
    tidegate.ask(&["drain"]);
    let hook = tidegate.client(&["prestop"]);
    tidegate.wait_for_phase("propagation");
    tidegate.signal(Signal::SIGTERM);
    tidegate.signal(Signal::SIGTERM);
    assert_eq!(hook.end().code(), 0);
    assert_eq!(tidegate.wait().code(), TOLD);
    assert_eq!(registry.lines(), ["PUT /leave"]);
}

#[test]
fn ten_holds_leave_and_come_back_ten_times() {
    let registry = Registry::start(|_, _| fine());
    let tidegate = up(&call(&registry, "leave"), &call(&registry, "back"));
    for turn in 1..=10 {
        tidegate.ask(&["drain"]);
        assert_eq!(registry.wait_for(2 * turn - 1).line, "PUT /leave");
        tidegate.ask(&["resume"]);
        assert_eq!(registry.wait_for(2 * turn).line, "PUT /back");
    }
    assert_eq!(registry.asked().len(), 20);
}

#[test]
fn a_stop_during_a_resume_leaves_it_out() {
    // Coming back takes its time, and fails: it is neither overtaken nor tried again after the leaving.
    let registry = Registry::start(|asked: &Asked, _| match asked.line.as_str() {
        "PUT /back" => Turn::Late(Duration::from_millis(500), 500),
        _ => fine(),
    });
    let mut tidegate = up(&call(&registry, "leave"), &call(&registry, "back"));
    tidegate.ask(&["drain"]);
    registry.wait_for(1);
    tidegate.ask(&["resume"]);
    let back = registry.wait_for(2);
    assert_eq!(back.line, "PUT /back");
    tidegate.signal(Signal::SIGTERM);
    let left = registry.wait_for(3);
    assert_eq!(left.line, "PUT /leave");
    assert!(
        left.at - back.at >= Duration::from_millis(500),
        "not before that was answered"
    );
    assert_eq!(tidegate.wait().code(), TOLD);
    assert_eq!(registry.lines(), ["PUT /leave", "PUT /back", "PUT /leave"]);
}

#[test]
fn what_came_of_a_resume_is_not_taken_for_the_leaving_that_overtook_it() {
    let registry = Registry::start(|asked: &Asked, before| match (asked.line.as_str(), before) {
        ("PUT /back", _) => Turn::Late(Duration::from_millis(300), 200),
        ("PUT /leave", 0) => fine(),
        _ => Turn::Hang,
    });
    let patient = format!("{{http: {{url: '{}/leave', timeout: 60s}}}}", registry.url());
    let tidegate = up(&patient, &call(&registry, "back"));
    tidegate.ask(&["drain"]);
    settled(&tidegate);
    tidegate.ask(&["resume"]);
    registry.wait_for(2);
    tidegate.ask(&["drain"]);
    // Only now is it asked, when the resume has been answered.
    registry.wait_for(3);
    let hook = hook(&tidegate, 0);
    assert_eq!(
        (&hook["on"], &hook["state"]),
        (&"onDrain".into(), &"running".into())
    );
}

#[test]
fn every_hook_keeps_its_place_whichever_ends_first() {
    let slow = Registry::start(|_, _| Turn::Late(Duration::from_millis(300), 500));
    let quick = Registry::start(|_, _| fine());
    let tidegate = up(
        &format!(
            "{{http: {{url: '{}/slow', retries: 0}}}}, {}",
            slow.url(),
            call(&quick, "quick")
        ),
        "",
    );
    for _ in 0..2 {
        tidegate.ask(&["drain"]);
        settled(&tidegate);
        for (index, name, state) in [(0, "/slow", "failed"), (1, "/quick", "done")] {
            let hook = hook(&tidegate, index);
            assert!(
                hook["name"].as_str().is_some_and(|is| is.ends_with(name)),
                "{hook}"
            );
            assert_eq!(hook["state"], state, "{hook}");
        }
        tidegate.ask(&["resume"]);
    }
}

fn between(min: &str, max: &str, hooks: &str) -> Tidegate {
    let config = WIDE.unmeasured().replace(
        "propagation: 1000ms",
        &format!("propagation: {{min: {min}, max: {max}}}"),
    );
    Tidegate::wrapping(telling(&[])).config(format!("{config}hooks: {{onDrain: [{hooks}]}}\n"))
}

#[test]
fn the_window_between_min_and_max_waits_for_the_hooks() {
    let registry = Registry::start(|_, _| Turn::Late(Duration::from_millis(700), 200));
    let mut tidegate = between("100ms", "10s", &call(&registry, "leave")).start();
    tidegate.child();
    tidegate.signal(Signal::SIGTERM);
    assert_eq!(tidegate.wait().code(), TOLD);
    let window = tidegate.termination().phase("propagation");
    assert!((600.0..5000.0).contains(&window), "{window}");
}

#[test]
fn a_hook_that_failed_proves_nothing() {
    let registry = Registry::start(|_, _| Turn::Answer(500, String::new()));
    let hooks = format!("{{http: {{url: '{}', retries: 0}}}}", registry.url());
    let mut tidegate = between("100ms", "1500ms", &hooks).start();
    tidegate.child();
    tidegate.signal(Signal::SIGTERM);
    assert_eq!(tidegate.wait().code(), TOLD);
    let window = tidegate.termination().phase("propagation");
    assert!(window >= 1400.0, "{window}");
}

#[test]
fn a_window_is_not_longer_for_a_hook_that_hangs() {
    let registry = Registry::start(|_, _| Turn::Hang);
    let hooks = format!("{{http: {{url: '{}', timeout: 20s}}}}", registry.url());
    let mut tidegate = Tidegate::wrapping(telling(&[]))
        .config(format!("{}hooks: {{onDrain: [{hooks}]}}\n", ROOMY.unmeasured()))
        .start();
    tidegate.child();
    let begun = tidegate.signal(Signal::SIGTERM);
    let stopped = tidegate.stdout.wait_for("signal SIGTERM").at;
    assert!(stopped - begun < ROOMY.bound(), "{:?}", stopped - begun);
    // And the run is over inside its budget, however long the hook would take.
    let exit = tidegate.wait();
    let took = exit.at - begun;
    assert!(
        took >= ROOMY.bound() && took < ROOMY.budget() + Duration::from_secs(1),
        "{took:?}"
    );
    assert_eq!(tidegate.termination().0["hooks"]["failed"], 1);
}

#[test]
fn a_program_that_is_gone_at_once_has_left_none_the_less() {
    let registry = Registry::start(|_, before| match before {
        0 => Turn::Drop,
        _ => Turn::Late(Duration::from_millis(300), 200),
    });
    let mut tidegate = up(&call(&registry, "leave"), "");
    tidegate.signal(Signal::SIGTERM);
    registry.wait_for(1);
    tidegate.signal(Signal::SIGUSR2);
    tidegate.wait();
    assert_eq!(tidegate.termination().verdict(), "child-exited");
    assert_eq!(tidegate.termination().0["hooks"]["done"], 1);
}

#[test]
fn a_program_that_ends_by_itself_calls_no_hook() {
    let registry = Registry::start(|_, _| fine());
    let mut tidegate = up(&call(&registry, "leave"), "");
    tidegate.signal(Signal::SIGUSR2);
    tidegate.wait();
    assert!(registry.asked().is_empty());
}

#[test]
fn what_failed_at_the_start_is_not_said_of_a_leaving() {
    let registry = Registry::start(|_, _| Turn::Answer(500, String::new()));
    let hook = format!(
        "{{consul: {{address: '{}', serviceId: web, retries: 0}}}}",
        registry.url()
    );
    let mut tidegate = up(&hook, "");
    registry.wait_for(1);
    settled(&tidegate);
    let told = tidegate.ask(&["status"]);
    assert!(told.contains("consul web, at the start: failed"), "{told}");
    tidegate.signal(Signal::SIGUSR2);
    tidegate.wait();
    let said = tidegate.termination();
    assert_eq!(said.0["hooks"]["failed"], 0);
    assert!(!said.text("message").contains("registry"), "{said:?}");
}

#[test]
fn status_shows_a_hook_that_runs_and_why_it_has_failed_so_far() {
    let registry = Registry::start(|_, before| match before {
        0 => Turn::Answer(503, String::new()),
        _ => Turn::Hang,
    });
    let tidegate = up(&call(&registry, "leave"), "");
    let begun = Instant::now();
    tidegate.ask(&["drain"]);
    let running = eventually("a second try", || {
        let hook = hook(&tidegate, 0);
        (hook["tries"] == 1 && begun.elapsed() > Duration::ZERO).then_some(hook)
    });
    assert_eq!(running["state"], "running");
    assert!(
        running["why"].as_str().is_some_and(|why| why.contains("503")),
        "{running}"
    );
    assert!(
        running["name"]
            .as_str()
            .is_some_and(|name| name.starts_with("http PUT http://127."))
    );
}

#[test]
fn while_hooks_are_waited_for_everybody_is_answered_and_the_leftovers_keep_their_time() {
    // A budget of 8 s, half of it for the leftovers.
    let timing = Timing {
        grace: Duration::from_secs(10),
        kill_wait: Duration::from_secs(4),
        ..ROOMY
    };
    let registry = Registry::start(|_, _| Turn::Hang);
    let hooks = format!("{{http: {{url: '{}', timeout: 20s}}}}", registry.url());
    // It goes at once, and leaves somebody who takes a while to say goodbye.
    let program = "(trap 'sleep 0.3; echo goodbye; exit' TERM; while :; do sleep 0.05; done) & trap 'exit 3' USR2; echo up; while :; do sleep 0.05; done";
    let mut tidegate = Tidegate::wrapping(["/bin/sh", "-c", program])
        .config(format!("{}hooks: {{onDrain: [{hooks}]}}\n", timing.unmeasured()))
        .start();
    tidegate.stdout.wait_for("up");
    tidegate.wait_for_phase("serving");
    let begun = tidegate.signal(Signal::SIGTERM);
    registry.wait_for(1);
    tidegate.signal(Signal::SIGUSR2);
    tidegate.wait_for_phase("leftovers");
    assert_eq!(hook(&tidegate, 0)["state"], "running");
    assert!(tidegate.stdout.with("goodbye").is_empty());
    let exit = tidegate.wait();
    assert_eq!(exit.code(), 3);
    assert!(exit.at - begun >= timing.budget() - timing.kill_wait);
    assert_eq!(
        tidegate.stdout.to_the_end().last().map(|line| line.text.as_str()),
        Some("goodbye")
    );
    assert_eq!(tidegate.termination().0["hooks"]["failed"], 1);
}

#[test]
fn who_hurries_waits_for_no_hook() {
    let by_order: fn(&mut Running) =
        |tidegate| assert!(tidegate.ask(&["hurry"]).contains("no hook is waited for"));
    let by_interrupt: fn(&mut Running) = |tidegate| {
        tidegate.signal(Signal::SIGINT);
    };
    for hurry in [by_order, by_interrupt] {
        let registry = Registry::start(|_, _| Turn::Hang);
        let mut tidegate = up(
            &format!("{{http: {{url: '{}', timeout: 60s}}}}", registry.url()),
            "",
        );
        let begun = tidegate.signal(Signal::SIGINT);
        registry.wait_for(1);
        tidegate.signal(Signal::SIGUSR2);
        tidegate.wait_for_phase("leftovers");
        assert_eq!(hook(&tidegate, 0)["state"], "running");
        hurry(&mut tidegate);
        let exit = tidegate.wait();
        assert!(exit.at - begun < WIDE.budget() - WIDE.kill_wait - Duration::from_secs(2));
        assert_eq!(tidegate.termination().0["hooks"]["failed"], 1);
    }
}

#[test]
fn nothing_wakes_up_for_hooks_before_they_are_called() {
    // One that is called at the start, and has been.
    let registry = Registry::start(|_, _| Turn::Answer(200, "{}".into()));
    let hooks = "{http: {url: 'https://127.0.0.1:1/'}}, {exec: {command: [/bin/true]}}, {etcd: {address: 'http://127.0.0.1:1', key: a}}";
    let asked = format!("{{consul: {{address: '{}', serviceId: web}}}}", registry.url());
    let tidegate = up(&format!("{hooks}, {asked}"), hooks);
    registry.wait_for(1);
    settled(&tidegate);
    assert_eq!(
        tidegate.status()["hooks"].as_array().map(Vec::len),
        Some(1),
        "no other is called at the start"
    );
    assert!(tidegate.is_still(), "it wakes up");
}
