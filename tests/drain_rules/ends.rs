//! Stop signal, SIGKILL, leftovers, exit.

use std::time::Duration;

use tidegate::drain::action::Action;
use tidegate::drain::budget::{Grace, Margin, Plan, Wishes};
use tidegate::drain::event::{Event, Hooks, Rules};
use tidegate::drain::record::Verdict;
use tidegate::drain::table::Phase;

use crate::run::{Run, SIGINT, SIGTERM, rules, with_grace};

#[test]
fn sigkill_comes_at_d_minus_kill_wait() {
    let mut run = Run::stopping(rules());
    run.to(22_999);
    assert_eq!((run.stop_signal(), run.sigkill()), (Some(6_000), None));
    run.to(23_000);
    assert_eq!(run.sigkill(), Some(23_000));
    assert!(run.machine().record().killed);
}

#[test]
fn the_child_has_its_stop_timeout_even_when_the_signal_comes_at_the_bound() {
    let mut run = Run::in_phase(Phase::InFlight);
    run.to(24_000);
    assert_eq!((run.stop_signal(), run.sigkill()), (Some(18_000), Some(23_000)));
}

#[test]
fn without_kill_wait_there_is_still_time_to_reap_the_dead() {
    let wishes = Wishes {
        kill_wait: Some(Duration::ZERO),
        ..Wishes::default()
    };
    let mut run = Run::stopping(with_grace(30_000, wishes));
    run.to(24_000);
    assert_eq!((run.sigkill(), run.exit()), (Some(23_950), Some(24_000)));
}

#[test]
fn pre_stop_seconds_bring_the_deadline_forward() {
    let grace = Grace(Duration::from_secs(30));
    let plan = Plan::new(
        grace,
        Margin::default(),
        Duration::from_secs(10),
        Wishes::default(),
    )
    .expect("it fits");
    // 14 s are left: propagation 3.5 s, quiet 0.7 s, stopTimeout 3.5 s, killWait 1 s.
    let mut run = Run::stopping(Rules { plan, ..rules() });
    run.to(14_000);
    assert_eq!(
        (run.stop_signal(), run.sigkill(), run.exit()),
        (Some(4_200), Some(13_000), Some(14_000))
    );
}

#[test]
fn a_child_that_not_even_sigkill_ends_does_not_keep_us_past_the_deadline() {
    let mut run = Run::stopping(rules());
    run.to(30_000);
    assert_eq!(run.exit(), Some(24_000));
    assert_eq!(run.when(&Action::KillLeftovers), [24_000]);
}

#[test]
fn a_child_that_exits_ends_the_waits_of_every_phase() {
    let phases = [
        Phase::Starting,
        Phase::Serving,
        Phase::Held,
        Phase::Notify,
        Phase::Propagation,
        Phase::InFlight,
    ];
    for phase in phases {
        let mut run = Run::in_phase(phase);
        let mark = run.so_far();
        run.then(Event::ChildGone).then(Event::AllGone);
        assert_eq!(run.phase(), Phase::Over, "{phase}");
        assert_eq!(run.verdict(), Some(Verdict::ChildExited), "{phase}");
        let did = run.new_since(mark);
        assert!(
            did.contains(&Action::ShowNotServing) && did.ends_with(&[Action::Exit]),
            "{phase}: {did:?}"
        );
        assert!(
            !did.contains(&Action::StopChild) && !did.contains(&Action::KillChild),
            "{phase}: {did:?}"
        );
    }
}

#[test]
fn a_child_that_obeys_leaves_the_verdict_of_the_drain_standing() {
    for (phase, verdict) in [(Phase::Stop, Verdict::Deadline), (Phase::Kill, Verdict::Deadline)] {
        let mut run = Run::in_phase(phase);
        run.then(Event::ChildGone).then(Event::AllGone);
        assert_eq!(run.verdict(), Some(verdict));
        assert_eq!(run.when(&Action::Exit).len(), 1);
    }
}

#[test]
fn nothing_waits_for_timers_that_have_lost_their_purpose() {
    let mut run = Run::stopping(rules());
    run.at(6_100, Event::ChildGone).at(6_101, Event::AllGone);
    assert_eq!(run.exit(), Some(6_101));
    assert_eq!(run.machine().next_deadline(), None);
}

#[test]
fn leftovers_are_asked_and_then_killed_after_kill_wait() {
    let mut run = Run::stopping(rules());
    run.at(7_000, Event::ChildGone);
    run.to(7_999);
    assert_eq!(
        (run.when(&Action::StopLeftovers), run.when(&Action::KillLeftovers)),
        (vec![7_000], vec![])
    );
    run.to(8_000);
    assert_eq!(run.when(&Action::KillLeftovers), [8_000]);
    run.at(8_003, Event::AllGone);
    assert_eq!(run.exit(), Some(8_003));
    assert!(run.machine().record().leftovers_killed);
}

#[test]
fn leftovers_that_not_even_sigkill_ends_are_waited_for_once_more_and_no_longer() {
    let mut run = Run::stopping(rules());
    run.at(7_000, Event::ChildGone);
    run.to(24_000);
    assert_eq!(run.exit(), Some(9_000));
}

#[test]
fn leftovers_are_killed_in_time_for_the_deadline() {
    let mut run = Run::stopping(rules());
    run.at(23_200, Event::ChildGone);
    run.to(30_000);
    // killWait would end at 24 200 ms; the last 50 ms are for the dead.
    assert_eq!(run.when(&Action::KillLeftovers), [23_950]);
    assert_eq!(run.exit(), Some(24_000));
}

#[test]
fn leftovers_of_a_child_that_ended_by_itself_have_their_kill_wait_too() {
    let mut run = Run::serving(rules());
    run.at(50_000, Event::ChildGone);
    run.to(60_000);
    assert_eq!(run.when(&Action::KillLeftovers), [51_000]);
    assert_eq!(run.exit(), Some(52_000));
}

#[test]
fn leftovers_wait_for_hooks_that_are_still_tried() {
    let mut run = Run::stopping(rules());
    run.at(6_500, Event::Hooks(Hooks::Tried))
        .at(7_000, Event::ChildGone);
    assert_eq!(
        (run.phase(), run.when(&Action::StopLeftovers)),
        (Phase::Leftovers, vec![])
    );
    run.at(9_000, Event::Hooks(Hooks::Tried))
        .at(9_500, Event::Hooks(Hooks::Settled));
    run.to(10_499);
    assert_eq!(
        (run.when(&Action::StopLeftovers), run.when(&Action::KillLeftovers)),
        (vec![9_500], vec![])
    );
    run.to(24_000);
    assert_eq!(run.when(&Action::KillLeftovers), [10_500]);
}

#[test]
fn hooks_that_never_end_leave_kill_wait_to_the_leftovers() {
    let mut run = Run::stopping(rules());
    run.at(6_500, Event::Hooks(Hooks::Tried))
        .at(7_000, Event::ChildGone);
    run.to(30_000);
    assert_eq!(run.when(&Action::StopLeftovers), [23_000]);
    assert_eq!(run.when(&Action::KillLeftovers), [23_950]);
    assert_eq!(run.exit(), Some(24_000));
    // By itself, without a deadline.
    let mut run = Run::serving(rules());
    run.at(0, Event::Hooks(Hooks::Tried)).at(50_000, Event::ChildGone);
    run.to(60_000);
    assert_eq!(run.when(&Action::StopLeftovers), [55_000]);
    // A stop meanwhile bounds it.
    let mut run = Run::serving(rules());
    run.at(0, Event::Hooks(Hooks::Tried))
        .at(50_000, Event::ChildGone)
        .at(50_000, SIGTERM);
    let shorter = run.moment(52_000);
    run.at(50_100, Event::Shorten(shorter));
    run.to(60_000);
    assert_eq!(run.when(&Action::StopLeftovers), [51_000]);
    assert_eq!(run.exit(), Some(52_000));
}

#[test]
fn who_hurries_waits_for_no_hook() {
    let among_leftovers = || {
        let mut run = Run::stopping(rules());
        run.at(6_500, Event::Hooks(Hooks::Tried))
            .at(7_000, Event::ChildGone);
        run
    };
    let mut run = among_leftovers();
    run.at(8_000, Event::Hurry).at(8_100, Event::Hurry).to(30_000);
    assert_eq!(run.when(&Action::StopLeftovers), [8_000]);
    assert_eq!(run.when(&Action::KillLeftovers), [9_000]);
    // Ctrl-C once is no hurry, and SIGTERM never is.
    let mut run = among_leftovers();
    run.at(8_000, SIGTERM).at(8_000, SIGTERM).at(8_000, SIGINT);
    assert_eq!(run.when(&Action::StopLeftovers), Vec::<u64>::new());
    run.at(8_500, SIGINT);
    assert_eq!(run.when(&Action::StopLeftovers), [8_500]);
    // Wherever the first one came.
    let mut run = Run::stopping(rules());
    run.at(6_500, Event::Hooks(Hooks::Tried)).at(6_600, SIGINT);
    run.at(7_000, Event::ChildGone).at(8_000, SIGINT);
    assert_eq!(run.when(&Action::StopLeftovers), [8_000]);
}

#[test]
fn a_stop_among_leftovers_bounds_them() {
    let wishes = Wishes {
        kill_wait: Some(Duration::from_secs(13)),
        ..Wishes::default()
    };
    let mut run = Run::serving(with_grace(30_000, wishes));
    run.at(0, Event::ChildGone).at(10_000, SIGTERM);
    assert_eq!(run.deadline(), Some(34_000));
    run.at(10_000, SIGTERM);
    let shorter = run.moment(12_000);
    run.at(11_000, SIGTERM).at(11_000, Event::Shorten(shorter));
    run.to(60_000);
    assert_eq!(run.when(&Action::KillLeftovers), [11_950]);
    assert_eq!(run.exit(), Some(12_000));
    assert_eq!(run.verdict(), Some(Verdict::ChildExited));
}

#[test]
fn a_shorter_deadline_reaches_leftovers_that_have_sigkill_already() {
    let mut run = Run::stopping(rules());
    run.at(7_000, Event::ChildGone);
    run.to(8_000);
    let shorter = run.moment(8_500);
    run.at(8_100, Event::Shorten(shorter));
    run.to(24_000);
    assert_eq!(run.exit(), Some(8_500));
}

#[test]
fn what_happens_after_the_end_is_nothing() {
    let mut run = Run::in_phase(Phase::Over);
    let mark = run.so_far();
    for event in [
        SIGTERM,
        Event::ChildUp,
        Event::ChildGone,
        Event::AllGone,
        Event::Tick,
        Event::Hurry,
    ] {
        run.at(90_000, event);
    }
    assert_eq!(run.new_since(mark), []);
}

#[test]
fn the_record_says_how_long_each_phase_lasted() {
    let mut run = Run::stopping(rules());
    run.at(8_000, Event::ChildGone).at(8_500, Event::AllGone);
    let record = run.machine().record();
    let lasted = |phase| record.lasted(phase).map(|span| span.as_millis());
    assert_eq!(lasted(Phase::Notify), Some(0));
    assert_eq!(lasted(Phase::Propagation), Some(5_000));
    assert_eq!(lasted(Phase::InFlight), Some(1_000));
    assert_eq!(lasted(Phase::Stop), Some(2_000));
    assert_eq!(lasted(Phase::Kill), None);
    assert_eq!(lasted(Phase::Leftovers), Some(500));
    assert_eq!(
        record.spent(run.moment(99_000)),
        Some(Duration::from_millis(8_500))
    );
}
