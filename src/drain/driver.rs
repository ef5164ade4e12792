//! The loop around the machine: the world becomes events.
//!
//! This is the one place that reads the clock for the drain. What the machine's actions do
//! to the world stands in [`hands`](super::hands); what people ask of it comes in at `desk`.

mod desk;

use std::io;
use std::time::Instant;

use tokio::sync::mpsc;
use tracing::info;

use self::desk::Desk;
use super::beside::{Beside, LAST_GRACE};
use super::hands::{Ended, Hands, Heard};
use super::machine::{Event, Evidence, Machine, Rules, Told};
use super::order::Asked;
use super::program::{Changes, End, Fate};
use super::record::Trigger;
use super::table::Phase;
use crate::child::Received;
use crate::health::Audience;

/// Signals taken in one go before others have their turn: whoever queues them without end must
/// not hold up the stop signal, SIGKILL, or the end of the child.
const AT_ONCE: u32 = 64;

/// Runs the child to its end. `early` are the signals that came before it was up; `asked` is
/// what people and hooks ask of it, which may be nobody.
///
/// # Errors
/// When signals can no longer be read: the runtime has no memory or descriptors left.
pub async fn drive(
    machine: Machine,
    hands: Hands,
    early: Vec<Received>,
    asked: mpsc::Receiver<Asked>,
) -> io::Result<Ended> {
    let (tell, heard) = mpsc::channel(16);
    Driver {
        fates: Changes::of(&hands.program),
        beside: Beside::default(),
        is_late: false,
        rules: machine.rules(),
        machine,
        hands,
        desk: Desk::new(asked, Instant::now()),
        tell,
        heard,
        signals_in_a_row: 0,
        repeated_in: None,
    }
    .run(early)
    .await
}

struct Driver {
    machine: Machine,
    rules: Rules,
    hands: Hands,
    fates: Changes,
    beside: Beside,
    /// Our stop signal came when the program beside us was gone.
    is_late: bool,
    desk: Desk,
    tell: mpsc::Sender<Heard>,
    heard: mpsc::Receiver<Heard>,
    signals_in_a_row: u32,
    /// The phase in which a repeated trigger was last logged.
    repeated_in: Option<Phase>,
}

impl Driver {
    async fn run(mut self, early: Vec<Received>) -> io::Result<Ended> {
        self.start(early);
        loop {
            let now = Instant::now();
            while let Some(action) = self.machine.poll_action() {
                if let Some(ended) = self.hands.perform(action, &self.machine, &self.tell, now) {
                    self.publish(now);
                    if !self.stays(now) {
                        return Ok(ended);
                    }
                }
            }
            // Once the hooks of the drain have begun.
            if std::mem::take(&mut self.is_late) && self.machine.phase() < Phase::Leftovers {
                self.machine.handle(now, Event::Shorten(now + LAST_GRACE));
                self.end_program(End::Beside, now);
            }
            let expiry = self.weigh_evidence(now);
            if self.machine.has_actions() {
                continue;
            }
            self.desk.reply();
            self.publish(now);
            let moments = [
                self.machine.next_deadline(),
                expiry,
                self.next_glimpse(),
                self.beside.next_moment(),
            ];
            let wake = moments.into_iter().flatten().min();
            let listening = self.wants_evidence() || self.desk.is_followed();
            let arriving = self.machine.phase() == Phase::Serving && self.hands.hooks.has_to_arrive();
            let signals_turn = self.signals_in_a_row < AT_ONCE;
            self.signals_in_a_row += 1;
            tokio::select! {
                biased;
                received = self.hands.signals.next(), if signals_turn => {
                    if let Some(ended) = self.receive(received?) {
                        return Ok(ended);
                    }
                    continue;
                }
                fate = self.fates.next() => self.befall(fate),
                Some(heard) = self.heard.recv() => self.hear(heard),
                Some(asked) = self.desk.next() => self.attend(asked),
                () = self.hands.board.changed(), if listening => {}
                () = self.hands.hooks.changed(), if listening || self.machine.phase() == Phase::Leftovers => {}
                () = self.hands.board.serving(), if arriving => self.hands.hooks.arrive(),
                () = at(wake) => self.tick(),
                // Other tasks and the clock have had their turn, and there was nothing.
                () = tokio::task::yield_now(), if !signals_turn => {}
            }
            self.signals_in_a_row = 0;
        }
    }

    /// Signals from before the child was up count as asked before: a stop then skips the waits.
    fn start(&mut self, early: Vec<Received>) {
        let now = Instant::now();
        let (triggers, others): (Vec<_>, Vec<_>) = early
            .into_iter()
            .partition(|received| self.hands.triggers.contains(&received.signal));
        for received in triggers {
            self.machine
                .handle(now, Event::Trigger(Trigger::Signal(received.signal.number())));
        }
        self.machine.handle(now, Event::ChildUp);
        for received in others {
            self.hands.forward(received);
        }
    }

    /// An end when the signal was that.
    fn receive(&mut self, received: Received) -> Option<Ended> {
        let signal = received.signal;
        if !self.hands.triggers.contains(&signal) {
            self.hands.forward(received);
            return None;
        }
        self.beside.told_to_stop = true;
        if self.beside.is_released() {
            info!(target: "drain", signal = %signal, "the drain is over, and so are we");
            return Some(Ended {
                exit_code: 0,
                deadline: None,
            });
        }
        let phase = self.machine.phase();
        // Supervisors repeat it: once a phase is enough.
        if phase >= Phase::Notify && self.repeated_in.replace(phase) != Some(phase) {
            info!(target: "drain", signal = %signal, phase = phase.name(), "already stopping");
        }
        let now = Instant::now();
        self.machine
            .handle(now, Event::Trigger(Trigger::Signal(signal.number())));
        self.is_late = self.hands.program.is_gone();
        None
    }

    /// The program has met its end, or is back.
    fn befall(&mut self, fate: Fate) {
        let now = Instant::now();
        match fate {
            Fate::Ended(End::Child(end)) => {
                info!(target: "child", pid = self.hands.program.pid(), "{end}");
                self.hands.board.child_ended();
                self.hands.judge.pause();
                self.end_program(End::Child(end), now);
            }
            // While it serves or is held, an end of the program beside us is its own container's affair: the
            // kubelet starts it again, and health says how it does.
            Fate::Ended(end) if self.machine.phase() >= Phase::Notify => self.end_program(end, now),
            Fate::Back if self.beside.is_released() => self.undo(now, "the program is back"),
            Fate::Ended(_) | Fate::Back => {}
        }
    }

    fn end_program(&mut self, end: End, now: Instant) {
        self.hands.end = Some(end);
        self.machine.handle(now, Event::Hooks(self.hands.hooks.stand()));
        self.machine.handle(now, Event::ChildGone);
    }

    // The program beside us.

    /// Whether we stay although the drain is over.
    fn stays(&mut self, now: Instant) -> bool {
        let stays = self.hands.program.is_beside() && !self.beside.told_to_stop;
        if stays {
            self.beside.release(self.machine.record(), now);
        }
        stays
    }

    /// Takes back a drain that is over.
    fn undo(&mut self, now: Instant, why: &str) {
        info!(target: "drain", "undone: {why}");
        self.beside.come_back();
        self.hands.end = None;
        self.repeated_in = None;
        self.hands.hooks.come_back();
        self.machine = Machine::new(self.rules);
        self.machine.handle(now, Event::ChildUp);
    }

    fn tick(&mut self) {
        let now = Instant::now();
        self.glimpse_again(now);
        if self.beside.is_due(now) {
            self.undo(now, "the grace period is over and this container is not");
        }
        self.machine.handle(now, Event::Tick);
    }

    fn hear(&mut self, heard: Heard) {
        let now = Instant::now();
        match heard {
            Heard::Sample { begun, sample } if self.desk.takes(begun) => {
                let look = self.hands.poller.note(begun, sample, &self.hands.metrics);
                self.hands.poller.note_glimpse(Some(look.in_flight));
                self.glimpsed(now);
            }
            Heard::Sample { begun, sample } => {
                let look = self.hands.poller.note(begun, sample, &self.hands.metrics);
                self.machine.handle(now, Event::Look(look));
            }
            Heard::NobodyLeft => self.machine.handle(now, Event::AllGone),
            Heard::LeftToTheKubelet => self.end_program(End::LeftToTheKubelet, now),
        }
    }

    // What is known of those who have to be told.

    fn wants_evidence(&self) -> bool {
        matches!(
            self.machine.phase(),
            Phase::Held | Phase::Notify | Phase::Propagation
        )
    }

    /// Takes in what is known, and says when it changes by itself: a prober that stopped asking is
    /// forgotten after a while.
    fn weigh_evidence(&mut self, now: Instant) -> Option<Instant> {
        // A program that is gone at once has not left its registry yet. Hooks come before the leftovers, because what
        // their programs leave behind is among those.
        if self.machine.phase() == Phase::Leftovers {
            self.machine.handle(now, Event::Hooks(self.hands.hooks.stand()));
        }
        if !self.wants_evidence() {
            return None;
        }
        let audience = self.hands.board.audience(now);
        let evidence = Evidence {
            audience: told(&audience),
            hooks: self.hands.hooks.told(),
        };
        self.machine.handle(now, Event::Evidence(evidence));
        if audience.watchers == audience.watchers_told {
            self.machine.handle(now, Event::Notified);
        }
        audience.next_expiry
    }
}

/// Waits until `moment`, or for ever.
async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment.into()).await,
        None => std::future::pending().await,
    }
}

fn told(audience: &Audience) -> Told {
    match audience.all_told() {
        _ if audience.watchers + audience.probers == 0 && !audience.uncounted => Told::Nobody,
        true => Told::All,
        false => Told::NotAll,
    }
}
