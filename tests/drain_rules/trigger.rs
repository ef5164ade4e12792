//! What starts a stop, what does not, and when health turns.

use tidegate::drain::action::Action;
use tidegate::drain::budget::Wishes;
use tidegate::drain::event::Event;
use tidegate::drain::quiet::InFlight;
use tidegate::drain::record::{Trigger, Verdict};
use tidegate::drain::table::{Kind, Phase};

use crate::run::{IDLE, PRE_STOP, Run, SIGINT, SIGTERM, rules, with_grace};

/// The phases of a stop in which the child still serves.
const WAITS: [Phase; 3] = [Phase::Notify, Phase::Propagation, Phase::InFlight];

#[test]
fn health_turns_before_anything_else_is_done() {
    let mut run = Run::serving(rules());
    run.at(1_000, SIGTERM);
    assert_eq!(
        run.since(1_000)[..2],
        [Action::ShowNotServing, Action::Deregister]
    );
    assert_eq!(run.phase(), Phase::Notify);
}

#[test]
fn every_trigger_starts_the_same_stop() {
    for trigger in [SIGTERM, SIGINT, PRE_STOP] {
        let mut run = Run::serving(rules());
        run.at(1_000, trigger);
        assert_eq!(run.phase(), Phase::Notify);
        assert_eq!(run.deadline(), Some(25_000));
    }
}

#[test]
fn a_child_that_serves_is_shown_serving_and_never_wakes_us() {
    let run = Run::serving(rules());
    assert_eq!(run.when(&Action::ShowServing), [0]);
    assert_eq!(run.machine().next_deadline(), None);
}

#[test]
fn second_term_changes_nothing() {
    let mut once = Run::stopping(rules());
    let mut twice = Run::stopping(rules());
    for at in [10, 2_000, 5_500, 6_500, 20_000] {
        once.to(at);
        let mark = twice.so_far();
        twice.at(at, SIGTERM);
        assert_eq!(once.phase(), twice.phase());
        assert_eq!(once.deadline(), twice.deadline());
        assert_eq!(
            once.machine().next_deadline().map(|at| at - once.moment(0)),
            twice.machine().next_deadline().map(|at| at - twice.moment(0))
        );
        let said = twice.new_since(mark);
        assert!(
            !said.contains(&Action::ShowNotServing) && !said.contains(&Action::Deregister),
            "{said:?}"
        );
    }
    assert_eq!(once.stop_signal(), twice.stop_signal());
}

#[test]
fn a_repeated_hook_joins_the_deadline_in_progress() {
    let mut run = Run::serving(rules());
    run.at(0, PRE_STOP).at(3_000, PRE_STOP).at(4_000, SIGTERM);
    assert_eq!(run.deadline(), Some(24_000));
    assert_eq!(run.machine().record().trigger, Some(Trigger::PreStop));
}

#[test]
fn a_second_sigint_skips_the_waits() {
    let mut run = Run::serving(rules());
    run.at(0, SIGINT).at(700, SIGINT);
    assert_eq!(run.stop_signal(), Some(700));
    assert_eq!(run.verdict(), Some(Verdict::Hurried));
}

#[test]
fn a_sigint_after_a_sigterm_is_the_first_sigint() {
    let mut run = Run::serving(rules());
    run.at(0, SIGTERM).at(700, SIGINT).at(800, SIGTERM);
    assert_eq!(run.stop_signal(), None);
    run.at(900, SIGINT);
    assert_eq!(run.stop_signal(), Some(900));
}

#[test]
fn hurry_skips_the_waits_of_every_phase() {
    for phase in WAITS {
        let mut run = Run::in_phase(phase);
        run.then(Event::Hurry);
        assert_eq!(run.phase(), Phase::Stop, "{phase}");
        assert_eq!(run.verdict(), Some(Verdict::Hurried));
        assert_eq!(run.when(&Action::StopChild).len(), 1);
    }
}

#[test]
fn a_hurried_child_keeps_its_time_until_sigkill() {
    let mut run = Run::stopping(rules());
    run.at(100, Event::Hurry);
    run.to(24_000);
    assert_eq!(run.sigkill(), Some(23_000));
}

#[test]
fn hurry_is_refused_where_nobody_asked_for_a_stop() {
    for phase in [Phase::Starting, Phase::Serving, Phase::Held] {
        let mut run = Run::in_phase(phase);
        let mark = run.so_far();
        run.then(Event::Hurry);
        assert_eq!(run.new_since(mark), [Action::Refuse(Kind::Hurry, phase)]);
        assert_eq!(run.phase(), phase);
    }
}

#[test]
fn hurry_changes_nothing_once_the_child_has_its_signal() {
    for phase in [Phase::Stop, Phase::Kill, Phase::Leftovers, Phase::Over] {
        let mut run = Run::in_phase(phase);
        let mark = run.so_far();
        run.then(Event::Hurry);
        assert_eq!(run.new_since(mark), []);
        assert_eq!(run.phase(), phase);
    }
}

#[test]
fn a_short_grace_forwards_the_signal_at_once() {
    for grace in [500, 1_000, 2_000] {
        let mut run = Run::serving(with_grace(grace, Wishes::default()));
        run.at(1_000, SIGTERM);
        assert_eq!(run.stop_signal(), Some(1_000));
        assert_eq!(run.when(&Action::ShowNotServing), [1_000]);
        assert_eq!(run.verdict(), Some(Verdict::Hurried));
        run.to(10_000);
        assert_eq!(run.sigkill(), Some(1_000 + grace * 8 / 10 - grace * 8 / 100));
    }
}

#[test]
fn a_grace_of_zero_is_over_at_once() {
    let mut run = Run::serving(with_grace(0, Wishes::default()));
    run.at(1_000, SIGTERM);
    assert_eq!(
        (run.stop_signal(), run.sigkill(), run.exit()),
        (Some(1_000), Some(1_000), Some(1_000))
    );
}

#[test]
fn a_grace_of_three_seconds_still_waits() {
    let mut run = Run::serving(with_grace(3_000, Wishes::default()));
    run.at(0, SIGTERM).at(0, Event::Notified);
    run.to(3_000);
    // Propagation 600 ms, quiet 120 ms.
    assert_eq!(run.stop_signal(), Some(720));
}

#[test]
fn a_stop_asked_for_before_the_child_runs_counts_from_then() {
    let mut run = Run::starting(rules());
    run.at(1_000, SIGTERM)
        .at(2_000, PRE_STOP)
        .at(3_000, Event::ChildUp);
    assert_eq!(run.when(&Action::ShowNotServing), [1_000]);
    assert_eq!(run.when(&Action::ShowServing), [0_u64; 0]);
    assert_eq!(run.stop_signal(), Some(3_000));
    assert_eq!(run.deadline(), Some(25_000));
    assert_eq!(run.machine().record().trigger, Some(Trigger::Signal(15)));
}

#[test]
fn a_stop_of_a_child_that_never_comes_up_ends_at_its_deadline() {
    let mut run = Run::starting(rules());
    run.at(1_000, SIGTERM);
    run.to(30_000);
    assert_eq!(run.exit(), Some(25_000));
    assert_eq!(run.verdict(), Some(Verdict::Deadline));
}

#[test]
fn a_deadline_moves_earlier() {
    let mut run = Run::stopping(rules());
    run.calls = InFlight::Count(1);
    let shorter = run.moment(15_000);
    run.at(1_000, Event::Shorten(shorter));
    assert_eq!(run.deadline(), Some(15_000));
    run.to(20_000);
    assert_eq!(
        (run.stop_signal(), run.sigkill(), run.exit()),
        (Some(9_000), Some(14_000), Some(15_000))
    );
}

#[test]
fn a_deadline_never_moves_later() {
    for phase in [WAITS.as_slice(), &[Phase::Stop, Phase::Kill, Phase::Leftovers]].concat() {
        let mut run = Run::in_phase(phase);
        let later = run.moment(90_000);
        run.then(Event::Shorten(later));
        assert_eq!(run.deadline(), Some(24_000), "{phase}");
    }
}

#[test]
fn a_deadline_that_has_passed_ends_the_run_now_in_every_phase() {
    for phase in [WAITS.as_slice(), &[Phase::Stop, Phase::Kill, Phase::Leftovers]].concat() {
        let mut run = Run::in_phase(phase);
        let now = run.moment(0);
        run.then(Event::Shorten(now));
        assert_eq!(run.phase(), Phase::Over, "{phase}");
        assert!(run.exit().is_some());
    }
}

#[test]
fn a_shortened_notify_does_not_outlast_its_bound() {
    let mut run = Run::serving(rules());
    run.at(0, SIGTERM);
    // Stop signal due at 6 020 − 1 000 − 5 000 ms.
    let short = run.moment(6_020);
    run.at(0, Event::Shorten(short));
    run.to(30);
    assert_eq!(run.stop_signal(), Some(20));
}

#[test]
fn a_shorten_before_any_stop_means_nothing() {
    for phase in [Phase::Starting, Phase::Serving, Phase::Held] {
        let mut run = Run::in_phase(phase);
        let now = run.moment(0);
        run.then(Event::Shorten(now));
        assert_eq!((run.phase(), run.deadline()), (phase, None));
    }
}

#[test]
fn a_machine_woken_far_too_late_still_does_everything_in_order() {
    let mut run = Run::stopping(rules());
    run.sleep_to(100_000).then(Event::Tick);
    let signals: Vec<_> = run
        .since(100_000)
        .into_iter()
        .filter(|action| {
            matches!(
                action,
                Action::StopChild | Action::KillChild | Action::KillLeftovers | Action::Exit
            )
        })
        .collect();
    assert_eq!(
        signals,
        [
            Action::StopChild,
            Action::KillChild,
            Action::KillLeftovers,
            Action::Exit
        ]
    );
}

#[test]
fn an_idle_pod_leaves_after_propagation_and_quiet() {
    let mut run = Run::stopping(rules());
    run.calls = IDLE;
    run.to(24_000);
    assert_eq!(run.stop_signal(), Some(6_000));
    assert_eq!(run.verdict(), Some(Verdict::Drained));
}
