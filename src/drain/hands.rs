//! The machine's hands: an action becomes a call.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tracing::{debug, info, warn};

use super::budget::{Seconds, Waits};
use super::machine::{Action, Machine};
use super::program::{End, Program};
use super::quiet::{InFlight, Look};
use super::record::{Record, Transition};
use super::report::{Ending, Report, trigger_name};
use super::table::Phase;
use crate::child::{Leftovers, Received, Refused, Signal, Signals, Spawner, SuccessCodes, Target};
use crate::health::{Board, Judge};
use crate::hooks::{Roster, Summary};
use crate::inflight::{Reading, Sample, Sources, Unknown};
use crate::telemetry::metrics::Metrics;
use crate::telemetry::{stderr, termination};

/// Everything the machine's actions reach.
pub struct Hands {
    /// The program that is drained.
    pub program: Program,
    /// How it ended, once it has.
    pub end: Option<End>,
    /// Every signal that reaches us.
    pub signals: Signals,
    /// Who started the child, and knows what else lives in the container.
    pub spawner: Spawner,
    /// The statuses that are served.
    pub board: Board,
    /// Who sets them.
    pub judge: Judge,
    /// What is called when the instance leaves traffic and when it comes back.
    pub hooks: Roster,
    /// The numbers that are served.
    pub metrics: Metrics,
    /// Where calls in flight are counted.
    pub poller: Poller,
    /// What the child gets to stop it.
    pub stop_signal: Signal,
    /// Who gets that: the child or its process group.
    pub target: Target,
    /// Signals that start a drain instead of being forwarded.
    pub triggers: Vec<Signal>,
    /// Codes of the child that count as success.
    pub success_codes: SuccessCodes,
    /// Where the kubelet looks for last words.
    pub termination_log: PathBuf,
}

/// What tasks tell the driver.
#[derive(Debug)]
pub enum Heard {
    /// The in-flight sources answered a look begun at `begun`.
    Sample {
        /// When it was begun.
        begun: Instant,
        /// What they said.
        sample: Sample,
    },
    /// No process is left.
    NobodyLeft,
    /// The stop signal of a program beside us is the kubelet's to send.
    LeftToTheKubelet,
}

/// How a run ended.
#[derive(Debug)]
pub struct Ended {
    /// What tidegate exits with.
    pub exit_code: u8,
    /// The moment by which it has to be gone.
    pub deadline: Option<Instant>,
}

impl Hands {
    /// Does what the machine wants done; an end when that was to exit.
    pub(super) fn perform(
        &mut self,
        action: Action,
        machine: &Machine,
        tell: &mpsc::Sender<Heard>,
        now: Instant,
    ) -> Option<Ended> {
        match action {
            Action::ShowServing => {
                // In this order: what was said before the drain is never shown again.
                self.judge.begin();
                self.board.undrain();
            }
            Action::ShowNotServing => {
                self.board.drain();
                self.judge.pause();
            }
            Action::Deregister => self.hooks.leave(),
            Action::Register => self.hooks.come_back(),
            Action::Look => self.poller.look(now, tell),
            Action::StopChild => self.stop_program(machine.record(), tell),
            Action::KillChild => self.kill_child(machine.record()),
            Action::StopLeftovers => self.end_leftovers(Gently::Yes, tell),
            Action::KillLeftovers => self.end_leftovers(Gently::No, tell),
            Action::Say(transition) => self.say(transition, machine, now),
            Action::SayStalled => warn!(
                target: "drain", in_flight = %shown(machine.record().in_flight),
                "in-flight stands still above the threshold: miscounted, or calls that do not end"
            ),
            Action::Refuse(kind, phase) => info!(target: "drain", "{kind:?} is not possible in {phase}"),
            Action::ReportResumed(record) => self.report_resumed(&record, now),
            Action::Exit => return Some(self.end(machine, now)),
        }
        None
    }

    /// Passes a signal on that is not ours to act on.
    pub(super) fn forward(&self, received: Received) {
        match self.program.forward(received, self.target) {
            Ok(()) if self.program.is_beside() => {
                debug!(target: "child", signal = %received.signal, "passed over: the program has its own");
            }
            Ok(()) => debug!(target: "child", signal = %received.signal, "forwarded"),
            Err(refused) => warn!(target: "child", "{refused}"),
        }
    }

    fn stop_program(&self, record: &Record, tell: &mpsc::Sender<Heard>) {
        match self.stop(record) {
            Err(refused) if self.program.is_beside() => {
                match &self.program {
                    Program::OutOfReach => info!(
                        target: "drain", in_flight = %shown(record.in_flight), "the stop signal is the kubelet's to send"
                    ),
                    _ => warn!(target: "target", "{refused}; it is left to the kubelet"),
                }
                // There is room: nothing else is told between the drain and this.
                let _ = tell.try_send(Heard::LeftToTheKubelet);
            }
            Err(refused) => warn!(target: "child", "{refused}"),
            Ok(()) => {}
        }
    }

    fn stop(&self, record: &Record) -> Result<(), Refused> {
        self.program.signal(self.stop_signal, self.target)?;
        info!(
            target: "child", signal = %self.stop_signal, in_flight = %shown(record.in_flight), "stop signal sent"
        );
        // A stopped process acts on a signal only once it goes on. One that is gone by now has acted.
        match self.program.signal(Signal::CONT, self.target) {
            Err(refused) if !refused.is_of_nobody() => Err(refused),
            _ => Ok(()),
        }
    }

    fn kill_child(&self, record: &Record) {
        warn!(
            target: "child", pid = self.program.pid(), in_flight = %shown(record.in_flight),
            "still there near the deadline: SIGKILL"
        );
        self.metrics.update(|numbers| numbers.forced_kills += 1);
        if let Err(refused) = self.program.signal(Signal::KILL, Target::Process) {
            warn!(target: "child", "{refused}");
        }
    }

    fn end_leftovers(&self, gently: Gently, tell: &mpsc::Sender<Heard>) {
        let Program::Child(child) = &self.program else {
            // In a container beside ours there is nothing of ours to end, and the rest of it is the kubelet's.
            let _ = tell.try_send(Heard::NobodyLeft);
            return;
        };
        let leftovers = Leftovers::of(&self.spawner, child);
        if leftovers.none_left() {
            // The usual end, heard at once and without a task. A full channel takes the long way.
            if tell.try_send(Heard::NobodyLeft).is_ok() {
                return;
            }
        } else {
            match gently {
                Gently::Yes => info!(target: "child", "processes are left: SIGTERM"),
                Gently::No => warn!(target: "child", "processes are still left: SIGKILL"),
            }
        }
        let tell = tell.clone();
        tokio::spawn(async move {
            match gently {
                Gently::Yes => leftovers.terminate().await,
                Gently::No => leftovers.kill().await,
            }
            // The driver is gone only when the run is over.
            let _ = tell.send(Heard::NobodyLeft).await;
        });
    }

    /// What a sample means to the machine; a reason for not knowing is logged once.
    pub(super) fn note_sample(&mut self, begun: Instant, sample: Sample) -> Look {
        debug!(target: "inflight", reading = %sample.reading, "polled");
        let in_flight = match sample.reading {
            Reading::Count(count) => {
                if self.poller.last_unknown.take().is_some() {
                    info!(target: "inflight", in_flight = count, "known again");
                }
                InFlight::Count(count)
            }
            Reading::Unknown(why) => {
                if self.poller.last_unknown.as_ref() != Some(&why) {
                    warn!(target: "inflight", "unknown: {}", why.0);
                    self.poller.last_unknown = Some(why);
                }
                InFlight::Unknown
            }
        };
        self.metrics.update(|numbers| match in_flight {
            InFlight::Count(count) => {
                numbers.in_flight = Some(count);
                numbers.polls_counted += 1;
            }
            InFlight::Unknown => {
                numbers.in_flight = None;
                numbers.polls_unknown += 1;
            }
        });
        Look {
            begun,
            in_flight,
            arrivals: sample.arrivals,
        }
    }

    fn say(&self, transition: Transition, machine: &Machine, now: Instant) {
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

    fn report_resumed(&self, record: &Record, now: Instant) {
        self.count_verdict(record);
        let held = record
            .held
            .map_or(0, |held| now.saturating_duration_since(held).as_millis() as u64);
        info!(target: "drain", millis = held, verdict = "resumed", "came back into traffic");
    }

    fn end(&self, machine: &Machine, now: Instant) -> Ended {
        let record = machine.record();
        self.count_verdict(record);
        self.hooks.give_up();
        let exit_code = End::exit_code(self.end, &self.program, &self.success_codes);
        let ending = Ending {
            program: self.end,
            exit_code,
            dropped_log_lines: stderr::dropped(),
            hooks: Summary::of(&self.hooks.outcomes()),
        };
        let report = Report::new(record, &ending, now);
        self.report(&report);
        Ended {
            exit_code,
            deadline: record.deadline,
        }
    }

    /// The last words: the verdict in the log, and the same where the kubelet looks for it.
    fn report(&self, report: &Report) {
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

    fn count_verdict(&self, record: &Record) {
        if let Some(verdict) = record.verdict {
            self.metrics
                .update(|numbers| numbers.verdicts[verdict as usize] += 1);
        }
    }
}

/// How processes are ended.
#[derive(Clone, Copy)]
enum Gently {
    /// SIGTERM
    Yes,
    /// SIGKILL
    No,
}

/// A reading for a person.
fn shown(in_flight: Option<InFlight>) -> String {
    match in_flight {
        Some(InFlight::Count(count)) => count.to_string(),
        Some(InFlight::Unknown) | None => "unknown".to_owned(),
    }
}

/// The task that looks at the in-flight sources, one look after the other.
pub struct Poller {
    state: PollerState,
    last_unknown: Option<Unknown>,
    glimpsed: Option<InFlight>,
}

enum PollerState {
    /// Not started: nothing is dialled, and nobody wakes up, before a drain.
    Idle {
        sources: Sources,
        timeout: Duration,
    },
    Working {
        ask: mpsc::Sender<Instant>,
    },
}

impl Poller {
    /// Polls `sources`, each look within `timeout`.
    pub fn new(sources: Sources, timeout: Duration) -> Self {
        Self {
            state: PollerState::Idle { sources, timeout },
            last_unknown: None,
            glimpsed: None,
        }
    }

    /// What was seen when somebody last asked, outside a drain.
    pub(super) fn glimpsed(&self) -> Option<InFlight> {
        self.glimpsed
    }

    /// What is seen now; `None` while that is still to come.
    pub(super) fn note_glimpse(&mut self, in_flight: Option<InFlight>) {
        self.glimpsed = in_flight;
    }

    /// Begins a look; the answer comes as [`Heard::Sample`].
    pub(super) fn look(&mut self, now: Instant, tell: &mpsc::Sender<Heard>) {
        if let PollerState::Idle { sources, timeout } = &mut self.state {
            let sources = std::mem::replace(sources, Sources::new(Vec::new()));
            let ask = start_polling(sources, *timeout, tell.clone());
            self.state = PollerState::Working { ask };
        }
        if let PollerState::Working { ask } = &self.state {
            // The machine asks for a look only when its last one was answered, and so does the desk:
            // there is room.
            let _ = ask.try_send(now);
        }
    }
}

fn start_polling(
    mut sources: Sources,
    timeout: Duration,
    tell: mpsc::Sender<Heard>,
) -> mpsc::Sender<Instant> {
    let (ask, mut asked) = mpsc::channel(2);
    tokio::spawn(async move {
        while let Some(begun) = asked.recv().await {
            let sample = sources.poll(timeout).await;
            if tell.send(Heard::Sample { begun, sample }).await.is_err() {
                return;
            }
        }
    });
    ask
}
