//! The thin hands around the machine: the world becomes events, actions become calls.

use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tracing::{debug, info, warn};

use super::machine::{Action, Event, Evidence, Machine, Told};
use super::quiet::{InFlight, Look};
use super::record::{Record, Transition, Trigger};
use super::report::{Ending, Report, trigger_name};
use super::table::Phase;
use crate::child::{Child, ChildEnd, Leftovers, Reaper, Received, Signal, Signals, SuccessCodes, Target};
use crate::health::{Audience, Board};
use crate::inflight::{Reading, Sample, Sources, Unknown};
use crate::telemetry::metrics::Metrics;
use crate::telemetry::stderr;

/// Everything the machine's actions reach.
pub struct Hands {
    /// The wrapped program.
    pub child: Child,
    /// Every signal that reaches us.
    pub signals: Signals,
    /// The owner of every wait.
    pub reaper: Reaper,
    /// What else lives in the container.
    pub leftovers: Leftovers,
    /// The statuses that are served.
    pub board: Board,
    /// The numbers that are served.
    pub metrics: Metrics,
    /// Where calls in flight are counted.
    pub sources: Sources,
    /// The longest a look at them may take.
    pub poll_timeout: Duration,
    /// What the child gets to stop it.
    pub stop_signal: Signal,
    /// Whether its process group gets that too.
    pub stop_target: Target,
    /// Signals that start a drain instead of being forwarded.
    pub triggers: Vec<Signal>,
    /// Codes of the child that count as success.
    pub success_codes: SuccessCodes,
}

/// How a run ended.
pub struct Ended {
    /// What tidegate exits with.
    pub exit_code: u8,
    /// The moment by which it has to be gone.
    pub deadline: Option<Instant>,
    /// What happened.
    pub report: Report,
}

/// What tasks tell the driver.
enum Heard {
    Look(Look),
}

/// Runs the child to its end.
pub async fn drive(machine: Machine, hands: Hands, asked_before_start: Option<Signal>) -> Ended {
    let (tell, mut heard) = mpsc::channel(16);
    let mut driver = Driver { machine, hands, tell, poller: None, child_end: None, last_unknown: None };
    if let Some(signal) = asked_before_start {
        driver.machine.handle(Instant::now(), Event::Trigger(Trigger::Signal(signal.number())));
    }
    driver.machine.handle(Instant::now(), Event::ChildUp);
    driver.reap();
    loop {
        if let Some(ended) = driver.act() {
            return ended;
        }
        let deadline = driver.machine.next_deadline();
        tokio::select! {
            biased;
            received = driver.hands.signals.next() => driver.receive(received),
            Some(heard) = heard.recv() => driver.hear(heard),
            () = driver.hands.board.changed(), if driver.wants_evidence() => driver.weigh_evidence(),
            () = at(deadline) => driver.machine.handle(Instant::now(), Event::Tick),
        }
    }
}

/// Waits until `deadline`, or for ever.
async fn at(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}

struct Driver {
    machine: Machine,
    hands: Hands,
    tell: mpsc::Sender<Heard>,
    poller: Option<mpsc::Sender<Instant>>,
    child_end: Option<ChildEnd>,
    last_unknown: Option<Unknown>,
}

// The world becomes events.
impl Driver {
    fn receive(&mut self, received: Received) {
        let signal = received.signal;
        if signal == Signal::CHLD {
            self.reap();
        } else if self.hands.triggers.contains(&signal) {
            let phase = self.machine.phase();
            if phase >= Phase::Notify {
                info!(target: "drain", signal = %signal, phase = phase.name(), "already stopping");
            }
            self.machine.handle(Instant::now(), Event::Trigger(Trigger::Signal(signal.number())));
        } else {
            self.forward(received);
        }
    }

    fn forward(&mut self, received: Received) {
        let signal = received.signal;
        match self.hands.child.forward(received, self.hands.stop_target) {
            Ok(()) => debug!(target: "child", signal = %signal, "forwarded"),
            Err(error) => warn!(target: "child", signal = %signal, "not forwarded: {error}"),
        }
    }

    /// Reaps whoever is dead, and tells the machine what that means.
    fn reap(&mut self) {
        let reaped = self.hands.reaper.reap(&mut self.hands.child);
        self.hands.metrics.update(|numbers| numbers.orphans_reaped += reaped.orphans);
        if let Some(end) = reaped.child {
            info!(target: "child", "{end}");
            self.child_end = Some(end);
            self.hands.board.child_ended();
            self.machine.handle(Instant::now(), Event::ChildGone);
        }
        if self.child_end.is_some() && reaped.none_left {
            self.machine.handle(Instant::now(), Event::AllGone);
        }
    }

    fn hear(&mut self, heard: Heard) {
        match heard {
            Heard::Look(look) => self.machine.handle(Instant::now(), Event::Look(look)),
        }
    }

    fn wants_evidence(&self) -> bool {
        matches!(self.machine.phase(), Phase::Held | Phase::Notify | Phase::Propagation)
    }

    fn weigh_evidence(&mut self) {
        let now = Instant::now();
        let audience = self.hands.board.audience(now);
        if audience.watchers == audience.watchers_told {
            self.machine.handle(now, Event::Notified);
        }
        let evidence = Evidence { audience: told(&audience), hooks: Told::Nobody };
        self.machine.handle(now, Event::Evidence(evidence));
    }
}

fn told(audience: &Audience) -> Told {
    match audience.all_told() {
        _ if audience.watchers + audience.probers == 0 && !audience.uncounted => Told::Nobody,
        true => Told::All,
        false => Told::NotAll,
    }
}
