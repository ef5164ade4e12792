//! Where orders and questions come in, and where followers are told the news.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot, watch};
use tracing::info;

use super::Driver;
use crate::drain::machine::{Event, Measured};
use crate::drain::order::{Answer, Asked, Order, answer, reset_of};
use crate::drain::record::Trigger;
use crate::drain::status::Status;
use crate::drain::table::{Do, Kind, Phase, rule};

/// From one look at in-flight to the next for those who follow a run that is not being stopped.
const GLIMPSE_INTERVAL: Duration = Duration::from_secs(1);

/// The desk of one run.
pub(super) struct Desk {
    asked: mpsc::Receiver<Asked>,
    /// What is said of an order once it is carried out.
    answer: Option<(oneshot::Sender<Answer>, Answer)>,
    /// None until somebody follows.
    news: Option<watch::Sender<Arc<Status>>>,
    /// Those who wait for the look under way. As many as there are connections, at most.
    waiting: Vec<oneshot::Sender<Arc<Status>>>,
    glimpse: Glimpse,
    since: Instant,
}

/// A look at in-flight that the machine has not asked for.
#[derive(Clone, Copy)]
enum Glimpse {
    Never,
    UnderWay { begun: Instant },
    Last { begun: Instant },
}

impl Desk {
    pub fn new(asked: mpsc::Receiver<Asked>, since: Instant) -> Self {
        Self {
            asked,
            answer: None,
            news: None,
            waiting: Vec::new(),
            glimpse: Glimpse::Never,
            since,
        }
    }

    /// The next question; none, ever, when there is no socket to ask at.
    pub async fn next(&mut self) -> Option<Asked> {
        self.asked.recv().await
    }

    /// Says what became of the last order, now that it is carried out.
    pub fn reply(&mut self) {
        if let Some((back, answer)) = self.answer.take() {
            let _ = back.send(answer);
        }
    }

    /// Whether somebody wants to hear of every change.
    pub fn is_followed(&self) -> bool {
        self.news.as_ref().is_some_and(|news| news.receiver_count() > 0)
    }

    /// Whether the sample of the look begun at `begun` was for us and not for the machine.
    pub fn takes(&mut self, sample: Instant) -> bool {
        match self.glimpse {
            Glimpse::UnderWay { begun } if begun == sample => {
                self.glimpse = Glimpse::Last { begun };
                true
            }
            _ => false,
        }
    }
}

impl Driver {
    pub(super) fn attend(&mut self, asked: Asked) {
        let now = Instant::now();
        match asked {
            Asked::Order(order, back) => {
                let answer = self.carry_out(order, now);
                self.desk.answer = Some((back, answer));
            }
            Asked::Status(back) if self.may_glimpse() => {
                self.desk.waiting.push(back);
                self.glimpse(now);
            }
            Asked::Status(back) => {
                let _ = back.send(Arc::new(self.status(now)));
            }
            Asked::Follow(back) => {
                if !self.desk.is_followed() {
                    // Nobody has looked since who knows when.
                    self.hands.poller.note_glimpse(None);
                }
                let status = Arc::new(self.status(now));
                let news = self
                    .desk
                    .news
                    .get_or_insert_with(|| watch::Sender::new(Arc::clone(&status)));
                news.send_replace(status);
                let _ = back.send(news.subscribe());
                if self.may_glimpse() {
                    self.glimpse(now);
                }
            }
        }
    }

    fn carry_out(&mut self, order: Order, now: Instant) -> Answer {
        let phase = self.machine.phase();
        let (kind, event) = match order {
            Order::Hold => (Kind::Hold, Event::Hold),
            Order::Resume => (Kind::Resume, Event::Resume),
            Order::Hurry => (Kind::Hurry, Event::Hurry),
            Order::PreStop => (Kind::Trigger, Event::Trigger(Trigger::PreStop)),
            Order::Reset => {
                let names = self.hands.judge.reset();
                if !names.is_empty() {
                    info!(target: "admin", names = ?names, "reset");
                }
                return reset_of(&names);
            }
        };
        let what = rule(phase, kind);
        // A refusal is logged when it is carried out.
        if what != Do::Refuse {
            info!(target: "admin", phase = phase.name(), "asked: {order}");
        }
        self.machine.handle(now, event);
        answer(order, what, phase)
    }

    fn status(&self, now: Instant) -> Status {
        Status::of(&self.machine, &self.hands, self.desk.since, now)
    }

    /// Tells followers what has changed.
    pub(super) fn publish(&mut self, now: Instant) {
        if !self.desk.is_followed() {
            return;
        }
        let status = Arc::new(self.status(now));
        if let Some(news) = &self.desk.news {
            news.send_if_modified(|last| {
                let changed = last.facts != status.facts;
                if changed {
                    *last = status;
                }
                changed
            });
        }
    }

    // In-flight before a stop: nobody polls it then, so it is looked at when somebody asks.

    fn may_glimpse(&self) -> bool {
        let before_a_stop = matches!(self.machine.phase(), Phase::Serving | Phase::Held);
        before_a_stop && self.machine.measured() == Measured::Yes
    }

    fn glimpse(&mut self, now: Instant) {
        if !matches!(self.desk.glimpse, Glimpse::UnderWay { .. }) {
            self.desk.glimpse = Glimpse::UnderWay { begun: now };
            self.hands.poller.look(now, &self.tell);
        }
    }

    /// The look that somebody waited for has been answered, whatever the answer.
    pub(super) fn glimpsed(&mut self, now: Instant) {
        if self.desk.waiting.is_empty() {
            return;
        }
        let status = Arc::new(self.status(now));
        for back in self.desk.waiting.drain(..) {
            let _ = back.send(Arc::clone(&status));
        }
    }

    /// When to look again for those who follow.
    pub(super) fn next_glimpse(&self) -> Option<Instant> {
        match self.desk.glimpse {
            Glimpse::Last { begun } if self.desk.is_followed() && self.may_glimpse() => {
                Some(begun + GLIMPSE_INTERVAL)
            }
            _ => None,
        }
    }

    /// Looks again if it is time to.
    pub(super) fn glimpse_again(&mut self, now: Instant) {
        if self.next_glimpse().is_some_and(|at| at <= now) {
            self.glimpse(now);
        }
    }
}
