//! What ends the wait for calls under way.

use std::time::Duration;

use tidegate::drain::action::Action;
use tidegate::drain::event::{Event, OnUnknown, Rules};
use tidegate::drain::quiet::InFlight;
use tidegate::drain::record::Verdict;
use tidegate::drain::table::Phase;

use crate::run::{IDLE, Run, rules};

fn proceed_after(millis: u64) -> Rules {
    Rules {
        on_unknown: OnUnknown::ProceedAfter(Duration::from_millis(millis)),
        ..rules()
    }
}

#[test]
fn calls_under_way_are_waited_for() {
    let mut run = Run::stopping(rules());
    run.calls = InFlight::Count(3);
    run.to(10_000);
    assert_eq!(run.phase(), Phase::InFlight);
    run.calls = IDLE;
    run.to(24_000);
    assert_eq!(run.stop_signal(), Some(11_200));
    assert_eq!(run.verdict(), Some(Verdict::Drained));
}

#[test]
fn the_stop_signal_comes_at_the_bound_whatever_the_gauge_says() {
    for calls in [InFlight::Count(1), InFlight::Count(u64::MAX), InFlight::Unknown] {
        let mut run = Run::stopping(rules());
        run.calls = calls;
        run.to(17_999);
        assert_eq!(run.stop_signal(), None);
        run.to(18_000);
        assert_eq!(run.stop_signal(), Some(18_000));
        assert_eq!(run.verdict(), Some(Verdict::Deadline));
    }
}

#[test]
fn the_stop_signal_comes_at_the_bound_though_a_look_is_never_answered() {
    let mut run = Run::stopping(rules());
    run.latency = None;
    run.to(24_000);
    assert_eq!(run.stop_signal(), Some(18_000));
    assert_eq!(run.verdict(), Some(Verdict::Deadline));
}

#[test]
fn unknown_is_never_zero() {
    let mut run = Run::stopping(rules());
    run.calls = InFlight::Unknown;
    run.to(17_999);
    assert_eq!(run.phase(), Phase::InFlight);
}

#[test]
fn one_unknown_breaks_the_quiet() {
    let mut run = Run::stopping(rules());
    run.to(5_700);
    run.calls = InFlight::Unknown;
    run.to(5_900);
    run.calls = IDLE;
    run.to(24_000);
    // The look at 5 800 ms did not know, the one at 6 000 ms begins the quiet anew.
    assert_eq!(run.stop_signal(), Some(7_000));
}

#[test]
fn a_rise_restarts_the_quiet_period() {
    let mut run = Run::stopping(rules());
    run.to(5_700);
    run.calls = InFlight::Count(1);
    run.to(5_900);
    run.calls = IDLE;
    run.to(24_000);
    assert_eq!(run.stop_signal(), Some(7_000));
}

#[test]
fn an_arrival_restarts_the_quiet_period_though_the_gauge_never_shows_it() {
    let mut run = Run::stopping(rules());
    run.arrivals = Some(100.0);
    run.to(5_700);
    run.arrivals = Some(101.0);
    run.to(24_000);
    assert_eq!(run.stop_signal(), Some(6_800));
}

#[test]
fn one_call_a_second_from_a_slow_balancer_is_never_quiet() {
    let mut run = Run::stopping(rules());
    for second in 0..24_u32 {
        run.arrivals = Some(f64::from(second));
        run.to(u64::from(second + 1) * 1_000 - 1);
    }
    assert_eq!(run.stop_signal(), Some(18_000));
    assert_eq!(run.verdict(), Some(Verdict::Deadline));
}

#[test]
fn a_counter_of_calls_that_is_lost_proves_no_quiet() {
    let mut run = Run::stopping(rules());
    run.arrivals = Some(100.0);
    run.to(5_700);
    run.arrivals = None;
    run.to(24_000);
    assert_eq!(run.stop_signal(), Some(18_000));
    assert_eq!(run.verdict(), Some(Verdict::Deadline));
}

#[test]
fn in_flight_at_the_threshold_is_quiet_and_above_it_is_not() {
    for (calls, stop) in [(2, 6_000), (3, 18_000)] {
        let mut run = Run::stopping(Rules {
            threshold: 2,
            ..rules()
        });
        run.calls = InFlight::Count(calls);
        run.to(24_000);
        assert_eq!(run.stop_signal(), Some(stop), "{calls} calls");
    }
}

#[test]
fn proceed_after_waits_so_long_for_the_unknown_and_no_longer() {
    let mut run = Run::stopping(proceed_after(3_000));
    run.calls = InFlight::Unknown;
    run.to(24_000);
    assert_eq!(run.stop_signal(), Some(8_000));
    assert_eq!(run.verdict(), Some(Verdict::Unmeasured));
}

#[test]
fn proceed_after_is_kept_though_a_look_is_never_answered() {
    let mut run = Run::stopping(proceed_after(3_000));
    run.calls = InFlight::Unknown;
    run.to(5_100);
    run.latency = None;
    run.to(24_000);
    // The look of 5 200 ms hangs, so that nothing but the machine's own timer ends the wait.
    assert_eq!(run.stop_signal(), Some(8_000));
    assert_eq!(run.verdict(), Some(Verdict::Unmeasured));
}

#[test]
fn proceed_after_begins_anew_with_every_count() {
    let mut run = Run::stopping(proceed_after(3_000));
    run.calls = InFlight::Unknown;
    run.to(7_700);
    run.calls = InFlight::Count(1);
    run.to(7_900);
    run.calls = InFlight::Unknown;
    run.to(24_000);
    // Counted at 7 800 ms, unknown again from 8 000 ms on.
    assert_eq!(run.stop_signal(), Some(11_000));
}

#[test]
fn proceed_after_nothing_looks_once_all_the_same() {
    let mut run = Run::stopping(proceed_after(0));
    run.latency = Some(100);
    run.calls = IDLE;
    run.to(24_000);
    assert_eq!(run.verdict(), Some(Verdict::Drained));

    let mut run = Run::stopping(proceed_after(0));
    run.latency = Some(100);
    run.calls = InFlight::Unknown;
    run.to(24_000);
    assert_eq!(run.stop_signal(), Some(5_100));
    assert_eq!(run.verdict(), Some(Verdict::Unmeasured));
}

#[test]
fn proceed_after_does_not_cut_calls_that_are_counted() {
    let mut run = Run::stopping(proceed_after(1_000));
    run.calls = InFlight::Count(1);
    run.to(24_000);
    assert_eq!(run.stop_signal(), Some(18_000));
    assert_eq!(run.verdict(), Some(Verdict::Deadline));
}

#[test]
fn a_gauge_that_stands_still_is_stalled_and_still_bounded() {
    let mut run = Run::stopping(Rules {
        stalled_after: Duration::from_secs(3),
        ..rules()
    });
    run.calls = InFlight::Count(4);
    run.to(24_000);
    assert_eq!(run.when(&Action::SayStalled), [8_000]);
    assert_eq!(run.stop_signal(), Some(18_000));
    assert_eq!(run.verdict(), Some(Verdict::Stalled));
}

#[test]
fn a_gauge_that_moved_again_was_not_stalled_at_the_bound() {
    let mut run = Run::stopping(Rules {
        stalled_after: Duration::from_secs(3),
        ..rules()
    });
    run.calls = InFlight::Count(4);
    run.to(17_000);
    run.calls = InFlight::Count(3);
    run.to(24_000);
    assert_eq!(run.verdict(), Some(Verdict::Deadline));
}

#[test]
fn calls_that_come_and_go_are_not_a_stall() {
    let mut run = Run::stopping(Rules {
        stalled_after: Duration::from_secs(3),
        ..rules()
    });
    run.calls = InFlight::Count(4);
    for second in 0..24_u32 {
        run.arrivals = Some(f64::from(second));
        run.to(u64::from(second + 1) * 1_000);
    }
    assert_eq!(run.when(&Action::SayStalled), [0_u64; 0]);
    assert_eq!(run.verdict(), Some(Verdict::Deadline));
}

#[test]
fn the_record_keeps_what_the_looks_said() {
    let mut run = Run::stopping(rules());
    run.calls = InFlight::Unknown;
    run.to(5_100);
    run.calls = InFlight::Count(7);
    run.at(5_300, Event::Hurry);
    let record = run.machine().record();
    assert_eq!((record.unknown, record.counted), (1, 1));
    assert_eq!(record.in_flight, Some(InFlight::Count(7)));
}
