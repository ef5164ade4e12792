//! The machine's hands: an action becomes a call.

use std::path::PathBuf;
use std::time::Instant;

use tokio::sync::mpsc;
use tracing::{debug, info, warn};

use super::machine::{Action, Machine};
use super::poller::Poller;
use super::program::{End, Program};
use super::record::Record;
use super::report::{Ending, Report};
use super::telling::shown;
use crate::child::{Leftovers, Received, Refused, Signal, Signals, Spawner, SuccessCodes, Target};
use crate::health::{Board, Judge};
use crate::hooks::{Roster, Summary};
use crate::inflight::Sample;
use crate::telemetry::metrics::Metrics;
use crate::telemetry::stderr;

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
            Action::ReportResumed(record) => {
                self.count_verdict(&record);
                self.say_resumed(&record, now);
            }
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
