//! A drain without a deadline.

use tidegate::drain::action::Action;
use tidegate::drain::budget::Wishes;
use tidegate::drain::event::Event;
use tidegate::drain::record::{Trigger, Verdict};
use tidegate::drain::table::{Kind, Phase};

use crate::run::{ALL_TOLD, Run, SIGTERM, rules, with_grace, with_window};

/// Held since 0, visible at once.
fn held() -> Run {
    let mut run = Run::serving(rules());
    run.at(0, Event::Hold).at(0, Event::Notified);
    run
}

#[test]
fn a_hold_leaves_traffic_and_has_no_end() {
    let mut run = held();
    assert_eq!(run.when(&Action::ShowNotServing), [0]);
    assert_eq!(run.when(&Action::Deregister), [0]);
    run.to(1_000_000);
    assert_eq!((run.phase(), run.deadline()), (Phase::Held, None));
    assert_eq!(run.machine().next_deadline(), None);
    assert_eq!(run.stop_signal(), None);
}

#[test]
fn resume_undoes_a_hold_and_reports_it() {
    let mut run = held();
    let mark = run.so_far();
    run.at(60_000, Event::Resume);
    assert_eq!(run.phase(), Phase::Serving);
    let did = run.new_since(mark);
    assert_eq!(did[..2], [Action::ShowServing, Action::Register]);
    let Some(Action::ReportResumed(record)) = did.last() else {
        panic!("no report in {did:?}");
    };
    assert_eq!(record.verdict, Some(Verdict::Resumed));
    assert_eq!(record.held, Some(run.moment(0)));
}

#[test]
fn a_resumed_run_stops_like_any_other() {
    let mut run = held();
    run.at(60_000, ALL_TOLD)
        .at(60_000, Event::Resume)
        .at(100_000, SIGTERM)
        .at(100_000, Event::Notified);
    assert_eq!((run.verdict(), run.deadline()), (None, Some(124_000)));
    run.to(130_000);
    assert_eq!(run.stop_signal(), Some(106_000));
    assert_eq!(run.verdict(), Some(Verdict::Drained));
}

#[test]
fn evidence_of_a_hold_undone_is_no_evidence_of_the_next_stop() {
    let mut run = Run::serving(with_window(2_000, 10_000));
    run.at(0, Event::Hold).at(0, ALL_TOLD).at(1_000, Event::Resume);
    run.at(2_000, SIGTERM).at(2_000, Event::Notified);
    run.to(11_999);
    assert_eq!(run.phase(), Phase::Propagation);
}

#[test]
fn hold_then_term_skips_the_part_of_propagation_already_spent() {
    for (term, in_flight) in [(2_000, 5_000), (5_000, 5_000), (60_000, 60_000)] {
        let mut run = held();
        run.at(term, SIGTERM);
        if term < in_flight {
            run.to(in_flight - 1);
            assert_eq!(run.phase(), Phase::Propagation, "TERM at {term}");
        }
        run.to(in_flight);
        assert_eq!(run.phase(), Phase::InFlight, "TERM at {term}");
        assert_eq!(run.deadline(), Some(term + 24_000));
        assert_eq!(run.when(&Action::ShowNotServing), [0]);
        assert_eq!(run.when(&Action::Deregister), [0]);
    }
}

#[test]
fn a_hold_that_was_not_visible_yet_has_spent_no_propagation() {
    let mut run = Run::serving(rules());
    run.at(0, Event::Hold).at(10, SIGTERM);
    run.to(5_049);
    assert_eq!(run.phase(), Phase::Propagation);
    run.to(5_050);
    assert_eq!(run.phase(), Phase::InFlight);
}

#[test]
fn a_stop_during_a_hold_cannot_be_undone() {
    let mut run = held();
    run.at(1_000, SIGTERM).at(1_100, Event::Resume);
    assert_eq!(run.phase(), Phase::Propagation);
    assert_eq!(
        run.since(1_100),
        [Action::Refuse(Kind::Resume, Phase::Propagation)]
    );
    assert_eq!(run.machine().record().trigger, Some(Trigger::Signal(15)));
}

#[test]
fn a_stop_during_a_hold_with_a_short_grace_forwards_the_signal_at_once() {
    let mut run = Run::serving(with_grace(2_000, Wishes::default()));
    run.at(0, Event::Hold).at(10, SIGTERM);
    assert_eq!(run.stop_signal(), Some(10));
}

#[test]
fn a_second_hold_changes_nothing() {
    let mut run = held();
    let mark = run.so_far();
    run.at(1_000, Event::Hold);
    assert_eq!(run.new_since(mark), []);
}

#[test]
fn resume_is_refused_in_every_phase_but_held() {
    for phase in Phase::ALL.into_iter().filter(|phase| *phase != Phase::Held) {
        let mut run = Run::in_phase(phase);
        let mark = run.so_far();
        run.then(Event::Resume);
        assert_eq!(run.new_since(mark), [Action::Refuse(Kind::Resume, phase)]);
        assert_eq!(run.phase(), phase);
    }
}

#[test]
fn hold_is_refused_once_a_stop_has_begun() {
    for phase in Phase::ALL.into_iter().filter(|phase| *phase >= Phase::Notify) {
        let mut run = Run::in_phase(phase);
        let mark = run.so_far();
        run.then(Event::Hold);
        assert_eq!(run.new_since(mark), [Action::Refuse(Kind::Hold, phase)]);
    }
}
