//! What the roster wants and shows, without anybody at work for it.

use super::*;
use crate::child::Signal;
use crate::hooks::Hook;

/// One that is wanted and has nobody to work for it.
fn roster() -> Roster {
    let outcomes = Outcomes::new();
    let hook = Hook {
        name: "signal SIGUSR1".to_owned(),
        deed: Deed::Signal(Signal::USR1),
        patience: Patience::default(),
    };
    Roster {
        settings: HookSettings {
            on_drain: vec![hook.clone()],
            on_resume: vec![hook],
        },
        reach: None,
        wanted: watch::Sender::new(Wanted::default()),
        seen: outcomes.changed.subscribe(),
        outcomes,
    }
}

/// A round for each change of mind, whoever asks how often: one deregistration a drain.
#[test]
fn asked_twice_it_leaves_once() {
    let mut roster = roster();
    let mut rounds = roster.wanted.subscribe();
    for (ask, way) in [
        (Roster::leave as fn(&mut Roster), Way::Out),
        (Roster::come_back, Way::Back),
        (Roster::leave, Way::Out),
    ] {
        ask(&mut roster);
        assert!(rounds.has_changed().expect("a sender"));
        assert_eq!(rounds.borrow_and_update().way(), Some(way));
        let mut done = roster.outcomes()[0].clone();
        assert_eq!((done.state, done.on.as_str()), (HookState::Running, way.key()));
        done.over(HookState::Done, std::time::Duration::ZERO);
        roster.outcomes.note(0, &done);
        ask(&mut roster);
        assert!(!rounds.has_changed().expect("a sender"));
        assert_eq!(roster.outcomes()[0].state, HookState::Done);
    }
}

/// What was done of coming back proves nothing of a leaving.
#[test]
fn only_a_leaving_that_is_done_has_told_anybody() {
    let mut roster = roster();
    assert_eq!((roster.told(), roster.stand()), (Told::NotAll, Hooks::Settled));
    for (ask, told, stand) in [
        (Roster::leave as fn(&mut Roster), Told::All, Hooks::Tried),
        (Roster::come_back, Told::NotAll, Hooks::Settled),
    ] {
        ask(&mut roster);
        assert_eq!((roster.told(), roster.stand()), (Told::NotAll, stand));
        let mut done = roster.outcomes()[0].clone();
        done.over(HookState::Done, std::time::Duration::ZERO);
        roster.outcomes.note(0, &done);
        assert_eq!((roster.told(), roster.stand()), (told, Hooks::Settled));
    }
    roster.leave();
    roster.give_up();
    assert_eq!(roster.outcomes()[0].state, HookState::Abandoned);
}
