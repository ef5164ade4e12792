//! How long load balancers get to notice.

use tidegate::drain::event::{Event, Evidence, Measured, Rules, Told};
use tidegate::drain::record::Verdict;
use tidegate::drain::table::Phase;

use crate::run::{ALL_TOLD, Run, SIGTERM, rules, with_window};

/// When the window of a stop at 0, visible at once, is over after `evidence` at `at`.
fn window_with(rules: Rules, evidence: Option<(u64, Evidence)>) -> u64 {
    let mut run = Run::stopping(rules);
    if let Some((at, evidence)) = evidence {
        run.at(at, Event::Evidence(evidence));
    }
    for at in 0..24_000 {
        run.to(run_from(at, evidence));
        if run.phase() != Phase::Propagation {
            return run_from(at, evidence);
        }
    }
    panic!("propagation never ended");
}

fn run_from(at: u64, evidence: Option<(u64, Evidence)>) -> u64 {
    at.max(evidence.map_or(0, |(at, _)| at))
}

#[test]
fn propagation_lasts_its_min_though_nothing_is_in_flight() {
    let mut run = Run::stopping(rules());
    run.to(4_999);
    assert_eq!(run.phase(), Phase::Propagation);
    run.to(5_000);
    assert_eq!(run.phase(), Phase::InFlight);
}

#[test]
fn propagation_lasts_its_min_though_everyone_is_told() {
    let mut run = Run::stopping(with_window(5_000, 10_000));
    run.at(10, ALL_TOLD);
    run.to(4_999);
    assert_eq!(run.phase(), Phase::Propagation);
    run.to(5_000);
    assert_eq!(run.phase(), Phase::InFlight);
}

#[test]
fn propagation_counts_from_when_not_serving_is_visible() {
    let mut run = Run::serving(rules());
    run.at(0, SIGTERM).at(30, Event::Notified);
    run.to(5_029);
    assert_eq!(run.phase(), Phase::Propagation);
    run.to(5_030);
    assert_eq!(run.phase(), Phase::InFlight);
}

#[test]
fn one_stalled_watcher_holds_up_notify_for_50_ms_only() {
    let mut run = Run::serving(rules());
    run.at(0, SIGTERM);
    run.to(49);
    assert_eq!(run.phase(), Phase::Notify);
    run.to(50);
    assert_eq!(run.phase(), Phase::Propagation);
    run.at(60, Event::Notified);
    assert_eq!(run.phase(), Phase::Propagation);
}

#[test]
fn evidence_between_min_and_max_ends_the_window_at_once() {
    let told = Evidence {
        audience: Told::All,
        hooks: Told::All,
    };
    assert_eq!(
        window_with(with_window(2_000, 10_000), Some((6_500, told))),
        6_500
    );
}

#[test]
fn without_evidence_the_window_lasts_its_max() {
    assert_eq!(window_with(with_window(2_000, 10_000), None), 10_000);
}

#[test]
fn evidence_is_everyone_told_and_the_hooks_done() {
    use Told::{All, Nobody, NotAll};
    for (audience, hooks, over) in [
        (All, All, 2_000),
        (All, Nobody, 2_000),
        (Nobody, All, 2_000),
        (Nobody, Nobody, 10_000),
        (NotAll, All, 10_000),
        (All, NotAll, 10_000),
        (NotAll, NotAll, 10_000),
        (Nobody, NotAll, 10_000),
        (NotAll, Nobody, 10_000),
    ] {
        let evidence = Evidence { audience, hooks };
        let lasted = window_with(with_window(2_000, 10_000), Some((100, evidence)));
        assert_eq!(lasted, over, "{evidence:?}");
    }
}

#[test]
fn a_prober_that_turns_up_late_takes_the_evidence_back() {
    let mut run = Run::stopping(with_window(2_000, 10_000));
    run.at(100, ALL_TOLD);
    run.at(
        1_000,
        Event::Evidence(Evidence {
            audience: Told::NotAll,
            hooks: Told::All,
        }),
    );
    run.to(9_999);
    assert_eq!(run.phase(), Phase::Propagation);
    run.to(10_000);
    assert_eq!(run.phase(), Phase::InFlight);
}

#[test]
fn what_probers_heard_while_serving_is_no_evidence() {
    let mut run = Run::serving(with_window(2_000, 10_000));
    run.at(0, ALL_TOLD).at(0, SIGTERM).at(0, Event::Notified);
    run.to(9_999);
    assert_eq!(run.phase(), Phase::Propagation);
}

#[test]
fn a_max_beyond_the_bound_is_cut_by_it() {
    let mut run = Run::stopping(with_window(5_000, 60_000));
    run.to(24_000);
    assert_eq!(run.stop_signal(), Some(18_000));
    assert_eq!(run.verdict(), Some(Verdict::Deadline));
}

#[test]
fn without_an_in_flight_source_the_stop_signal_ends_propagation_unmeasured() {
    let rules = Rules {
        measured: Measured::No,
        ..rules()
    };
    let mut run = Run::stopping(rules);
    run.to(24_000);
    assert_eq!(run.stop_signal(), Some(5_000));
    assert_eq!(run.verdict(), Some(Verdict::Unmeasured));
}
