//! The arithmetic of the budget, and its sentences.

use std::time::Duration;

use tidegate::drain::budget::{Budget, Grace, Margin, Plan, PlanError, Seconds, Waits, Window, Wishes};

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn plan(grace: u64, wishes: Wishes) -> Result<Plan, PlanError> {
    plan_after(grace, 0, wishes)
}

fn plan_after(grace: u64, pre_stop: u64, wishes: Wishes) -> Result<Plan, PlanError> {
    Plan::new(Grace(millis(grace)), Margin::default(), millis(pre_stop), wishes)
}

fn sentence(plan: Result<Plan, PlanError>) -> String {
    plan.expect_err("this does not fit").to_string()
}

#[test]
fn a_fifth_of_the_grace_period_is_never_used() {
    for grace in 1..=600 {
        let budget = Budget::new(
            Grace(Duration::from_secs(grace)),
            Margin::default(),
            Duration::ZERO,
        );
        assert_eq!(budget, Ok(Budget(millis(grace * 800))));
    }
}

#[test]
fn time_spent_by_a_hook_we_cannot_see_comes_off_the_budget() {
    let plan = plan_after(30_000, 10_000, Wishes::default()).expect("it fits");
    assert_eq!(plan.budget, Budget(millis(14_000)));
}

#[test]
fn defaults_are_capped_where_time_is_plenty() {
    let plan = plan(30_000, Wishes::default()).expect("it fits");
    assert_eq!(
        plan.propagation,
        Window {
            min: millis(5_000),
            max: millis(5_000)
        }
    );
    assert_eq!(plan.quiet, millis(1_000));
    assert_eq!(plan.stop_timeout, millis(5_000));
    assert_eq!(plan.kill_wait, millis(1_000));
    assert_eq!(plan.waits, Waits::Kept);
}

#[test]
fn defaults_shrink_with_a_grace_of_five_seconds() {
    let plan = plan(5_000, Wishes::default()).expect("it fits");
    assert_eq!(plan.budget, Budget(millis(4_000)));
    assert_eq!(
        plan.propagation,
        Window {
            min: millis(1_000),
            max: millis(1_000)
        }
    );
    assert_eq!(plan.quiet, millis(200));
    assert_eq!(plan.stop_timeout, millis(1_000));
    assert_eq!(plan.kill_wait, millis(400));
}

#[test]
fn defaults_fit_every_grace_period_and_leave_room_to_see_quiet() {
    for grace in 0..=120_000 {
        let plan = plan(grace, Wishes::default()).expect("defaults always fit");
        let parts = plan.propagation.min + plan.quiet + plan.stop_timeout + plan.kill_wait;
        assert!(parts <= plan.budget.0, "{plan:?}");
    }
}

#[test]
fn a_sum_that_fits_to_the_last_millisecond_is_taken() {
    let wishes = Wishes {
        propagation: Some(Window {
            min: millis(18_000),
            max: millis(60_000),
        }),
        ..Wishes::default()
    };
    assert!(plan(30_000, wishes).is_ok());
}

#[test]
fn what_does_not_fit_is_refused_with_the_sum_spelt_out() {
    let wishes = Wishes {
        propagation: Some(Window {
            min: millis(18_001),
            max: millis(18_001),
        }),
        ..Wishes::default()
    };
    assert_eq!(
        sentence(plan(30_000, wishes)),
        "the budget does not hold: drain.propagation 18.001s + child.stopTimeout 5s + child.killWait 1s = 24.001s, \
         but terminationGracePeriodSeconds 30s − 20 % leaves 24s; shorten them by 1ms or raise the grace period"
    );
}

#[test]
fn the_hook_before_is_part_of_the_sum() {
    let wishes = Wishes {
        stop_timeout: Some(millis(20_000)),
        ..Wishes::default()
    };
    assert_eq!(
        sentence(plan_after(30_000, 3_000, wishes)),
        "the budget does not hold: drain.propagation 5s + child.stopTimeout 20s + child.killWait 1s = 26s, \
         but terminationGracePeriodSeconds 30s − 20 % − preStopSeconds 3s leaves 21s; \
         shorten them by 5s or raise the grace period"
    );
}

#[test]
fn a_hook_that_spends_the_whole_budget_is_refused() {
    assert_eq!(
        sentence(plan_after(30_000, 24_000, Wishes::default())),
        "preStopSeconds: 24s leaves nothing of terminationGracePeriodSeconds 30s − 20 %; \
         shorten the hook or raise the grace period"
    );
}

#[test]
fn a_short_grace_does_not_count_the_propagation_it_skips() {
    let wishes = |stop_timeout| Wishes {
        propagation: Some(Window {
            min: millis(5_000),
            max: millis(5_000),
        }),
        stop_timeout: Some(millis(stop_timeout)),
        ..Wishes::default()
    };
    let taken = plan(2_000, wishes(1_440)).expect("it fits");
    assert_eq!(taken.waits, Waits::Skipped);
    assert_eq!(
        sentence(plan(2_000, wishes(1_441))),
        "the budget does not hold: child.stopTimeout 1.441s + child.killWait 160ms = 1.601s, \
         but terminationGracePeriodSeconds 2s − 20 % leaves 1.6s; shorten them by 1ms or raise the grace period"
    );
}

#[test]
fn waits_are_kept_just_above_two_seconds() {
    let plan = plan(2_001, Wishes::default()).expect("it fits");
    assert_eq!(plan.waits, Waits::Kept);
}

#[test]
fn kill_wait_is_never_less_than_the_dead_need_to_be_reaped() {
    let wishes = |stop_timeout| Wishes {
        stop_timeout: Some(millis(stop_timeout)),
        kill_wait: Some(Duration::ZERO),
        ..Wishes::default()
    };
    let taken = plan(30_000, wishes(18_950)).expect("it fits");
    assert_eq!(taken.kill_wait, millis(50));
    assert_eq!(
        sentence(plan(30_000, wishes(19_000))),
        "the budget does not hold: drain.propagation 5s + child.stopTimeout 19s + child.killWait 50ms (the least) \
         = 24.05s, but terminationGracePeriodSeconds 30s − 20 % leaves 24s; shorten them by 50ms or raise the grace period"
    );
}

#[test]
fn a_grace_of_zero_has_nothing_to_share_and_is_no_error() {
    let plan = plan(0, Wishes::default()).expect("it fits");
    assert_eq!(plan.budget, Budget(Duration::ZERO));
    assert_eq!(plan.waits, Waits::Skipped);
}

#[test]
fn no_span_a_person_can_write_overflows() {
    let longest = Wishes {
        propagation: Some(Window {
            min: Duration::MAX,
            max: Duration::MAX,
        }),
        quiet: Some(Duration::MAX),
        stop_timeout: Some(Duration::MAX),
        kill_wait: Some(Duration::MAX),
    };
    let grace = Grace(Duration::MAX);
    assert!(Plan::new(grace, Margin::default(), Duration::MAX, Wishes::default()).is_err());
    assert!(Plan::new(grace, Margin::default(), Duration::ZERO, longest).is_err());
    assert!(Plan::new(grace, Margin::default(), Duration::ZERO, Wishes::default()).is_ok());
}

#[test]
fn a_margin_is_a_share() {
    for percent in [-0.1, 99.1, 100.0, f64::NAN, f64::INFINITY] {
        assert!(Margin::percent(percent).is_err(), "{percent}");
    }
    assert_eq!(
        Margin::percent(100.0)
            .expect_err("nothing would be left")
            .to_string(),
        "marginPercent: 100 is not in 0 to 99; 20 leaves the kubelet's last fifth alone"
    );
    let none = Margin::percent(0.0).expect("it is a share");
    let budget = Budget::new(Grace(millis(30_000)), none, Duration::ZERO);
    assert_eq!(budget, Ok(Budget(millis(30_000))));
}

#[test]
fn spans_are_written_as_people_write_them() {
    for millis in 1..1_000 {
        assert_eq!(
            Seconds(Duration::from_millis(millis)).to_string(),
            format!("{millis}ms")
        );
    }
    for (span, said) in [
        (0, "0s"),
        (1_000, "1s"),
        (1_500, "1.5s"),
        (24_050, "24.05s"),
        (90_000, "90s"),
    ] {
        assert_eq!(Seconds(millis(span)).to_string(), said);
    }
}
