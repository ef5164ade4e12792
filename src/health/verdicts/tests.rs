use super::*;

fn verdicts_of<const N: usize>(names: [&str; N], recovery: Recovery) -> Verdicts {
    Verdicts::new(names.into_iter().map(str::to_owned), recovery)
}

fn two_names() -> Verdicts {
    verdicts_of(["a", "b"], Recovery::Automatic)
}

#[test]
fn everything_is_unknown_before_the_first_verdict() {
    let verdicts = two_names();
    for name in ["", "a", "b"] {
        assert_eq!(verdicts.status(name), Some(Status::Unknown));
    }
    assert_eq!(verdicts.status(LIVENESS), Some(Status::Serving));
    assert_eq!(verdicts.status("c"), None);
    assert_eq!(
        verdicts.readiness(),
        Readiness::NotReady("no verdict yet: a, b".into())
    );
}

#[test]
fn the_whole_is_the_and_of_all() {
    let mut verdicts = two_names();
    verdicts.set("a", Status::Serving).unwrap();
    assert_eq!(verdicts.status(OVERALL), Some(Status::Unknown));
    verdicts.set("b", Status::Serving).unwrap();
    assert_eq!(verdicts.status(OVERALL), Some(Status::Serving));
    assert_eq!(verdicts.readiness(), Readiness::Ready);
    verdicts.set("b", Status::NotServing).unwrap();
    assert_eq!(verdicts.status(OVERALL), Some(Status::NotServing));
    assert_eq!(verdicts.status("a"), Some(Status::Serving));
    assert_eq!(verdicts.readiness(), Readiness::NotReady("not serving: b".into()));
    verdicts.set("a", Status::Unknown).unwrap();
    assert_eq!(verdicts.status(OVERALL), Some(Status::NotServing));
}

#[test]
fn the_whole_named_has_a_verdict_of_its_own() {
    let mut verdicts = verdicts_of(["", "a"], Recovery::Automatic);
    verdicts.set("a", Status::Serving).unwrap();
    assert_eq!(verdicts.status(OVERALL), Some(Status::Unknown));
    verdicts.set("", Status::Serving).unwrap();
    assert_eq!(verdicts.status(OVERALL), Some(Status::Serving));
    verdicts.set("", Status::NotServing).unwrap();
    assert_eq!(
        verdicts.readiness(),
        Readiness::NotReady("not serving: the child".into())
    );
}

#[test]
fn without_services_the_whole_is_the_only_name() {
    let mut verdicts = verdicts_of([], Recovery::Automatic);
    verdicts.set("", Status::Serving).unwrap();
    assert_eq!(verdicts.readiness(), Readiness::Ready);
}

#[test]
fn a_name_that_is_not_there_cannot_be_set() {
    let mut verdicts = two_names();
    assert_eq!(verdicts.set("c", Status::Serving), Err(NoSuchName("c".into())));
    assert_eq!(
        verdicts.set(OVERALL, Status::Serving),
        Err(NoSuchName(String::new()))
    );
    assert_eq!(
        verdicts.set(LIVENESS, Status::NotServing),
        Err(NoSuchName(LIVENESS.into()))
    );
}

#[test]
fn a_drain_is_terminal_and_records_what_is_said() {
    let mut verdicts = two_names();
    verdicts.set_every(Status::Serving);
    verdicts.drain();
    verdicts.set("a", Status::Serving).unwrap();
    verdicts.set("b", Status::Unknown).unwrap();
    for name in ["", "a", "b"] {
        assert_eq!(verdicts.status(name), Some(Status::NotServing));
    }
    assert_eq!(verdicts.status(LIVENESS), Some(Status::Serving));
    assert_eq!(verdicts.readiness(), Readiness::NotReady("draining".into()));
    verdicts.undrain();
    assert_eq!(verdicts.status("a"), Some(Status::Serving));
    assert_eq!(verdicts.status("b"), Some(Status::Unknown));
}

#[test]
fn the_childs_end_is_the_end_of_liveness() {
    let mut verdicts = two_names();
    verdicts.set_every(Status::Serving);
    verdicts.child_ended();
    verdicts.undrain();
    assert_eq!(verdicts.status(LIVENESS), Some(Status::NotServing));
    assert_eq!(verdicts.status(OVERALL), Some(Status::NotServing));
    assert_eq!(
        verdicts.readiness(),
        Readiness::NotReady("the child has ended".into())
    );
    assert!(!verdicts.is_live());
}

#[test]
fn manual_recovery_latches_until_the_reset() {
    let mut verdicts = verdicts_of(["a", "b"], Recovery::Manual);
    verdicts.set_every(Status::Serving);
    verdicts.set("a", Status::NotServing).unwrap();
    verdicts.set("a", Status::Serving).unwrap();
    assert_eq!(verdicts.status("a"), Some(Status::NotServing));
    assert_eq!(verdicts.status(OVERALL), Some(Status::NotServing));
    assert_eq!(verdicts.status("b"), Some(Status::Serving));
    assert_eq!(verdicts.reset(), ["a"]);
    assert_eq!(verdicts.status("a"), Some(Status::Unknown));
    verdicts.set("a", Status::Serving).unwrap();
    assert_eq!(verdicts.status(OVERALL), Some(Status::Serving));
    assert!(verdicts.reset().is_empty());
}

#[test]
fn a_name_that_never_served_does_not_latch() {
    let mut verdicts = verdicts_of(["a"], Recovery::Manual);
    verdicts.set("a", Status::NotServing).unwrap();
    verdicts.set("a", Status::Serving).unwrap();
    assert_eq!(verdicts.status("a"), Some(Status::Serving));
}

#[test]
fn a_drain_does_not_latch_but_what_outlives_it_does() {
    let mut verdicts = verdicts_of(["a", "b"], Recovery::Manual);
    verdicts.set_every(Status::Serving);
    verdicts.drain();
    verdicts.set_every(Status::NotServing);
    verdicts.set("b", Status::Serving).unwrap();
    verdicts.undrain();
    verdicts.set("a", Status::Serving).unwrap();
    assert_eq!(verdicts.status("a"), Some(Status::NotServing));
    assert_eq!(verdicts.status("b"), Some(Status::Serving));
}

#[test]
fn reasons_stand_before_names() {
    let mut verdicts = verdicts_of(["a", "b"], Recovery::Manual);
    verdicts.set_every(Status::Serving);
    let statuses = ["a", "b"].map(|name| (name.to_owned(), Status::NotServing));
    let reasons = [(Status::NotServing, "check db: refused"), (Status::Unknown, "x")];
    verdicts.rule(Ruling {
        statuses: statuses.into(),
        reasons: reasons
            .map(|(status, why)| Reason {
                status,
                why: why.to_owned(),
            })
            .into(),
    });
    assert_eq!(
        verdicts.readiness(),
        Readiness::NotReady("not serving: check db: refused".into())
    );
    verdicts.set_every(Status::Serving);
    verdicts.reasons.clear();
    assert_eq!(
        verdicts.readiness(),
        Readiness::NotReady("not serving: a, b until `tidegate reset` (recovery is manual)".into())
    );
}

#[test]
fn many_culprits_are_counted() {
    let verdicts = Verdicts::new((0..30).map(|number| format!("s{number:02}")), Recovery::Automatic);
    let Readiness::NotReady(why) = verdicts.readiness() else {
        panic!("ready without a verdict")
    };
    assert!(why.ends_with("s09 and 20 more"), "{why}");
}
