//! All hooks of a run.
//!
//! Leaving and coming back are rounds. In a round the hooks run side by side; the next begins when none of
//! them has a try under way. So a call that brings the instance back has been answered, or its time is
//! up, before one that takes it out is sent: SIGTERM during a resume leaves it out.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;
use tokio::task::JoinSet;

use super::attempts::attempt;
use super::deed::{Deed, Doer};
use super::outcome::{HookState, Outcome};
use super::{HookSettings, Patience, Way};
use crate::child::{Spawner, Target};
use crate::drain::machine::{Hooks, Told};
use crate::drain::program::Program;
use crate::telemetry::metrics::Metrics;

/// What hooks reach in the world.
#[derive(Clone)]
pub struct Reach {
    /// Starts programs.
    pub spawner: Spawner,
    /// Gets signals.
    pub program: Program,
    /// The child alone, or its process group.
    pub target: Target,
    /// Counts results.
    pub metrics: Metrics,
}

/// Which way is wanted now. Every change of it is a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted(Option<Way>);

impl Wanted {
    pub fn way(self) -> Option<Way> {
        self.0
    }
}

/// How the hooks of the round stand.
#[derive(Clone, Debug)]
pub(super) struct Outcomes {
    all: Arc<Mutex<Vec<Outcome>>>,
    changed: watch::Sender<()>,
}

impl Outcomes {
    fn new() -> Self {
        Self {
            all: Arc::default(),
            changed: watch::Sender::new(()),
        }
    }

    fn begin(&self, all: Vec<Outcome>) {
        *self.lock() = all;
        self.changed.send_replace(());
    }

    pub fn note(&self, seat: usize, outcome: &Outcome) {
        if let Some(kept) = self.lock().get_mut(seat) {
            *kept = outcome.clone();
        }
        self.changed.send_replace(());
    }

    fn now(&self) -> Vec<Outcome> {
        self.lock().clone()
    }

    /// A panic while it is held ends the process (panic = abort), so poison is not met.
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Outcome>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The hooks of a run. Before the first leaving it is only a list: nothing runs, and nothing is dialled but where an earlier
/// container may have left a mark.
pub struct Roster {
    settings: HookSettings,
    reach: Option<Reach>,
    wanted: watch::Sender<Wanted>,
    outcomes: Outcomes,
    seen: watch::Receiver<()>,
}

impl Roster {
    /// The hooks of `settings`.
    pub fn new(settings: HookSettings, reach: Reach) -> Self {
        let outcomes = Outcomes::new();
        Self {
            settings,
            reach: Some(reach),
            wanted: watch::Sender::new(Wanted::default()),
            seen: outcomes.changed.subscribe(),
            outcomes,
        }
    }

    /// Whether marks that an earlier container of the same name may have left in a registry are still to be taken away.
    pub fn has_to_arrive(&self) -> bool {
        let mut hooks = self.settings.on_drain.iter();
        self.wanted.borrow().way().is_none() && hooks.any(|hook| hook.deed.leaves_a_mark())
    }

    /// Takes them away: the program serves for the first time. Belongs in the runtime.
    pub fn arrive(&mut self) {
        if self.has_to_arrive() {
            self.want(Way::Anew);
        }
    }

    /// Begins to leave. Once out, or on the way, it changes nothing. Belongs in the runtime.
    pub fn leave(&mut self) {
        self.want(Way::Out);
    }

    /// Begins to come back, after what was begun of leaving. Belongs in the runtime.
    pub fn come_back(&mut self) {
        self.want(Way::Back);
    }

    fn want(&mut self, way: Way) {
        if self.settings.on_drain.is_empty() && self.settings.on_resume.is_empty() {
            return;
        }
        let wanted = Wanted(Some(way));
        let is_news = self
            .wanted
            .send_if_modified(|was| std::mem::replace(was, wanted) != wanted);
        if !is_news {
            return;
        }
        // At once, not when the director has its turn: the old round proves nothing of the new one.
        self.outcomes
            .begin(self.names(way).map(|name| Outcome::running(name, way)).collect());
        if let Some(reach) = self.reach.take() {
            let workers = self.settings.each_of().map(|(of, hook)| Worker {
                of,
                patience: hook.patience,
                doer: Doer::new(hook.name.clone(), hook.deed.clone(), reach.clone()),
            });
            let director = Director {
                workers: workers.collect(),
                metrics: reach.metrics.clone(),
                wanted: self.wanted.subscribe(),
                outcomes: self.outcomes.clone(),
            };
            tokio::spawn(director.direct());
        }
    }

    fn names(&self, way: Way) -> impl Iterator<Item = &str> {
        let round = self.settings.each_of();
        round
            .filter(move |(of, hook)| takes_part(*of, &hook.deed, way))
            .map(|(_, hook)| hook.name.as_str())
    }

    /// How the hooks of the last round stand.
    pub fn outcomes(&self) -> Vec<Outcome> {
        self.outcomes.now()
    }

    /// Whether the registries have been told that the instance leaves. A hook that failed has told nobody.
    pub fn told(&self) -> Told {
        if self.settings.on_drain.is_empty() {
            return Told::Nobody;
        }
        let is_out = self.wanted.borrow().way() == Some(Way::Out);
        match is_out
            && self
                .outcomes
                .lock()
                .iter()
                .all(|outcome| outcome.state == HookState::Done)
        {
            true => Told::All,
            false => Told::NotAll,
        }
    }

    /// Waits until a hook stands otherwise than when this was last asked.
    pub async fn changed(&mut self) {
        // The sender is ours.
        let _ = self.seen.changed().await;
    }

    /// Whether hooks that leave are still tried.
    pub fn stand(&self) -> Hooks {
        let is_out = self.wanted.borrow().way() == Some(Way::Out);
        let all = self.outcomes.lock();
        match is_out && all.iter().any(|outcome| outcome.state == HookState::Running) {
            true => Hooks::Tried,
            false => Hooks::Settled,
        }
    }

    /// The run is over: those that are still tried are abandoned.
    pub fn give_up(&self) {
        for outcome in self.outcomes.lock().iter_mut() {
            if outcome.state == HookState::Running {
                outcome.state = HookState::Abandoned;
            }
        }
    }
}

/// Whether a hook of the list `of` has a part in a round of going `way`: one of `onDrain` goes back where it knows how.
fn takes_part(of: Way, deed: &Deed, way: Way) -> bool {
    match way {
        Way::Out | Way::Back => of == way || (of == Way::Out && deed.comes_back()),
        Way::Anew => of == Way::Out && deed.leaves_a_mark(),
    }
}

/// A hook at work. It remembers, from leaving to coming back, what it left.
struct Worker {
    of: Way,
    doer: Doer,
    patience: Patience,
}

struct Director {
    /// In the order of the config, which is that of their seats.
    workers: Vec<Worker>,
    metrics: Metrics,
    wanted: watch::Receiver<Wanted>,
    outcomes: Outcomes,
}

impl Director {
    /// One round after the other, for as long as the run lasts.
    async fn direct(mut self) {
        loop {
            let Some(way) = self.wanted.borrow_and_update().way() else {
                return;
            };
            self.round(way).await;
            if self.wanted.borrow().way() == Some(way) && self.wanted.changed().await.is_err() {
                return;
            }
        }
    }

    async fn round(&mut self, way: Way) {
        let mut running = JoinSet::new();
        let mut back = Vec::new();
        for (place, mut worker) in std::mem::take(&mut self.workers).into_iter().enumerate() {
            if !takes_part(worker.of, worker.doer.deed(), way) {
                back.push((place, worker));
                continue;
            }
            worker.doer.take_seat(running.len());
            let (wanted, outcomes) = (self.wanted.clone(), self.outcomes.clone());
            let metrics = self.metrics.clone();
            running.spawn(async move {
                let outcome =
                    attempt(&mut worker.doer, worker.patience, way, wanted.clone(), &outcomes).await;
                metrics.update(|numbers| numbers.hook_results.count(way, outcome.state));
                // Of a round that nobody wants any more, nothing is shown.
                if wanted.borrow().way() == Some(way) {
                    outcomes.note(worker.doer.seat(), &outcome);
                }
                (place, worker)
            });
        }
        while let Some(ended) = running.join_next().await {
            // A panic ends the process, and nobody aborts them.
            back.extend(ended);
        }
        back.sort_by_key(|(place, _)| *place);
        self.workers = back.into_iter().map(|(_, worker)| worker).collect();
    }
}

#[cfg(test)]
mod tests;
