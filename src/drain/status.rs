//! What a run is doing now: what `tidegate status` shows, field by field.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::hands::Hands;
use super::machine::{Machine, Measured};
use super::program::End;
use super::quiet::InFlight;
use super::record::Verdict;
use super::report::trigger_name;
use super::table::Phase;
use crate::health;
use crate::hooks::Outcome;

/// What a run is doing. Its JSON is what `tidegate status -o json` prints; the field names are stable
/// (docs/admin.md).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The version of the tidegate that runs.
    pub version: String,
    /// How time stands.
    #[serde(flatten)]
    pub times: Times,
    /// All else. A follower is told when this changes.
    #[serde(flatten)]
    pub facts: Facts,
}

/// How time stands, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Times {
    /// Since the child was started.
    pub uptime_millis: u64,
    /// Since the hold began; null when there was none.
    pub held_millis: Option<u64>,
    /// Since T0; null before a stop.
    pub spent_millis: Option<u64>,
    /// To the deadline; null before a stop.
    pub time_left_millis: Option<u64>,
    /// What a stop has from T0 to the deadline.
    pub budget_millis: u64,
}

/// What only an event changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Facts {
    /// The phase, by its name in logs and metrics.
    pub phase: String,
    /// What set the stop off, as in the termination message; null before a stop.
    pub trigger: Option<String>,
    /// Why the drain ended; null until it has.
    pub verdict: Option<String>,
    /// Whether calls in flight can be counted: whether there is an in-flight source.
    pub measured: bool,
    /// Calls under way at the last look; null when they are not known.
    pub in_flight: Option<u64>,
    /// Polls of in-flight in this drain that gave no count.
    pub unknown_polls: u64,
    /// Whether in-flight stands still above the threshold.
    pub stalled: bool,
    /// Who has been told that this instance is leaving.
    pub propagation: Propagation,
    /// How the hooks stand, of this leaving or the last coming back.
    #[serde(default)]
    pub hooks: Vec<Outcome>,
    /// The program.
    pub child: ChildStatus,
    /// Whether it is in a container beside this one's.
    #[serde(default)]
    pub sidecar: bool,
    /// Why health is not SERVING, as `/readyz` says it; null when it is.
    #[serde(default)]
    pub not_ready: Option<String>,
    /// What health shows, by service; the empty name is the whole.
    pub services: BTreeMap<String, String>,
}

/// Who listens to health, and who has been told NOT_SERVING.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Propagation {
    /// Open Watches.
    pub watchers: usize,
    /// Those of them that were told.
    pub watchers_told: usize,
    /// Peers that probed within the last 30 s.
    pub probers: usize,
    /// Those of them that were told.
    pub probers_told: usize,
    /// A few of those that were not, once that matters.
    pub untold: Vec<String>,
}

/// The program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChildStatus {
    /// Its process id; null while it is not known, of a program beside us.
    pub pid: Option<i32>,
    /// How it ended; null while it lives.
    pub end: Option<String>,
}

impl Status {
    pub(super) fn of(machine: &Machine, hands: &Hands, since: Instant, now: Instant) -> Self {
        let record = machine.record();
        let elapsed =
            |since: Option<Instant>| since.map(|since| millis(now.saturating_duration_since(since)));
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            times: Times {
                uptime_millis: millis(now.saturating_duration_since(since)),
                held_millis: elapsed(record.held),
                spent_millis: elapsed(record.begun),
                time_left_millis: machine
                    .deadline()
                    .map(|deadline| millis(deadline.saturating_duration_since(now))),
                budget_millis: millis(record.plan.budget.0),
            },
            facts: Facts::of(machine, hands, now),
        }
    }
}

impl Facts {
    fn of(machine: &Machine, hands: &Hands, now: Instant) -> Self {
        let record = machine.record();
        let in_flight = match machine.phase() {
            Phase::Starting | Phase::Serving | Phase::Held => hands.poller.glimpsed(),
            _ => record.in_flight,
        };
        Self {
            phase: machine.phase().name().to_owned(),
            trigger: record.trigger.map(trigger_name),
            verdict: record.verdict.map(Verdict::name).map(str::to_owned),
            measured: machine.measured() == Measured::Yes,
            in_flight: match in_flight {
                Some(InFlight::Count(count)) => Some(count),
                Some(InFlight::Unknown) | None => None,
            },
            unknown_polls: record.unknown,
            stalled: record.stalled,
            propagation: Propagation::of(&hands.board.audience(now), machine.phase()),
            hooks: hands.hooks.outcomes(),
            child: ChildStatus {
                pid: hands.program.pid(),
                end: hands.end.map(ended),
            },
            sidecar: hands.program.is_beside(),
            not_ready: match hands.board.readiness() {
                health::Readiness::Ready => None,
                health::Readiness::NotReady(why) => Some(why),
            },
            services: hands
                .board
                .statuses()
                .into_iter()
                .map(|(name, status)| (name, shown(status).to_owned()))
                .collect(),
        }
    }
}

impl Facts {
    /// The phase of that name; none when a later version has one more.
    pub fn known_phase(&self) -> Option<Phase> {
        Phase::ALL.into_iter().find(|phase| phase.name() == self.phase)
    }

    /// Whether the drain is over, for the hook that waits for that: our child has its stop signal, or has ended.
    /// A program beside us gets another from the kubelet when its hook is answered, so that it is to have ended.
    pub fn drain_is_over(&self) -> bool {
        let over = match self.sidecar {
            true => Phase::Leftovers,
            false => Phase::Stop,
        };
        self.known_phase().is_some_and(|phase| phase >= over)
    }

    /// How the drain ended, and what has become of the program.
    pub fn ending(&self) -> String {
        let program = match (&self.child.end, self.known_phase()) {
            (Some(end), _) => format!("the program {end}"),
            (None, Some(Phase::Kill)) => "the program has SIGKILL".to_owned(),
            (None, _) => "the program has its stop signal".to_owned(),
        };
        match &self.verdict {
            Some(verdict) => format!("{verdict}, {program}"),
            None => program,
        }
    }
}

impl Propagation {
    fn of(audience: &health::Audience, phase: Phase) -> Self {
        let leaving = phase >= Phase::Held;
        Self {
            watchers: audience.watchers,
            watchers_told: if leaving { audience.watchers_told } else { 0 },
            probers: audience.probers,
            probers_told: if leaving { audience.probers_told } else { 0 },
            untold: if leaving {
                audience.untold.clone()
            } else {
                Vec::new()
            },
        }
    }
}

/// What a person is told of an end.
fn ended(end: End) -> String {
    match end {
        End::Child(end) => end.to_string(),
        End::Beside => "has ended".to_owned(),
        End::LeftToTheKubelet => "is left to the kubelet".to_owned(),
    }
}

/// A status by its name in grpc.health.v1.
fn shown(status: health::Status) -> &'static str {
    match status {
        health::Status::Unknown => "UNKNOWN",
        health::Status::Serving => "SERVING",
        health::Status::NotServing => "NOT_SERVING",
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
