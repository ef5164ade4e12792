//! What is said of a run: a line for each transition, and the verdict at its end.

use std::time::Instant;

use tracing::{info, warn};

use super::budget::{Seconds, Waits};
use super::hands::Hands;
use super::machine::Machine;
use super::quiet::InFlight;
use super::record::{Record, Transition};
use super::report::{Report, trigger_name};
use super::table::Phase;
use crate::telemetry::termination;

impl Hands {
    pub(super) fn say(&self, transition: Transition, machine: &Machine, now: Instant) {
        let Transition { from, to, verdict } = transition;
        let record = machine.record();
        self.metrics.update(|numbers| {
            numbers.phase = to;
            numbers.deadline = machine.deadline();
            numbers.phase_durations[from as usize] = record.lasted(from);
        });
        let millis = record.lasted(from).map_or(0, |lasted| lasted.as_millis() as u64);
        match (from, to) {
            (Phase::Starting, _) => info!(target: "drain", pid = self.program.pid(), "{from} → {to}"),
            (Phase::Serving, Phase::Notify) if record.plan.waits == Waits::Skipped => warn!(
                target: "drain", trigger = record.trigger.map(trigger_name), budget = %Seconds(record.plan.budget.0),
                "{from} → {to}: a grace period of {} has no time for waits, they are skipped", Seconds(record.plan.grace.0)
            ),
            (Phase::Serving, Phase::Notify) | (Phase::Held, _) => info!(
                target: "drain",
                trigger = record.trigger.map(trigger_name), budget = %Seconds(record.plan.budget.0), "{from} → {to}"
            ),
            (Phase::Notify | Phase::Propagation, _) => {
                let audience = self.board.audience(now);
                info!(
                    target: "drain", millis,
                    watchers = audience.watchers, watchers_told = audience.watchers_told,
                    probers = audience.probers, probers_told = audience.probers_told,
                    untold = (!audience.untold.is_empty()).then(|| audience.untold.join(",")),
                    verdict = verdict.map(|verdict| verdict.name()), "{from} → {to}"
                );
            }
            _ => info!(
                target: "drain", millis, verdict = verdict.map(|verdict| verdict.name()), "{from} → {to}"
            ),
        }
    }

    pub(super) fn say_resumed(&self, record: &Record, now: Instant) {
        let held = record
            .held
            .map_or(0, |held| now.saturating_duration_since(held).as_millis() as u64);
        info!(target: "drain", millis = held, verdict = "resumed", "came back into traffic");
    }

    /// The last words: the verdict in the log, and the same where the kubelet looks for it.
    pub(super) fn report(&self, report: &Report) {
        let phases = &report.phases_millis;
        info!(
            target: "drain",
            verdict = report.verdict, in_flight_at_stop = report.in_flight_at_stop,
            unknown_polls = report.unknown_polls,
            notify_ms = phases.notify, propagation_ms = phases.propagation, in_flight_ms = phases.in_flight,
            stop_ms = phases.stop, kill_ms = phases.kill, leftovers_ms = phases.leftovers,
            spent_ms = report.spent_millis, budget_ms = report.budget_millis, exit_code = report.exit_code,
            "{}", report.message
        );
        let file = &self.termination_log;
        if let Err(why) = termination::write(file, report) {
            warn!(target: "telemetry", path = %file.display(), "termination message not written: {why}");
        }
    }
}

/// A reading for a person.
pub(super) fn shown(in_flight: Option<InFlight>) -> String {
    match in_flight {
        Some(InFlight::Count(count)) => count.to_string(),
        Some(InFlight::Unknown) | None => "unknown".to_owned(),
    }
}
