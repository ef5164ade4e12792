//! What happened in a drain, as the machine saw it.

use std::fmt;
use std::time::{Duration, Instant};

use super::budget::Plan;
use super::quiet::InFlight;
use super::table::{PHASES, Phase};

/// What set a stop off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// A signal to tidegate, by its number.
    Signal(i32),
    /// The pod's preStop hook.
    PreStop,
}

/// Why a drain ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// In-flight was quiet for the whole quiet period.
    Drained,
    /// There was no in-flight source, or it was unknown for longer than it is waited for.
    Unmeasured,
    /// Calls were still under way, or in-flight was unknown, at the bound.
    Deadline,
    /// At the bound the gauge had not moved for `stalledAfter`.
    Stalled,
    /// The child was gone before its stop signal.
    ChildExited,
    /// The waits were skipped.
    Hurried,
    /// A hold was undone.
    Resumed,
}

impl Verdict {
    /// Every verdict.
    pub const ALL: [Self; 7] = [
        Self::Drained,
        Self::Unmeasured,
        Self::Deadline,
        Self::Stalled,
        Self::ChildExited,
        Self::Hurried,
        Self::Resumed,
    ];

    /// Its name in logs, metrics and the report.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Drained => "drained",
            Self::Unmeasured => "unmeasured",
            Self::Deadline => "deadline",
            Self::Stalled => "stalled",
            Self::ChildExited => "child-exited",
            Self::Hurried => "hurried",
            Self::Resumed => "resumed",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One step from a phase to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The phase that ended.
    pub from: Phase,
    /// The phase that began.
    pub to: Phase,
    /// Why the drain ended, once it has.
    pub verdict: Option<Verdict>,
}

/// What happened, gathered as it happens.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The plan it ran by.
    pub plan: Plan,
    /// What set the stop off.
    pub trigger: Option<Trigger>,
    /// T0: when the stop was set off.
    pub begun: Option<Instant>,
    /// D: when everything has to be over.
    pub deadline: Option<Instant>,
    /// When a hold began.
    pub held: Option<Instant>,
    /// Why the drain ended.
    pub verdict: Option<Verdict>,
    /// The last look at the calls in flight; none was made before the first.
    pub in_flight: Option<InFlight>,
    /// Looks that gave a count.
    pub counted: u64,
    /// Looks that did not.
    pub unknown: u64,
    /// Whether in-flight stood still above the threshold for `stalledAfter`.
    pub stalled: bool,
    /// Whether the child had to be killed because the deadline was near.
    pub killed: bool,
    /// Whether leftovers had to be killed.
    pub leftovers_killed: bool,
    entered: [Option<Instant>; PHASES],
}

impl Record {
    /// An empty record of a run by `plan`.
    pub fn new(plan: Plan) -> Self {
        Self {
            plan,
            trigger: None,
            begun: None,
            deadline: None,
            held: None,
            verdict: None,
            in_flight: None,
            counted: 0,
            unknown: 0,
            stalled: false,
            killed: false,
            leftovers_killed: false,
            entered: [None; PHASES],
        }
    }

    pub(super) fn enter(&mut self, phase: Phase, now: Instant) {
        self.entered[phase as usize] = Some(now);
    }

    pub(super) fn note_look(&mut self, in_flight: InFlight) {
        self.in_flight = Some(in_flight);
        match in_flight {
            InFlight::Count(_) => self.counted += 1,
            InFlight::Unknown => self.unknown += 1,
        }
    }

    /// How long `phase` lasted; `None` if it was never entered or is not over.
    pub fn lasted(&self, phase: Phase) -> Option<Duration> {
        let begun = self.entered[phase as usize]?;
        let end = self.entered[phase as usize + 1..].iter().flatten().min()?;
        Some(end.saturating_duration_since(begun))
    }

    /// From the trigger to the end of the run, or to `now`.
    pub fn spent(&self, now: Instant) -> Option<Duration> {
        let end = self.entered[Phase::Over as usize].unwrap_or(now);
        Some(end.saturating_duration_since(self.begun?))
    }
}
