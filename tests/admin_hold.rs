//! `tidegate drain` and `resume`: out of traffic for maintenance, and back.

mod support;

use std::time::{Duration, Instant};

use support::children::{TOLD, telling};
use support::config::{LONG, ROOMY, Timing};
use support::grpc::{ServingStatus, Watch};
use support::metrics_endpoint::MetricsEndpoint;
use support::patience::eventually;
use support::{Signal, Tidegate};

#[test]
fn ten_holds_are_ten_times_not_serving_and_serving() {
    let mut tidegate = Tidegate::wrapping(telling(&[]))
        .config(ROOMY.unmeasured())
        .start();
    tidegate.child();
    let watch = Watch::open(tidegate.health(), "");
    watch.wait_for(ServingStatus::Serving);
    for _ in 0..10 {
        assert!(tidegate.ask(&["drain"]).starts_with("held: "));
        assert_eq!(watch.next().what.expect("a status"), ServingStatus::NotServing);
        assert_eq!(tidegate.status()["phase"], "held");
        assert!(tidegate.ask(&["resume"]).starts_with("resumed: "));
        assert_eq!(watch.next().what.expect("a status"), ServingStatus::Serving);
    }
    assert_eq!(
        tidegate.stdout.with("signal ").len(),
        0,
        "the program knows of nothing"
    );
    tidegate.signal(Signal::SIGTERM);
    assert_eq!(tidegate.wait().code(), TOLD);
}

#[test]
fn a_hold_has_no_deadline_and_a_second_one_changes_nothing() {
    let mut tidegate = Tidegate::wrapping(telling(&[]))
        .config(ROOMY.unmeasured())
        .start();
    tidegate.child();
    tidegate.ask(&["drain"]);
    let held = tidegate.status()["heldMillis"].as_u64().expect("it is held");
    assert_eq!(tidegate.ask(&["drain"]), "held already\n");
    let status = tidegate.status();
    assert!(status["heldMillis"].as_u64().expect("it is held") >= held);
    assert!(status["timeLeftMillis"].is_null());
    assert_eq!(status["services"][""], "NOT_SERVING");
    assert_eq!(status["services"]["liveness"], "SERVING");
    tidegate.signal(Signal::SIGTERM);
    assert_eq!(tidegate.wait().code(), TOLD);
}

#[test]
fn the_propagation_spent_in_a_hold_is_not_waited_for_again() {
    let timing = Timing {
        propagation: Duration::from_secs(3),
        ..LONG
    };
    let mut tidegate = Tidegate::wrapping(telling(&[]))
        .config(timing.unmeasured())
        .start();
    tidegate.child();
    tidegate.ask(&["drain"]);
    eventually("a hold as long as the window", || {
        let held = tidegate.status()["heldMillis"].as_u64()?;
        (held >= timing.propagation.as_millis() as u64 + 100).then_some(())
    });
    let trigger = tidegate.signal(Signal::SIGTERM);
    let stopped = tidegate.stdout.wait_for("signal SIGTERM").at;
    assert!(stopped - trigger < timing.propagation, "{:?}", stopped - trigger);
    assert_eq!(tidegate.wait().code(), TOLD);
    let report = tidegate.termination();
    assert!(report.phase("propagation") < timing.propagation.as_millis() as f64);
}

#[test]
fn the_propagation_not_spent_in_a_hold_is_waited_for() {
    let timing = Timing {
        propagation: Duration::from_secs(2),
        ..LONG
    };
    let mut tidegate = Tidegate::wrapping(telling(&[]))
        .config(timing.unmeasured())
        .start();
    tidegate.child();
    let held = Instant::now();
    tidegate.ask(&["drain"]);
    tidegate.signal(Signal::SIGTERM);
    let stopped = tidegate.stdout.wait_for("signal SIGTERM").at;
    assert!(stopped >= held + timing.propagation, "{:?}", stopped - held);
    assert_eq!(tidegate.wait().code(), TOLD);
}

#[test]
fn a_stop_is_not_undone_nor_held_in_any_phase() {
    let timing = Timing {
        propagation: Duration::from_secs(2),
        stop_timeout: Duration::from_secs(3),
        ..LONG
    };
    let calls = MetricsEndpoint::with_calls(1);
    let mut tidegate = Tidegate::wrapping(telling(&["--linger", "2"]))
        .config(timing.measured(&calls))
        .start();
    tidegate.child();
    assert_eq!(
        tidegate.refused(&["resume"]),
        "tidegate: resume: nothing is held\n"
    );
    assert!(tidegate.refused(&["hurry"]).contains("no stop has begun"));
    tidegate.signal(Signal::SIGTERM);
    for phase in ["propagation", "in-flight", "stop"] {
        tidegate.wait_for_phase(phase);
        for order in ["resume", "drain"] {
            assert_eq!(
                tidegate.refused(&[order]),
                format!("tidegate: {order}: a stop has begun ({phase}) and is not undone\n")
            );
        }
        if phase == "in-flight" {
            calls.set_calls(0);
        }
    }
    assert_eq!(tidegate.wait().code(), TOLD);
    assert_eq!(tidegate.termination().verdict(), "drained");
}

#[test]
fn a_stop_is_not_undone_while_leftovers_end() {
    let leave =
        "(trap '' TERM; exec sleep 60) & trap 'exit 3' TERM; echo ready $$; while :; do sleep 0.1; done";
    let timing = Timing {
        kill_wait: Duration::from_secs(3),
        ..LONG
    };
    let mut tidegate = Tidegate::wrapping(["sh", "-c", leave])
        .config(timing.unmeasured())
        .start();
    tidegate.child();
    tidegate.signal(Signal::SIGTERM);
    tidegate.wait_for_phase("leftovers");
    for order in ["resume", "drain"] {
        assert_eq!(
            tidegate.refused(&[order]),
            format!("tidegate: {order}: a stop has begun (leftovers) and is not undone\n")
        );
    }
    assert_eq!(tidegate.wait().code(), TOLD);
}

#[test]
fn a_hold_shows_the_calls_running_dry() {
    let calls = MetricsEndpoint::with_calls(2);
    let tidegate = Tidegate::wrapping(telling(&[]))
        .config(LONG.measured(&calls))
        .start();
    tidegate.child();
    let idle = calls.polls().len();
    assert_eq!(idle, 0, "nobody is polled before anybody asks");
    assert_eq!(tidegate.status()["inFlight"], 2);
    tidegate.ask(&["drain"]);
    let watch = tidegate.client(&["status", "--watch"]);
    watch.stdout.wait_for("held: 2 calls under way");
    calls.set_calls(0);
    watch.stdout.wait_for("held: 0 calls under way");
    drop(watch);
    tidegate.ask(&["resume"]);
    // Who has left is not polled for: at most the look that was under way comes in.
    let polls = calls.polls().len();
    std::thread::sleep(Duration::from_millis(2500));
    assert!(calls.polls().len() <= polls + 1);
}

#[test]
fn prestop_ends_a_hold() {
    let mut tidegate = Tidegate::wrapping(telling(&[]))
        .config(ROOMY.unmeasured())
        .start();
    tidegate.child();
    tidegate.ask(&["drain"]);
    assert!(tidegate.ask(&["prestop"]).contains("over: "));
    assert_eq!(tidegate.wait().code(), TOLD);
    assert_eq!(tidegate.termination().text("trigger"), "preStop");
}

#[test]
fn reset_has_nothing_to_do_where_nothing_is_latched() {
    let tidegate = Tidegate::wrapping(telling(&[]))
        .config(ROOMY.unmeasured())
        .start();
    tidegate.child();
    assert_eq!(tidegate.ask(&["reset"]), "nothing is latched\n");
    assert_eq!(tidegate.status()["services"][""], "SERVING");
}
