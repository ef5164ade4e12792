//! The drain, from the stop signal to the end: what comes, in which order, and when.

mod support;

use std::time::Duration;

use nix::sys::signal::kill;
use nix::unistd::Pid;

use support::children::{ASKED, TOLD, deaf, library, telling};
use support::config::{LONG, ROOMY, TIGHT, Timing};
use support::grpc::{self, ServingStatus, Watch};
use support::metrics_endpoint::{Answer, MetricsEndpoint};
use support::patience::best_of;
use support::processes::lives;
use support::{PATIENCE, Signal, Tidegate, http, ports};

/// What a scheduler may add to a wait on a machine with nothing else to do.
const HAND_OVER: Duration = Duration::from_millis(50);

#[test]
fn the_phases_come_in_their_order_and_no_stop_signal_while_a_call_is_under_way() {
    let calls = MetricsEndpoint::with_calls(2);
    let mut tidegate = Tidegate::wrapping(telling(&[]))
        .config(LONG.measured(&calls))
        .start();
    tidegate.child();
    let watch = Watch::open(tidegate.health(), "");
    watch.wait_for(ServingStatus::Serving);

    let trigger = tidegate.signal(Signal::SIGTERM);
    let told = watch.wait_for(ServingStatus::NotServing);
    assert!(told >= trigger);
    // Deep in the in-flight phase: five readings of two calls, and the child knows of nothing.
    calls.wait_for_polls_after(trigger + LONG.propagation, 5);
    assert_eq!(
        tidegate.stdout.with("signal ").len(),
        0,
        "a signal while calls are under way"
    );

    let over = calls.set_calls(0);
    let stopped = tidegate.stdout.wait_for("signal SIGTERM").at;
    assert!(
        stopped >= over + LONG.quiet,
        "stopped before the quiet period was over"
    );
    let exit = tidegate.wait();
    assert_eq!(exit.code(), TOLD);
    let report = tidegate.termination();
    assert_eq!(report.verdict(), "drained");
    assert!(
        report.phase("propagation") >= LONG.propagation.as_millis() as f64 - 1.0,
        "{report:?}"
    );
    assert!(
        report.phase("inFlight") >= LONG.quiet.as_millis() as f64 - 1.0,
        "{report:?}"
    );
}

#[test]
fn the_stop_signal_comes_soon_after_the_last_call() {
    // The poll that sees the last call's end is at most one interval away, and the quiet period starts there.
    let wanted = LONG.poll + LONG.quiet + HAND_OVER;
    let best = best_of(5, wanted, || {
        let calls = MetricsEndpoint::with_calls(1);
        let mut tidegate = Tidegate::wrapping(telling(&[]))
            .config(LONG.measured(&calls))
            .start();
        tidegate.child();
        let trigger = tidegate.signal(Signal::SIGTERM);
        calls.wait_for_polls_after(trigger + LONG.propagation, 2);
        let over = calls.set_calls(0);
        tidegate.stdout.wait_for("signal SIGTERM").at - over
    });
    assert!(
        best <= wanted,
        "the best of five took {best:?}, wanted {wanted:?}"
    );
}

#[test]
fn a_child_that_is_stopped_and_deaf_is_dead_within_the_budget() {
    let mut tidegate = Tidegate::wrapping(deaf()).config(TIGHT.unmeasured()).start();
    let child = tidegate.child();
    kill(Pid::from_raw(child), Signal::SIGSTOP).expect("the child is there");
    support::patience::eventually("the child stops", || {
        (support::processes::state(child) == Some('T')).then_some(())
    });
    let trigger = tidegate.signal(Signal::SIGTERM);
    let exit = tidegate.wait();
    assert_eq!(exit.code(), 128 + Signal::SIGKILL as i32);
    assert!(exit.at - trigger < TIGHT.budget());
    assert!(!lives(child), "the child outlived tidegate");
}

#[test]
fn repeated_terms_of_a_measured_drain_are_one_stop_signal() {
    let calls = MetricsEndpoint::with_calls(1);
    let mut tidegate = Tidegate::wrapping(telling(&["--linger", "0.5"]))
        .config(LONG.measured(&calls))
        .start();
    tidegate.child();
    let trigger = tidegate.signal(Signal::SIGTERM);
    tidegate.signal(Signal::SIGTERM);
    calls.wait_for_polls_after(trigger + LONG.propagation, 1);
    tidegate.signal(Signal::SIGTERM);
    calls.set_calls(0);
    tidegate.stdout.wait_for("signal SIGTERM");
    tidegate.signal(Signal::SIGTERM);
    assert_eq!(tidegate.wait().code(), TOLD);
    let lines = tidegate.stdout.to_the_end();
    let signals: Vec<_> = lines.into_iter().map(|line| line.text).skip(1).collect();
    assert_eq!(signals, ["signal SIGTERM", "signal SIGCONT"]);
}

#[test]
fn the_stop_signal_comes_once_and_sigcont_after_it() {
    let mut tidegate = Tidegate::wrapping(telling(&["--linger", "0.5"]))
        .config(ROOMY.unmeasured())
        .start();
    tidegate.child();
    tidegate.signal(Signal::SIGTERM);
    assert_eq!(tidegate.wait().code(), TOLD);
    let signals: Vec<_> = tidegate
        .stdout
        .to_the_end()
        .into_iter()
        .map(|line| line.text)
        .skip(1)
        .collect();
    assert_eq!(signals, ["signal SIGTERM", "signal SIGCONT"]);
}

#[test]
fn a_deaf_child_is_dead_and_tidegate_gone_before_four_fifths_of_the_grace_period() {
    let timing = Timing {
        kill_wait: Duration::from_secs(1),
        ..ROOMY
    };
    let mut tidegate = Tidegate::wrapping(deaf()).config(timing.unmeasured()).start();
    let child = tidegate.child();
    let trigger = tidegate.signal(Signal::SIGTERM);
    let exit = tidegate.wait();
    let took = exit.at - trigger;
    assert!(
        took < timing.budget(),
        "gone after {took:?}, the budget is {:?}",
        timing.budget()
    );
    // Asked first, and given its time: SIGKILL is for D − killWait.
    assert_eq!(tidegate.stdout.with("signal SIGTERM").len(), 1);
    assert!(
        took >= timing.budget() - timing.kill_wait,
        "killed too early, after {took:?}"
    );
    assert_eq!(exit.code(), 128 + Signal::SIGKILL as i32);
    assert!(!lives(child), "the child outlived tidegate");
}

#[test]
fn a_call_that_never_ends_does_not_move_the_bound() {
    let calls = MetricsEndpoint::with_calls(1);
    let mut tidegate = Tidegate::wrapping(telling(&[]))
        .config(TIGHT.measured(&calls))
        .start();
    tidegate.child();
    let trigger = tidegate.signal(Signal::SIGTERM);
    let stopped = tidegate.stdout.wait_for("signal SIGTERM").at;
    assert!(
        stopped >= trigger + TIGHT.bound(),
        "the stop signal came {:?} after the trigger",
        stopped - trigger
    );
    let exit = tidegate.wait();
    assert_eq!(exit.code(), TOLD);
    let report = tidegate.termination();
    assert_eq!(report.verdict(), "deadline");
    assert_eq!(report.number("inFlightAtStop"), 1.0);
}

#[test]
fn an_idle_pod_leaves_after_propagation_and_quiet() {
    let calls = MetricsEndpoint::with_calls(0);
    let mut tidegate = Tidegate::wrapping(telling(&[]))
        .config(LONG.measured(&calls))
        .start();
    tidegate.child();
    let trigger = tidegate.signal(Signal::SIGTERM);
    let stopped = tidegate.stdout.wait_for("signal SIGTERM").at - trigger;
    assert!(
        stopped >= LONG.propagation + LONG.quiet,
        "an idle pod still owes both, it took {stopped:?}"
    );
    assert!(stopped < LONG.bound() / 4, "an idle pod waited {stopped:?}");
    assert_eq!(tidegate.wait().code(), TOLD);
    assert_eq!(tidegate.termination().verdict(), "drained");
}

#[test]
fn a_rise_restarts_the_quiet_period() {
    let timing = Timing {
        quiet: Duration::from_secs(2),
        ..LONG
    };
    let calls = MetricsEndpoint::with_calls(0);
    let mut tidegate = Tidegate::wrapping(telling(&[]))
        .config(timing.measured(&calls))
        .start();
    tidegate.child();
    let trigger = tidegate.signal(Signal::SIGTERM);
    calls.wait_for_polls_after(trigger + timing.propagation, 2);
    let risen = calls.set_calls(1);
    calls.wait_for_polls_after(risen, 2);
    let over = calls.set_calls(0);
    let stopped = tidegate.stdout.wait_for("signal SIGTERM").at;
    assert!(
        stopped >= over + timing.quiet,
        "the quiet period was not begun again"
    );
}

#[test]
fn an_arrival_restarts_the_quiet_period_though_the_gauge_shows_none() {
    let timing = Timing {
        quiet: Duration::from_secs(1),
        ..LONG
    };
    let calls = MetricsEndpoint::start(begun(0));
    let source = format!(
        "prometheus: {{url: \"{}\", query: calls_in_flight, arrivals: calls_begun_total}}",
        calls.url()
    );
    let mut tidegate = Tidegate::wrapping(telling(&[]))
        .config(timing.with_source(&source))
        .start();
    tidegate.child();
    let trigger = tidegate.signal(Signal::SIGTERM);
    calls.wait_for_polls_after(trigger + timing.propagation, 1);
    // A load balancer that has not noticed: a short call now and then, never seen on the gauge.
    let mut last = trigger;
    for count in 1..=4 {
        last = calls.set(begun(count));
        calls.wait_for_polls_after(last, 3);
        assert_eq!(
            tidegate.stdout.with("signal ").len(),
            0,
            "stopped while calls still arrive"
        );
    }
    let stopped = tidegate.stdout.wait_for("signal SIGTERM").at;
    assert!(
        stopped >= last + timing.quiet,
        "the quiet period was not begun again"
    );
}

fn begun(count: u32) -> Answer {
    Answer::Text(format!("calls_in_flight 0\ncalls_begun_total {count}\n"))
}

#[test]
fn a_child_that_exits_as_the_drain_begins_ends_the_run_with_its_code() {
    let timing = Timing {
        propagation: Duration::from_secs(30),
        ..LONG
    };
    let mut tidegate = Tidegate::wrapping(telling(&[]))
        .config(timing.unmeasured())
        .start();
    let child = tidegate.child();
    // Both at once: whichever comes first, nothing is waited for.
    tidegate.signal(Signal::SIGTERM);
    ends_with_the_child(tidegate, child);
}

#[test]
fn a_child_that_exits_during_propagation_ends_the_run_with_its_code() {
    let timing = Timing {
        propagation: Duration::from_secs(30),
        ..LONG
    };
    let mut tidegate = Tidegate::wrapping(telling(&[]))
        .config(timing.unmeasured())
        .start();
    let child = tidegate.child();
    let watch = Watch::open(tidegate.health(), "");
    watch.wait_for(ServingStatus::Serving);
    tidegate.signal(Signal::SIGTERM);
    watch.wait_for(ServingStatus::NotServing);
    ends_with_the_child(tidegate, child);
}

#[test]
fn a_child_that_exits_during_in_flight_ends_the_run_with_its_code() {
    let calls = MetricsEndpoint::with_calls(1);
    let mut tidegate = Tidegate::wrapping(telling(&[]))
        .config(LONG.measured(&calls))
        .start();
    let child = tidegate.child();
    let trigger = tidegate.signal(Signal::SIGTERM);
    calls.wait_for_polls_after(trigger + LONG.propagation, 2);
    ends_with_the_child(tidegate, child);
}

#[test]
fn a_child_that_exits_between_stop_and_kill_ends_the_run_with_its_code() {
    let timing = Timing {
        stop_timeout: Duration::from_secs(40),
        ..LONG
    };
    let mut tidegate = Tidegate::wrapping(deaf()).config(timing.unmeasured()).start();
    let child = tidegate.child();
    tidegate.signal(Signal::SIGTERM);
    tidegate.stdout.wait_for("signal SIGTERM");
    ends_with_the_child(tidegate, child);
}

#[test]
fn a_child_that_exits_before_any_drain_ends_the_run_with_its_code() {
    let tidegate = Tidegate::wrapping(telling(&[])).config(LONG.unmeasured()).start();
    let child = tidegate.child();
    ends_with_the_child(tidegate, child);
}

/// Each of these drains has at least 30 s to go: whoever waits for a timer does not pass by luck.
fn ends_with_the_child(mut tidegate: support::Running, child: i32) {
    kill(Pid::from_raw(child), Signal::SIGUSR2).expect("the child is there");
    let asked = tidegate.stdout.wait_for("signal SIGUSR2").at;
    let exit = tidegate.wait();
    // "Within a second", and a second for a machine that is busy with the rest of the suite.
    assert!(
        exit.at - asked < Duration::from_secs(2),
        "the run ended {:?} after its child",
        exit.at - asked
    );
    assert_eq!(exit.code(), ASKED);
}

#[test]
fn a_stopped_child_wakes_to_die_well() {
    let mut tidegate = Tidegate::wrapping(telling(&[]))
        .config(ROOMY.unmeasured())
        .start();
    let child = tidegate.child();
    kill(Pid::from_raw(child), Signal::SIGSTOP).expect("the child is there");
    support::patience::eventually("the child stops", || {
        (support::processes::state(child) == Some('T')).then_some(())
    });
    let trigger = tidegate.signal(Signal::SIGTERM);
    let exit = tidegate.wait();
    assert_eq!(exit.code(), TOLD, "it was killed instead of woken");
    assert!(exit.at - trigger < ROOMY.budget());
}

#[test]
fn a_second_term_changes_nothing() {
    let calls = MetricsEndpoint::with_calls(1);
    let mut tidegate = Tidegate::wrapping(telling(&["--linger", "0.3"]))
        .config(LONG.measured(&calls))
        .start();
    tidegate.child();
    let trigger = tidegate.signal(Signal::SIGTERM);
    let again = tidegate.signal(Signal::SIGTERM);
    calls.wait_for_polls_after(trigger + LONG.propagation, 2);
    let third = tidegate.signal(Signal::SIGTERM);
    calls.wait_for_polls_after(third, 4);
    assert!(again >= trigger);
    assert_eq!(
        tidegate.stdout.with("signal ").len(),
        0,
        "a repeated SIGTERM reached the child"
    );
    let over = calls.set_calls(0);
    assert!(tidegate.stdout.wait_for("signal SIGTERM").at >= over + LONG.quiet);
    assert_eq!(tidegate.wait().code(), TOLD);
    tidegate.stdout.to_the_end();
    assert_eq!(tidegate.stdout.with("signal SIGTERM").len(), 1);
    assert_eq!(tidegate.termination().verdict(), "drained");
}

#[test]
fn a_second_int_skips_the_waits() {
    let timing = Timing {
        propagation: Duration::from_secs(30),
        ..LONG
    };
    let calls = MetricsEndpoint::with_calls(1);
    let mut tidegate = Tidegate::wrapping(telling(&[]))
        .config(timing.measured(&calls))
        .start();
    tidegate.child();
    let watch = Watch::open(tidegate.health(), "");
    watch.wait_for(ServingStatus::Serving);
    tidegate.signal(Signal::SIGINT);
    // Two signals of a kind that are pending together are one: the second waits until the first has been seen.
    watch.wait_for(ServingStatus::NotServing);
    assert_eq!(tidegate.stdout.with("signal ").len(), 0);
    tidegate.signal(Signal::SIGINT);
    tidegate.stdout.wait_for("signal SIGTERM");
    assert_eq!(tidegate.wait().code(), TOLD);
    assert_eq!(tidegate.termination().verdict(), "hurried");
}

#[test]
fn a_grace_period_of_two_seconds_has_no_time_for_waits() {
    let calls = MetricsEndpoint::with_calls(1);
    let source = format!(
        "inflight:\n  - prometheus: {{url: \"{}\", query: calls_in_flight}}\n",
        calls.url()
    );
    let config = format!("terminationGracePeriodSeconds: 2\n{source}");
    // The defaults would wait 0.4 s for propagation alone, and 1.04 s in all while a call is under way.
    let best = best_of(5, Duration::from_millis(200), || {
        let mut tidegate = Tidegate::wrapping(telling(&[])).config(config.as_str()).start();
        tidegate.child();
        let trigger = tidegate.signal(Signal::SIGTERM);
        tidegate.stdout.wait_for("signal SIGTERM").at - trigger
    });
    assert!(best < Duration::from_millis(200), "forwarded after {best:?}");
}

#[test]
fn health_says_not_serving_to_the_very_end_and_never_an_error() {
    let mut tidegate = Tidegate::wrapping(telling(&["--linger", "1"]))
        .config(LONG.unmeasured())
        .start();
    tidegate.child();
    let watch = Watch::open(tidegate.health(), "");
    watch.wait_for(ServingStatus::Serving);
    assert_eq!(
        http::get(tidegate.health(), "/readyz").expect("readiness").status,
        200
    );
    tidegate.signal(Signal::SIGTERM);
    watch.wait_for(ServingStatus::NotServing);
    let mut asked_while_stopping = 0;
    while asked_while_stopping < 3 {
        assert_eq!(
            grpc::check(tidegate.health(), "").expect("a Check is answered"),
            ServingStatus::NotServing
        );
        assert_eq!(
            http::get(tidegate.health(), "/readyz").expect("readiness").status,
            503
        );
        if !tidegate.stdout.with("signal SIGTERM").is_empty() {
            asked_while_stopping += 1;
        }
    }
    assert_eq!(tidegate.wait().code(), TOLD);
    // Only now may the stream end, and with a status a client retries elsewhere for.
    let end = watch.end().what.expect_err("a Watch ends with a status");
    assert_eq!(end.code(), tonic::Code::Unavailable, "{end}");
}

#[test]
fn an_open_watch_does_not_keep_tidegate() {
    let mut tidegate = Tidegate::wrapping(telling(&[])).config(LONG.unmeasured()).start();
    tidegate.child();
    let watches: Vec<_> = (0..20).map(|_| Watch::open(tidegate.health(), "")).collect();
    watches.iter().for_each(|watch| {
        watch.wait_for(ServingStatus::Serving);
    });
    tidegate.signal(Signal::SIGTERM);
    let stopped = tidegate.stdout.wait_for("signal SIGTERM").at;
    let exit = tidegate.wait();
    assert!(
        exit.at - stopped < PATIENCE / 3,
        "20 watches kept it for {:?}",
        exit.at - stopped
    );
}

#[test]
fn real_calls_under_way_are_finished() {
    let (calls, metrics) = (ports::free(), ports::free());
    let source = format!(
        "prometheus: {{url: \"http://{metrics}/metrics\", query: 'sum(grpc_server_started_total) - \
         sum(grpc_server_handled_total)', arrivals: sum(grpc_server_started_total)}}"
    );
    let mut tidegate = Tidegate::wrapping(library(calls, metrics))
        .config(LONG.with_source(&source))
        .start();
    tidegate.stdout.wait_for("for scrapes");
    let unary = grpc::find_book(calls, Duration::from_secs(3));
    let stream = grpc::list_shelf(calls, 20, Duration::from_millis(100));
    support::patience::eventually("both calls are under way", || {
        let page = http::get(metrics, "/metrics").ok()?;
        page.body.contains("library_calls_in_flight 2").then_some(())
    });
    tidegate.signal(Signal::SIGTERM);
    // Sent by a client that has not noticed, well inside the propagation window or just after: served all the same.
    let late = grpc::find_book(calls, Duration::from_millis(10));
    let (answered, unary) = unary.answer();
    unary.expect("the unary call is finished");
    assert_eq!(stream.answer().1.expect("the stream is finished"), 20);
    late.answer().1.expect("a call during the drain is served");
    let exit = tidegate.wait();
    assert!(exit.at >= answered);
    assert_eq!(
        exit.code(),
        128 + Signal::SIGTERM as i32,
        "the example dies of its stop signal"
    );
    assert_eq!(tidegate.termination().verdict(), "drained");
}
