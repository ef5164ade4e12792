//! When in-flight is looked at, and how soon its end is seen.

use std::time::Duration;

use tidegate::drain::action::Action;
use tidegate::drain::budget::Wishes;
use tidegate::drain::event::Rules;
use tidegate::drain::quiet::InFlight;
use tidegate::drain::table::Phase;

use crate::run::{IDLE, Run, rules, with_grace};

#[test]
fn nobody_looks_before_propagation_is_over() {
    let mut run = Run::stopping(rules());
    run.to(4_999);
    assert_eq!(run.when(&Action::Look), [0_u64; 0]);
    run.to(5_000);
    assert_eq!(run.when(&Action::Look), [5_000]);
}

#[test]
fn looks_begin_one_interval_apart_however_long_they_take() {
    for latency in [0, 1, 150, 199, 200] {
        let mut run = Run::stopping(rules());
        run.calls = InFlight::Count(1);
        run.latency = Some(latency);
        run.to(5_850);
        assert_eq!(
            run.when(&Action::Look),
            [5_000, 5_200, 5_400, 5_600, 5_800],
            "{latency} ms"
        );
    }
}

#[test]
fn looks_never_overlap_though_they_take_longer_than_the_interval() {
    let mut run = Run::stopping(rules());
    run.calls = InFlight::Count(1);
    run.latency = Some(450);
    // `Run` fails when a look begins while one is under way.
    run.to(6_400);
    assert_eq!(run.when(&Action::Look), [5_000, 5_450, 5_900, 6_350]);
}

#[test]
fn the_look_that_completes_the_quiet_comes_the_moment_it_can() {
    let rules = Rules {
        poll_interval: Duration::from_millis(700),
        ..rules()
    };
    let mut run = Run::stopping(rules);
    run.to(24_000);
    assert_eq!(run.when(&Action::Look), [5_000, 5_700, 6_000]);
    assert_eq!(run.stop_signal(), Some(6_000));
}

/// The promise: at most one interval until a look begins after the last call's end, the time
/// that look takes, the quiet, and the time the completing look takes.
#[test]
fn the_stop_signal_comes_within_interval_and_quiet_of_the_last_call_even_with_slow_looks() {
    for quiet in [0, 130, 1_000] {
        let wishes = Wishes {
            quiet: Some(Duration::from_millis(quiet)),
            ..Wishes::default()
        };
        for latency in [0, 2, 50, 149, 150, 199, 200, 450] {
            for last_call_ends in 6_000..6_700 {
                let mut run = Run::stopping(with_grace(30_000, wishes));
                run.calls = InFlight::Count(1);
                run.latency = Some(latency);
                run.to(last_call_ends);
                run.calls = IDLE;
                run.to(24_000);
                let stop = run.stop_signal().expect("it ends");
                let looks = if quiet == 0 { latency } else { 2 * latency };
                let latest = last_call_ends + latency.max(200) + quiet + looks;
                assert!(
                    stop <= latest,
                    "{quiet} {latency} {last_call_ends}: {stop} > {latest}"
                );
                assert!(
                    stop >= last_call_ends + quiet,
                    "{quiet} {latency} {last_call_ends}: {stop}"
                );
            }
        }
    }
}

#[test]
fn a_quiet_of_zero_takes_one_look() {
    let wishes = Wishes {
        quiet: Some(Duration::ZERO),
        ..Wishes::default()
    };
    let mut run = Run::stopping(with_grace(30_000, wishes));
    run.to(24_000);
    assert_eq!(run.when(&Action::Look), [5_000]);
    assert_eq!(run.stop_signal(), Some(5_000));
}

#[test]
fn nobody_looks_after_the_stop_signal() {
    let mut run = Run::stopping(rules());
    run.to(6_000);
    assert_eq!(run.phase(), Phase::Stop);
    let looks = run.when(&Action::Look);
    run.to(24_000);
    assert_eq!(run.when(&Action::Look), looks);
}

#[test]
fn an_answer_that_comes_after_the_stop_signal_changes_nothing() {
    let mut run = Run::stopping(rules());
    run.latency = Some(20_000);
    run.to(18_000);
    let (verdict, mark) = (run.verdict(), run.so_far());
    run.to(22_999);
    run.at(22_999, tidegate::drain::event::Event::Tick);
    assert_eq!(run.new_since(mark), []);
    assert_eq!(run.verdict(), verdict);
}
