//! Whatever is wrong with the metrics, it is unknown, and unknown is never zero: the drain waits to its bound,
//! and says so.

mod support;

use std::time::Duration;

use support::children::{TOLD, telling};
use support::config::{LONG, TIGHT, Timing};
use support::metrics_endpoint::{Answer, MetricsEndpoint};
use support::processes::peak_memory_kib;
use support::{Running, Signal, Tidegate};

#[test]
fn refused_is_unknown() {
    let mut endpoint = MetricsEndpoint::with_calls(0);
    endpoint.close();
    let mut tidegate = start(&endpoint);
    waits_to_its_bound(&mut tidegate);
}

#[test]
fn refused_half_way_is_unknown() {
    let mut endpoint = MetricsEndpoint::with_calls(1);
    let mut tidegate = start(&endpoint);
    tidegate.child();
    let trigger = tidegate.signal(Signal::SIGTERM);
    endpoint.wait_for_polls_after(trigger, 1);
    endpoint.close();
    let stopped = tidegate.stdout.wait_for("signal SIGTERM").at;
    assert!(
        stopped >= trigger + TIGHT.bound(),
        "stopped {:?} after the trigger",
        stopped - trigger
    );
    tidegate.wait();
    assert_eq!(tidegate.termination().verdict(), "deadline");
}

#[test]
fn hanging_is_unknown() {
    fault(Answer::Hang);
}

#[test]
fn hanging_up_is_unknown() {
    fault(Answer::HangUp);
}

#[test]
fn not_found_is_unknown() {
    fault(Answer::Status(404));
}

#[test]
fn a_server_error_is_unknown() {
    fault(Answer::Status(500));
}

#[test]
fn a_redirect_is_unknown() {
    fault(Answer::Redirect);
}

#[test]
fn an_empty_page_is_unknown() {
    fault(Answer::Text(String::new()));
}

#[test]
fn binary_is_unknown() {
    fault(Answer::Bytes((0..=255).cycle().take(10_000).collect()));
}

#[test]
fn a_missing_series_is_unknown() {
    fault(Answer::Text("calls_in_flight_total 0\nother 0\n".into()));
}

#[test]
fn not_a_number_is_unknown() {
    fault(Answer::Text("calls_in_flight NaN\n".into()));
}

#[test]
fn infinity_is_unknown() {
    fault(Answer::Text("calls_in_flight +Inf\n".into()));
}

#[test]
fn minus_infinity_is_unknown() {
    fault(Answer::Text("calls_in_flight -Inf\n".into()));
}

#[test]
fn a_negative_number_is_unknown() {
    fault(Answer::Text("calls_in_flight -1\n".into()));
}

#[test]
fn a_word_for_a_number_is_unknown() {
    fault(Answer::Text("calls_in_flight none\n".into()));
}

#[test]
fn one_unknown_source_makes_the_sum_unknown() {
    let (good, bad) = (
        MetricsEndpoint::with_calls(0),
        MetricsEndpoint::start(Answer::Status(404)),
    );
    let more = format!(
        "  - prometheus: {{url: \"{}\", query: calls_in_flight}}\n",
        bad.url()
    );
    let mut tidegate = Tidegate::wrapping(telling(&[]))
        .config(TIGHT.measured(&good) + &more)
        .start();
    waits_to_its_bound(&mut tidegate);
}

#[test]
fn an_endless_page_is_unknown_and_costs_no_memory() {
    endless("other_series 1\n");
}

#[test]
fn an_endless_page_that_begins_with_zero_is_unknown_and_costs_no_memory() {
    endless("calls_in_flight 0\n");
}

#[test]
fn an_endless_line_is_unknown_and_costs_no_memory() {
    endless("calls_in_flight{label=\"");
}

#[test]
fn endless_hints_of_an_answer_are_unknown_and_hold_up_no_deadline() {
    let endpoint = MetricsEndpoint::start(Answer::EndlessHints);
    let mut tidegate = start(&endpoint);
    tidegate.child();
    let trigger = tidegate.signal(Signal::SIGTERM);
    let stopped = tidegate.stdout.wait_for("signal SIGTERM").at;
    let late = stopped.saturating_duration_since(trigger + TIGHT.bound());
    assert!(
        late < Duration::from_millis(300),
        "the stop signal came {late:?} late"
    );
    tidegate.wait();
    assert_eq!(tidegate.termination().verdict(), "deadline");
}

/// A bound for what a poll may add to the peak: its buffers, and the code of the drain that is paged in for the
/// first time. The endpoint sends some hundred megabytes meanwhile.
const MEMORY_KIB: u64 = 8 * 1024;

fn endless(first: &'static str) {
    let endpoint = MetricsEndpoint::start(Answer::Endless(first));
    let mut tidegate = start(&endpoint);
    tidegate.child();
    let before = peak_memory_kib(tidegate.pid());
    let trigger = tidegate.signal(Signal::SIGTERM);
    // Two polls are over, and the third is being read.
    endpoint.wait_for_polls_after(trigger, 3);
    let after = peak_memory_kib(tidegate.pid());
    assert!(
        after - before < MEMORY_KIB,
        "the peak grew from {before} to {after} KiB"
    );
    let stopped = tidegate.stdout.wait_for("signal SIGTERM").at;
    assert!(
        stopped >= trigger + TIGHT.bound(),
        "stopped {:?} after the trigger",
        stopped - trigger
    );
    tidegate.wait();
    assert_eq!(tidegate.termination().verdict(), "deadline");
}

#[test]
fn proceed_after_gives_up_on_the_unknown_and_does_not_call_it_drained() {
    let endpoint = MetricsEndpoint::start(Answer::Status(404));
    let config = LONG
        .measured(&endpoint)
        .replace("drain: {", "drain: {onUnknown: {proceedAfter: 1s}, ");
    let mut tidegate = Tidegate::wrapping(telling(&[])).config(config).start();
    tidegate.child();
    let trigger = tidegate.signal(Signal::SIGTERM);
    let stopped = tidegate.stdout.wait_for("signal SIGTERM").at;
    assert!(
        stopped >= trigger + Duration::from_secs(1),
        "given up after {:?}",
        stopped - trigger
    );
    tidegate.wait();
    assert_ne!(tidegate.termination().verdict(), "drained");
}

#[test]
fn an_unknown_reading_interrupts_the_quiet_period() {
    let timing = Timing {
        quiet: Duration::from_secs(2),
        ..LONG
    };
    let endpoint = MetricsEndpoint::with_calls(0);
    let mut tidegate = Tidegate::wrapping(telling(&[]))
        .config(timing.measured(&endpoint))
        .start();
    tidegate.child();
    let trigger = tidegate.signal(Signal::SIGTERM);
    endpoint.wait_for_polls_after(trigger + timing.propagation, 2);
    let broken = endpoint.set(Answer::Status(500));
    endpoint.wait_for_polls_after(broken, 2);
    let mended = endpoint.set_calls(0);
    let stopped = tidegate.stdout.wait_for("signal SIGTERM").at;
    assert!(
        stopped >= mended + timing.quiet,
        "quiet went on through an unknown reading"
    );
    tidegate.wait();
    assert_eq!(tidegate.termination().verdict(), "drained");
}

/// A metrics page with this fault holds the drain to its bound.
fn fault(answer: Answer) {
    let endpoint = MetricsEndpoint::start(answer);
    let mut tidegate = start(&endpoint);
    waits_to_its_bound(&mut tidegate);
    assert!(!endpoint.polls().is_empty(), "it was never asked");
}

fn start(endpoint: &MetricsEndpoint) -> Running {
    Tidegate::wrapping(telling(&[]))
        .config(TIGHT.measured(endpoint))
        .start()
}

fn waits_to_its_bound(tidegate: &mut Running) {
    tidegate.child();
    let trigger = tidegate.signal(Signal::SIGTERM);
    let stopped = tidegate.stdout.wait_for("signal SIGTERM").at;
    assert!(
        stopped >= trigger + TIGHT.bound(),
        "stopped {:?} after the trigger, the bound is {:?}",
        stopped - trigger,
        TIGHT.bound()
    );
    assert_eq!(tidegate.wait().code(), TOLD);
    let report = tidegate.termination();
    assert_eq!(report.verdict(), "deadline");
    assert!(report.number("unknownPolls") >= 1.0, "{report:?}");
    assert!(
        report.0["inFlightAtStop"].is_null(),
        "unknown is not a number: {report:?}"
    );
}
