//! The report of a drain: what a person reads and what a machine parses.

use std::time::{Duration, Instant};

use serde::Serialize;

use super::budget::Waits;
use super::program::End;
use super::quiet::InFlight;
use super::record::{Record, Trigger, Verdict};
use super::table::Phase;
use crate::child::{ChildEnd, Signal};
use crate::hooks::Summary;

/// What a run came to. Its JSON is the termination message; the field names are stable.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Why the drain ended.
    pub verdict: &'static str,
    /// What set the stop off: a signal's name, `preStop`, or null when nothing did.
    pub trigger: Option<String>,
    /// How long each phase lasted, in milliseconds; null if it was not reached.
    pub phases_millis: PhasesMillis,
    /// Calls under way at the stop signal; null when that is not known.
    pub in_flight_at_stop: Option<u64>,
    /// Polls of in-flight that gave no count.
    pub unknown_polls: u64,
    /// How the child ended.
    pub child: ChildReport,
    /// What tidegate exits with.
    pub exit_code: u8,
    /// The time the drain had, in milliseconds.
    pub budget_millis: u64,
    /// The time it took from the trigger on, in milliseconds; null when nothing set it off.
    pub spent_millis: Option<u64>,
    /// What the hooks came to.
    pub hooks: Summary,
    /// Log lines that could not be written.
    pub dropped_log_lines: u64,
    /// All of it in a sentence.
    pub message: String,
}

/// The milliseconds of each phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PhasesMillis {
    /// Health turns NOT_SERVING.
    pub notify: Option<u64>,
    /// Load balancers get the time to notice.
    pub propagation: Option<u64>,
    /// Calls under way are watched.
    pub in_flight: Option<u64>,
    /// From the stop signal on.
    pub stop: Option<u64>,
    /// From SIGKILL on.
    pub kill: Option<u64>,
    /// From the child's end on.
    pub leftovers: Option<u64>,
}

/// How the child ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChildReport {
    /// Its own exit code, if it exited.
    pub exit_code: Option<u8>,
    /// The signal that ended it, if one did.
    pub signal: Option<String>,
    /// Whether it was killed because the deadline was near.
    pub killed_by_deadline: bool,
}

/// The end of a run, beside what the machine recorded.
#[derive(Clone, Debug)]
pub struct Ending {
    /// How the program ended; `None` if it had not when the deadline passed.
    pub program: Option<End>,
    /// What tidegate exits with.
    pub exit_code: u8,
    /// Log lines that could not be written.
    pub dropped_log_lines: u64,
    /// What the hooks came to.
    pub hooks: Summary,
}

impl Report {
    /// The report of a run that is over at `now`.
    pub fn new(record: &Record, ending: &Ending, now: Instant) -> Self {
        let verdict = record.verdict.unwrap_or(Verdict::ChildExited);
        let lasted = |phase| record.lasted(phase).map(millis);
        Self {
            verdict: verdict.name(),
            trigger: record.trigger.map(trigger_name),
            phases_millis: PhasesMillis {
                notify: lasted(Phase::Notify),
                propagation: lasted(Phase::Propagation),
                in_flight: lasted(Phase::InFlight),
                stop: lasted(Phase::Stop),
                kill: lasted(Phase::Kill),
                leftovers: lasted(Phase::Leftovers),
            },
            in_flight_at_stop: count(record.in_flight),
            unknown_polls: record.unknown,
            child: ChildReport::new(ending.program, record.killed),
            exit_code: ending.exit_code,
            budget_millis: millis(record.plan.budget.0),
            spent_millis: record.spent(now).map(millis),
            hooks: ending.hooks.clone(),
            dropped_log_lines: ending.dropped_log_lines,
            message: sentence(record, verdict, ending, now),
        }
    }
}

impl ChildReport {
    fn new(end: Option<End>, killed_by_deadline: bool) -> Self {
        let (exit_code, signal) = match end {
            Some(End::Child(ChildEnd::Exited(code))) => (Some(code), None),
            Some(End::Child(ChildEnd::Signaled { signal, .. })) => (None, Some(signal.to_string())),
            Some(End::Beside | End::LeftToTheKubelet) | None => (None, None),
        };
        Self {
            exit_code,
            signal,
            killed_by_deadline,
        }
    }
}

/// What a person reads in `kubectl describe pod`.
fn sentence(record: &Record, verdict: Verdict, ending: &Ending, now: Instant) -> String {
    let why = match (verdict, count(record.in_flight)) {
        (Verdict::Drained, Some(left)) if left > 0 => {
            format!("drained: {left} calls under way, no more than the threshold")
        }
        (Verdict::Drained, _) => "drained: every call under way had ended".to_owned(),
        (Verdict::Unmeasured, _) if record.counted + record.unknown == 0 => {
            "stopped after propagation: no in-flight source is configured, so calls may have been cut"
                .to_owned()
        }
        (Verdict::Unmeasured, _) => {
            "stopped because in-flight could not be counted: calls may have been cut".to_owned()
        }
        (Verdict::Deadline, Some(0)) => {
            "stopped at the deadline: no call was under way, but not for the whole quiet period".to_owned()
        }
        (Verdict::Deadline, Some(left)) => {
            format!("stopped at the deadline with {left} calls under way: they may be incomplete")
        }
        (Verdict::Deadline, None) => {
            "stopped at the deadline, in-flight unknown: calls may have been cut".to_owned()
        }
        (Verdict::Stalled, left) => format!(
            "stopped at the deadline: in-flight stood still at {} and may be miscounted or stuck",
            left.map_or("unknown".to_owned(), |left| left.to_string())
        ),
        (Verdict::Hurried, _) if record.plan.waits == Waits::Skipped => {
            "stopped at once: the grace period is too short for any wait".to_owned()
        }
        (Verdict::Hurried, _) if record.lasted(Phase::Serving).is_none() => {
            "stopped at once: it was asked to stop before it served".to_owned()
        }
        (Verdict::Hurried, _) => "stopped without the waits, as asked".to_owned(),
        (Verdict::Resumed, _) => "came back into traffic".to_owned(),
        (Verdict::ChildExited, _) if record.trigger.is_none() => "ended by itself".to_owned(),
        (Verdict::ChildExited, _) => "ended before its stop signal".to_owned(),
    };
    let end = match (ending.program, record.killed) {
        (None, _) => "the program could not be ended".to_owned(),
        (Some(End::Child(end)), true) => format!("the program was still there near the deadline: {end}"),
        (Some(End::Child(end @ ChildEnd::Signaled { .. })), false) => format!("the program was {end}"),
        (Some(End::Child(end)), false) => format!("the program {end}"),
        (Some(End::Beside), true) => {
            "the program was still there near the deadline and has SIGKILL".to_owned()
        }
        (Some(End::Beside), false) => "the program has ended".to_owned(),
        (Some(End::LeftToTheKubelet), _) => "its stop signal is the kubelet's".to_owned(),
    };
    let hooks = match &ending.hooks.first_failure {
        Some(failure) => format!("; not out of every registry: {failure}"),
        None => String::new(),
    };
    match record.spent(now) {
        Some(spent) => format!(
            "{why}; {end}{hooks}; {:.1} s of {} used",
            spent.as_secs_f64(),
            super::budget::Seconds(record.plan.budget.0)
        ),
        None => format!("{why}; {end}{hooks}"),
    }
}

/// A trigger's name in logs and reports.
pub fn trigger_name(trigger: Trigger) -> String {
    match trigger {
        Trigger::Signal(number) => match Signal::new(number) {
            Some(signal) => signal.to_string(),
            None => number.to_string(),
        },
        Trigger::PreStop => "preStop".to_owned(),
    }
}

fn count(in_flight: Option<InFlight>) -> Option<u64> {
    match in_flight {
        Some(InFlight::Count(count)) => Some(count),
        Some(InFlight::Unknown) | None => None,
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
