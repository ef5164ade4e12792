//! What a drain promises, whatever happens: section by section what `docs/drain.md` says.

use std::time::{Duration, Instant};

use tidegate::drain::action::Action;
use tidegate::drain::event::{Event, Measured};
use tidegate::drain::record::{Trigger, Verdict};
use tidegate::drain::table::Phase;

use crate::spec::{Broken, Moment, Shown, Spec, later};

/// Checks every promise at one moment.
pub fn keep(spec: &Spec, moment: &Moment, base: Instant) -> Result<(), Broken> {
    for (promise, kept) in PROMISES {
        if !kept(spec, moment) {
            return Err(Broken {
                promise,
                moment: moment.told_from(base),
            });
        }
    }
    Ok(())
}

type Promise = fn(&Spec, &Moment) -> bool;

/// A list of promises, each under its own name.
macro_rules! promises {
    ($($name:ident),* $(,)?) => { &[$((stringify!($name), $name as Promise)),*] };
}

const PROMISES: &[(&str, Promise)] = promises![
    the_deadline_is_t0_plus_budget_unless_it_was_shortened,
    the_deadline_never_moves_later,
    the_run_is_over_by_the_deadline,
    not_serving_never_turns_back_once_a_stop_has_begun,
    health_says_what_the_phase_is,
    propagation_lasts_its_min,
    propagation_lasts_its_max_unless_everyone_is_told,
    propagation_never_lasts_longer_than_its_max,
    propagation_ends_once_everyone_is_told,
    looks_never_overlap,
    looks_are_made_only_while_in_flight_is_watched,
    a_look_is_under_way_or_planned_while_in_flight_is_watched,
    drained_is_said_only_of_a_proven_quiet_period,
    a_proven_quiet_period_ends_the_wait_at_once,
    the_stop_signal_is_not_sent_while_calls_are_under_way_or_unknown,
    proceed_after_ends_the_wait_for_the_unknown,
    the_end_of_proceed_after_is_woken_for,
    the_stop_signal_comes_by_its_bound,
    a_hurried_stop_waits_for_nothing,
    the_stop_signal_is_sent_at_most_once,
    sigkill_comes_only_after_the_stop_signal,
    sigkill_leaves_the_child_its_stop_timeout,
    sigkill_comes_at_its_moment,
    nothing_is_signalled_after_the_child_is_gone,
    a_child_that_is_gone_is_not_waited_for,
    leftovers_are_asked_before_they_are_killed,
    leftovers_are_asked_when_the_child_is_gone_and_hooks_are_settled,
    leftovers_are_left_their_kill_wait,
    leftovers_are_not_waited_for_longer_than_twice_kill_wait,
    what_outlives_the_run_has_sigkill,
    the_last_process_ends_the_run,
    phases_go_forward_but_for_a_hold_undone,
    a_verdict_is_never_taken_back,
    every_end_has_a_verdict,
    exit_comes_exactly_once_and_last,
    what_cannot_be_done_is_refused,
    a_second_sigterm_changes_nothing,
    time_never_asks_to_come_back_in_the_past,
    a_tick_at_the_deadline_changes_something,
    an_idle_run_never_wakes_up,
];

// The deadline.

fn the_deadline_is_t0_plus_budget_unless_it_was_shortened(spec: &Spec, moment: &Moment) -> bool {
    match moment.after.phase {
        Phase::Over | Phase::Serving | Phase::Held => moment.after.deadline.is_none(),
        _ => moment.after.deadline == spec.deadline,
    }
}

fn the_deadline_never_moves_later(_: &Spec, moment: &Moment) -> bool {
    match (moment.before.deadline, moment.after.deadline) {
        (Some(before), Some(after)) => after <= before,
        _ => true,
    }
}

fn the_run_is_over_by_the_deadline(spec: &Spec, moment: &Moment) -> bool {
    spec.deadline
        .is_none_or(|deadline| moment.now < deadline || moment.after.phase == Phase::Over)
}

// Health.

fn not_serving_never_turns_back_once_a_stop_has_begun(spec: &Spec, moment: &Moment) -> bool {
    spec.t0.is_none() || !moment.did(&Action::ShowServing)
}

fn health_says_what_the_phase_is(spec: &Spec, moment: &Moment) -> bool {
    let mut shown = spec.shown;
    for action in moment.actions {
        match action {
            Action::ShowServing => shown = Some(Shown::Serving),
            Action::ShowNotServing => shown = Some(Shown::NotServing),
            _ => {}
        }
    }
    match moment.after.phase {
        Phase::Starting => shown == spec.t0.map(|_| Shown::NotServing),
        Phase::Serving => shown == Some(Shown::Serving),
        // A child that never came up was never shown.
        Phase::Over => shown != Some(Shown::Serving),
        _ => shown == Some(Shown::NotServing),
    }
}

// Propagation.

/// Whether propagation was left, by the way of its own time, in this moment.
fn propagation_ended_by_itself(spec: &Spec, moment: &Moment) -> bool {
    let ended = moment.before.phase <= Phase::Propagation && moment.after.phase > Phase::Propagation;
    ended && spec.gone.is_none() && !spec.hurried && !spec.at_the_bound(moment.now)
}

fn propagation_lasts_its_min(spec: &Spec, moment: &Moment) -> bool {
    let min = spec.rules.plan.propagation.min;
    !propagation_ended_by_itself(spec, moment)
        || spec
            .visible
            .is_some_and(|(earliest, _)| moment.now >= later(earliest, min))
}

fn propagation_lasts_its_max_unless_everyone_is_told(spec: &Spec, moment: &Moment) -> bool {
    let max = spec.rules.plan.propagation.max;
    !propagation_ended_by_itself(spec, moment)
        || spec.everyone_is_told()
        || spec
            .visible
            .is_some_and(|(earliest, _)| moment.now >= later(earliest, max))
}

fn propagation_never_lasts_longer_than_its_max(spec: &Spec, moment: &Moment) -> bool {
    moment.after.phase != Phase::Propagation
        || !propagation_has_lasted(spec, moment, spec.rules.plan.propagation.max)
}

fn propagation_ends_once_everyone_is_told(spec: &Spec, moment: &Moment) -> bool {
    moment.after.phase != Phase::Propagation
        || !spec.everyone_is_told()
        || !propagation_has_lasted(spec, moment, spec.rules.plan.propagation.min)
}

/// Whether the window has certainly lasted for `length`. A machine that is woken late begins
/// it late.
fn propagation_has_lasted(spec: &Spec, moment: &Moment, length: Duration) -> bool {
    moment.before.phase == Phase::Propagation
        && spec
            .window_begun
            .is_some_and(|begun| moment.now >= later(begun, length))
}

// In-flight.

fn looks_never_overlap(spec: &Spec, moment: &Moment) -> bool {
    let looks = moment.times(&Action::Look);
    looks == 0 || (looks == 1 && !spec.look_under_way)
}

fn looks_are_made_only_while_in_flight_is_watched(_: &Spec, moment: &Moment) -> bool {
    !moment.did(&Action::Look) || moment.after.phase == Phase::InFlight
}

fn a_look_is_under_way_or_planned_while_in_flight_is_watched(spec: &Spec, moment: &Moment) -> bool {
    let under_way = spec.look_under_way || moment.did(&Action::Look);
    let gap = spec.rules.poll_interval.max(Duration::from_nanos(1));
    moment.after.phase != Phase::InFlight
        || under_way
        || moment.after.next_deadline.is_some_and(|next| {
            // One that would only put off the completing look is left out.
            let answered = spec.sights.last().map_or(moment.now, |last| last.answered);
            let took = spec
                .sights
                .last()
                .map_or(Duration::ZERO, |last| answered.duration_since(last.begun));
            next <= later(later(answered, gap), took.max(gap))
        })
}

fn drained_is_said_only_of_a_proven_quiet_period(spec: &Spec, moment: &Moment) -> bool {
    !moment.did(&Action::StopChild)
        || moment.after.verdict != Some(Verdict::Drained)
        || (spec.rules.measured == Measured::Yes && spec.quiet_is_proven())
}

fn a_proven_quiet_period_ends_the_wait_at_once(spec: &Spec, moment: &Moment) -> bool {
    moment.after.phase != Phase::InFlight || !spec.quiet_is_proven()
}

fn the_stop_signal_is_not_sent_while_calls_are_under_way_or_unknown(spec: &Spec, moment: &Moment) -> bool {
    if !moment.did(&Action::StopChild) {
        return true;
    }
    match moment.after.verdict {
        Some(Verdict::Drained) => spec.quiet_is_proven(),
        Some(Verdict::Unmeasured) if spec.rules.measured == Measured::No => true,
        Some(Verdict::Unmeasured) => spec.patience_is_over(moment.now),
        Some(Verdict::Deadline | Verdict::Stalled) => spec.at_the_bound(moment.now),
        Some(Verdict::Hurried) => spec.hurried,
        Some(Verdict::ChildExited | Verdict::Resumed) | None => false,
    }
}

fn proceed_after_ends_the_wait_for_the_unknown(spec: &Spec, moment: &Moment) -> bool {
    moment.after.phase != Phase::InFlight || !spec.patience_is_over(moment.now)
}

/// Nothing else may happen until then: the look under way may never be answered.
fn the_end_of_proceed_after_is_woken_for(spec: &Spec, moment: &Moment) -> bool {
    let asked_for = |end| moment.after.next_deadline.is_some_and(|next| next <= end);
    moment.after.phase != Phase::InFlight || spec.patience_end().is_none_or(asked_for)
}

// The child.

fn the_stop_signal_comes_by_its_bound(spec: &Spec, moment: &Moment) -> bool {
    let waiting = matches!(
        moment.after.phase,
        Phase::Notify | Phase::Propagation | Phase::InFlight
    );
    !waiting || !spec.at_the_bound(moment.now)
}

fn a_hurried_stop_waits_for_nothing(spec: &Spec, moment: &Moment) -> bool {
    let waiting = matches!(
        moment.after.phase,
        Phase::Notify | Phase::Propagation | Phase::InFlight
    );
    !waiting || !spec.hurried
}

fn the_stop_signal_is_sent_at_most_once(spec: &Spec, moment: &Moment) -> bool {
    usize::from(spec.stopped.is_some()) + moment.times(&Action::StopChild) <= 1
}

fn sigkill_comes_only_after_the_stop_signal(spec: &Spec, moment: &Moment) -> bool {
    let place = |action| moment.actions.iter().position(|done| *done == action);
    match place(Action::KillChild) {
        Some(kill) => spec.stopped.is_some() || place(Action::StopChild).is_some_and(|stop| stop < kill),
        None => true,
    }
}

fn sigkill_leaves_the_child_its_stop_timeout(spec: &Spec, moment: &Moment) -> bool {
    if !moment.did(&Action::KillChild) {
        return true;
    }
    let given = spec
        .stopped
        .filter(|stopped| stopped.in_time && !spec.shortened)
        .is_none_or(|stopped| moment.now >= later(stopped.at, spec.rules.plan.stop_timeout));
    given && Some(moment.now) >= spec.kill_at()
}

fn sigkill_comes_at_its_moment(spec: &Spec, moment: &Moment) -> bool {
    moment.after.phase != Phase::Stop || Some(moment.now) < spec.kill_at()
}

fn nothing_is_signalled_after_the_child_is_gone(spec: &Spec, moment: &Moment) -> bool {
    spec.gone.is_none() || !(moment.did(&Action::StopChild) || moment.did(&Action::KillChild))
}

fn a_child_that_is_gone_is_not_waited_for(spec: &Spec, moment: &Moment) -> bool {
    spec.gone.is_none() || moment.after.phase >= Phase::Leftovers
}

// The leftovers.

fn leftovers_are_asked_before_they_are_killed(spec: &Spec, moment: &Moment) -> bool {
    // At the deadline, with the child not reaped, there is no time to ask.
    !moment.did(&Action::KillLeftovers)
        || spec.leftovers_told.is_some()
        || moment.did(&Action::StopLeftovers)
        || (spec.gone.is_none() && spec.deadline <= Some(moment.now))
}

fn leftovers_are_asked_when_the_child_is_gone_and_hooks_are_settled(spec: &Spec, moment: &Moment) -> bool {
    let told = spec.leftovers_told.is_some() || moment.did(&Action::StopLeftovers);
    let is_time = !spec.hooks_keep_us || Some(moment.now) >= spec.settle_end();
    match spec.gone {
        Some(_) if moment.after.phase == Phase::Leftovers => told == is_time || spec.leftovers_told.is_some(),
        _ => !moment.did(&Action::StopLeftovers) || is_time,
    }
}

fn leftovers_are_left_their_kill_wait(spec: &Spec, moment: &Moment) -> bool {
    let plan = &spec.rules.plan;
    !moment.did(&Action::KillLeftovers)
        || spec
            .leftovers_told
            .is_some_and(|told| moment.now >= later(told, plan.kill_wait))
        || spec
            .before_deadline(plan.reserve())
            .is_some_and(|last| moment.now >= last)
        || (moment.did(&Action::StopLeftovers) && plan.kill_wait.is_zero())
}

fn leftovers_are_not_waited_for_longer_than_twice_kill_wait(spec: &Spec, moment: &Moment) -> bool {
    // Ticks that come late are the only thing that may stretch it.
    let keep_us = spec.leftovers_told.is_none() && !moment.did(&Action::StopLeftovers);
    moment.after.phase != Phase::Leftovers
        || moment.after.next_deadline.is_some_and(|next| {
            let wait = spec.rules.plan.kill_wait;
            let begun = spec.gone.map_or(moment.now, |gone| gone.max(moment.now));
            let end = match keep_us {
                true => spec.settle_end().unwrap_or(begun),
                false => later(begun, wait),
            };
            next <= end && spec.deadline.is_none_or(|deadline| next <= deadline)
        })
}

fn what_outlives_the_run_has_sigkill(spec: &Spec, moment: &Moment) -> bool {
    let ended = moment.before.phase != Phase::Over && moment.after.phase == Phase::Over;
    let told = spec.leftovers_killed || moment.did(&Action::KillLeftovers);
    !ended || told || moment.event == Event::AllGone
}

fn the_last_process_ends_the_run(_: &Spec, moment: &Moment) -> bool {
    moment.before.phase != Phase::Leftovers
        || moment.event != Event::AllGone
        || moment.after.phase == Phase::Over
}

// The run.

fn phases_go_forward_but_for_a_hold_undone(_: &Spec, moment: &Moment) -> bool {
    moment.after.phase >= moment.before.phase
        || (moment.left(Phase::Held) && moment.after.phase == Phase::Serving && moment.event == Event::Resume)
}

fn a_verdict_is_never_taken_back(_: &Spec, moment: &Moment) -> bool {
    moment.before.verdict.is_none() || moment.before.verdict == moment.after.verdict
}

fn every_end_has_a_verdict(_: &Spec, moment: &Moment) -> bool {
    let ended = moment.after.phase >= Phase::Stop;
    moment.after.verdict.is_some() == ended
}

fn exit_comes_exactly_once_and_last(spec: &Spec, moment: &Moment) -> bool {
    let in_vain = |action: &Action| matches!(action, Action::Refuse(..));
    if spec.exited {
        return moment.actions.iter().all(in_vain);
    }
    match moment.after.phase {
        Phase::Over => moment.actions.last() == Some(&Action::Exit) && moment.times(&Action::Exit) == 1,
        _ => !moment.did(&Action::Exit),
    }
}

fn what_cannot_be_done_is_refused(_: &Spec, moment: &Moment) -> bool {
    let phase = moment.before.phase;
    let done = match moment.event {
        Event::Hold => matches!(phase, Phase::Serving | Phase::Held),
        Event::Resume => phase == Phase::Held,
        Event::Hurry => phase >= Phase::Notify,
        _ => true,
    };
    let refused = moment
        .actions
        .iter()
        .any(|action| matches!(action, Action::Refuse(..)));
    done != refused
}

fn a_second_sigterm_changes_nothing(spec: &Spec, moment: &Moment) -> bool {
    let repeated = matches!(
        moment.event,
        Event::Trigger(Trigger::Signal(15) | Trigger::PreStop)
    ) && spec.t0.is_some_and(|t0| t0 < moment.now);
    // What time has brought by then, a late tick brings too.
    let time_is_up = moment.before.next_deadline.is_some_and(|next| next <= moment.now);
    !repeated
        || time_is_up
        || (moment.actions.is_empty() && moment.before.next_deadline == moment.after.next_deadline)
}

fn time_never_asks_to_come_back_in_the_past(_: &Spec, moment: &Moment) -> bool {
    moment.after.next_deadline.is_none_or(|next| next > moment.now)
}

fn a_tick_at_the_deadline_changes_something(_: &Spec, moment: &Moment) -> bool {
    let due =
        moment.event == Event::Tick && moment.before.next_deadline.is_some_and(|next| next <= moment.now);
    !due || !moment.actions.is_empty()
}

fn an_idle_run_never_wakes_up(_: &Spec, moment: &Moment) -> bool {
    !matches!(moment.after.phase, Phase::Serving | Phase::Held | Phase::Over)
        || moment.after.next_deadline.is_none()
}
