//! What a drain promises, whatever happens: section by section what `docs/drain.md` says.
//!
//! The promises are written from the outside: they know the rules, what was said to the
//! machine and what it did, and work out for themselves when what is due.

use std::time::{Duration, Instant};

use tidegate::drain::action::Action;
use tidegate::drain::budget::{LONGEST, Waits};
use tidegate::drain::event::{Event, Evidence, Measured, OnUnknown, Rules, Told};
use tidegate::drain::machine::{Machine, NOTIFY_LIMIT};
use tidegate::drain::quiet::{InFlight, Look};
use tidegate::drain::record::{Trigger, Verdict};
use tidegate::drain::table::Phase;

/// A promise that was not kept, and at what.
#[derive(Clone, Debug)]
pub struct Broken {
    pub promise: &'static str,
    pub moment: String,
}

/// The machine as it can be seen from outside.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    pub phase: Phase,
    next_deadline: Option<Instant>,
    deadline: Option<Instant>,
    verdict: Option<Verdict>,
}

/// One event, and what came of it.
#[derive(Debug)]
pub struct Moment<'a> {
    pub now: Instant,
    pub event: Event,
    pub before: Seen,
    pub after: Seen,
    pub actions: &'a [Action],
}

/// What was said and done before this moment, the event of this moment included.
pub struct Spec {
    rules: Rules,
    t0: Option<Instant>,
    deadline: Option<Instant>,
    shortened: bool,
    interrupts: u32,
    hurried: bool,
    evidence: Evidence,
    shown: Option<Shown>,
    /// The earliest and the latest moment at which NOT_SERVING became visible.
    visible: Option<(Instant, Instant)>,
    window_begun: Option<Instant>,
    sights: Vec<Sight>,
    watched_since: Option<Instant>,
    look_under_way: bool,
    stopped: Option<Stopped>,
    gone: Option<Instant>,
    leftovers_killed: bool,
    exited: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Shown {
    Serving,
    NotServing,
}

#[derive(Clone, Copy, Debug)]
struct Stopped {
    at: Instant,
    /// The signal came no later than the bound of the deadline of that time.
    in_time: bool,
}

/// A look that was answered while in-flight was watched.
#[derive(Clone, Copy, Debug)]
struct Sight {
    answered: Instant,
    begun: Instant,
    /// `None` is unknown.
    calls: Option<u64>,
    counter: Option<f64>,
    arrival: bool,
}

fn later(moment: Instant, span: Duration) -> Instant {
    moment + span.min(LONGEST)
}

impl Seen {
    pub fn of(machine: &Machine) -> Self {
        Self {
            phase: machine.phase(),
            next_deadline: machine.next_deadline(),
            deadline: machine.deadline(),
            verdict: machine.record().verdict,
        }
    }
}

impl Moment<'_> {
    /// In words, with moments as time since `base`.
    fn told_from(&self, base: Instant) -> String {
        let at = |moment: Option<Instant>| moment.map(|moment| moment.duration_since(base));
        let seen = |seen: &Seen| {
            format!(
                "{}, deadline {:?}, next {:?}, verdict {:?}",
                seen.phase,
                at(seen.deadline),
                at(seen.next_deadline),
                seen.verdict
            )
        };
        format!(
            "{:?}: {:?}\n  before: {}\n  after:  {}\n  did:    {:?}",
            at(Some(self.now)),
            self.event,
            seen(&self.before),
            seen(&self.after),
            self.actions
        )
    }

    fn did(&self, action: &Action) -> bool {
        self.actions.contains(action)
    }

    fn times(&self, action: &Action) -> usize {
        self.actions.iter().filter(|done| *done == action).count()
    }

    fn left(&self, phase: Phase) -> bool {
        self.before.phase == phase && self.after.phase != phase
    }
}

impl Spec {
    pub fn new(rules: Rules) -> Self {
        Self {
            rules,
            t0: None,
            deadline: None,
            shortened: false,
            interrupts: 0,
            hurried: false,
            evidence: Evidence::default(),
            shown: None,
            visible: None,
            window_begun: None,
            sights: Vec::new(),
            watched_since: None,
            look_under_way: false,
            stopped: None,
            gone: None,
            leftovers_killed: false,
            exited: false,
        }
    }

    pub fn t0(&self) -> Option<Instant> {
        self.t0
    }

    /// Takes in what is about to be said to the machine.
    pub fn hear(&mut self, now: Instant, event: &Event, before: &Seen) {
        match *event {
            Event::Trigger(by) if before.phase != Phase::Over => self.hear_trigger(now, by, before.phase),
            Event::Shorten(to) if self.t0.is_some() && before.phase != Phase::Over => {
                self.shortened = true;
                let to = if before.phase == Phase::Leftovers {
                    Some(to)
                } else {
                    self.t0.map(|t0| to.max(t0))
                };
                self.deadline = self.deadline.min(to);
            }
            Event::Hurry => self.hurried |= self.t0.is_some(),
            Event::Evidence(evidence) if before.phase >= Phase::Held => self.evidence = evidence,
            Event::Resume if before.phase == Phase::Held => {
                self.evidence = Evidence::default();
                self.visible = None;
            }
            Event::Notified if matches!(before.phase, Phase::Held | Phase::Notify) => {
                if let Some((earliest, latest)) = &mut self.visible {
                    *earliest = (*earliest).max(now).min(*latest);
                    *latest = (*latest).min(now);
                }
            }
            Event::Look(look) => {
                self.look_under_way = false;
                if before.phase == Phase::InFlight {
                    self.sights
                        .push(Sight::new(now, look, &self.sights, self.rules.threshold));
                }
            }
            Event::ChildGone if before.phase < Phase::Leftovers => self.gone = Some(now),
            _ => {}
        }
    }

    fn hear_trigger(&mut self, now: Instant, by: Trigger, phase: Phase) {
        if self.t0.is_none() {
            self.t0 = Some(now);
            self.deadline = Some(later(now, self.rules.plan.budget.0));
            self.hurried = phase == Phase::Starting || self.rules.plan.waits == Waits::Skipped;
        }
        if by == Trigger::Signal(2) {
            self.interrupts += 1;
            self.hurried |= self.interrupts >= 2;
        }
    }

    /// Takes in what the machine did.
    pub fn see(&mut self, moment: &Moment) {
        let now = moment.now;
        for action in moment.actions {
            match action {
                Action::ShowServing => self.shown = Some(Shown::Serving),
                Action::ShowNotServing => {
                    if self.shown != Some(Shown::NotServing) {
                        self.visible = Some((now, later(now, NOTIFY_LIMIT)));
                    }
                    self.shown = Some(Shown::NotServing);
                }
                Action::Look => self.look_under_way = true,
                Action::StopChild => {
                    self.stopped = Some(Stopped {
                        at: now,
                        in_time: Some(now) <= self.stop_at(),
                    });
                }
                Action::KillLeftovers => self.leftovers_killed = true,
                Action::Exit => self.exited = true,
                _ => {}
            }
        }
        if moment.after.phase == Phase::Propagation && self.window_begun.is_none() {
            self.window_begun = match moment.before.phase {
                Phase::Held => self.visible.map(|(_, latest)| latest),
                _ => Some(now),
            };
        }
        if moment.after.phase == Phase::InFlight && self.watched_since.is_none() {
            self.watched_since = Some(now);
        }
    }

    fn before_deadline(&self, span: Duration) -> Option<Instant> {
        let at = self.deadline?.checked_sub(span)?;
        Some(at.max(self.t0?))
    }

    /// D − killWait.
    fn kill_at(&self) -> Option<Instant> {
        self.before_deadline(self.rules.plan.kill_wait)
    }

    /// D − killWait − stopTimeout.
    fn stop_at(&self) -> Option<Instant> {
        let plan = &self.rules.plan;
        self.before_deadline(plan.kill_wait.saturating_add(plan.stop_timeout))
    }

    fn at_the_bound(&self, now: Instant) -> bool {
        self.stop_at().is_some_and(|bound| now >= bound)
    }

    fn everyone_is_told(&self) -> bool {
        let Evidence { audience, hooks } = self.evidence;
        audience != Told::NotAll && hooks != Told::NotAll && (audience == Told::All || hooks == Told::All)
    }

    /// Whether the looks prove a whole quiet period: an unbroken run of looks from one
    /// answered to one begun a period later.
    fn quiet_is_proven(&self) -> bool {
        let Some(last) = self.sights.last() else {
            return false;
        };
        let quiet = self.rules.plan.quiet;
        let Some(first) = self.start_of_quiet() else {
            return false;
        };
        let alone = std::ptr::eq(first, last);
        match alone {
            true => quiet.is_zero() && !last.arrival,
            false => !last.arrival && last.begun >= later(first.answered, quiet),
        }
    }

    /// The first look of the unbroken run of quiet ones that the last look ends.
    fn start_of_quiet(&self) -> Option<&Sight> {
        let mut first = None;
        for sight in self.sights.iter().rev() {
            if sight.calls.is_none_or(|calls| calls > self.rules.threshold) {
                break;
            }
            first = Some(sight);
            if sight.arrival {
                break;
            }
        }
        first
    }

    /// Whether in-flight has been unknown for as long as it is waited for.
    fn patience_is_over(&self, now: Instant) -> bool {
        let OnUnknown::ProceedAfter(patience) = self.rules.on_unknown else {
            return false;
        };
        if self.sights.last().is_none_or(|last| last.calls.is_some()) {
            return false;
        }
        let unknown = self
            .sights
            .iter()
            .rev()
            .take_while(|sight| sight.calls.is_none())
            .count();
        let since = match unknown == self.sights.len() {
            true => self.watched_since,
            false => Some(self.sights[self.sights.len() - unknown].answered),
        };
        since.is_some_and(|since| now >= later(since, patience))
    }
}

impl Sight {
    fn new(answered: Instant, look: Look, before: &[Sight], threshold: u64) -> Self {
        let known = before.iter().rev().find_map(|sight| sight.counter);
        let lost = known.is_some() && look.arrivals.is_none();
        let calls = match look.in_flight {
            InFlight::Count(calls) if calls > threshold || !lost => Some(calls),
            _ => None,
        };
        Self {
            answered,
            begun: look.begun,
            calls,
            counter: look.arrivals,
            arrival: known.is_some() && look.arrivals.is_some() && known != look.arrivals,
        }
    }
}

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
    the_stop_signal_comes_by_its_bound,
    a_hurried_stop_waits_for_nothing,
    the_stop_signal_is_sent_at_most_once,
    sigkill_comes_only_after_the_stop_signal,
    sigkill_leaves_the_child_its_stop_timeout,
    sigkill_comes_at_its_moment,
    nothing_is_signalled_after_the_child_is_gone,
    a_child_that_is_gone_is_not_waited_for,
    leftovers_are_asked_before_they_are_killed,
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
    !moment.did(&Action::KillLeftovers) || spec.gone.is_some() || spec.deadline <= Some(moment.now)
}

fn leftovers_are_left_their_kill_wait(spec: &Spec, moment: &Moment) -> bool {
    let plan = &spec.rules.plan;
    !moment.did(&Action::KillLeftovers)
        || spec
            .gone
            .is_some_and(|gone| moment.now >= later(gone, plan.kill_wait))
        || spec
            .before_deadline(plan.reserve())
            .is_some_and(|last| moment.now >= last)
}

fn leftovers_are_not_waited_for_longer_than_twice_kill_wait(spec: &Spec, moment: &Moment) -> bool {
    // Ticks that come late are the only thing that may stretch it.
    moment.after.phase != Phase::Leftovers
        || moment.after.next_deadline.is_some_and(|next| {
            let wait = spec.rules.plan.kill_wait;
            let begun = spec.gone.map_or(moment.now, |gone| gone.max(moment.now));
            next <= later(begun, wait) && spec.deadline.is_none_or(|deadline| next <= deadline)
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
