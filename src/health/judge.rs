//! The judge: who says what the names on the board are, and when.
//!
//! ```text
//!  health.app ────► follow ──┐
//!                            ├─► bench ─► Board::rule
//!  health.checks ─► checks ──┘
//! ```
//!
//! With neither, the child is SERVING as soon as it runs. Nothing is followed and nothing checked
//! during a drain: a Watch of ours is a call under way in the child, which would keep its in-flight
//! from zero and a graceful stop from ending; and nothing may bring a state back.

use std::sync::Arc;

use tokio::task::JoinSet;

use super::bench::{Bench, Opinion};
use super::board::Board;
use super::checks::{self, Check};
use super::follow::{self, App};
use super::ruling::Ruling;
use super::status::Status;
use crate::child::Spawner;

/// What judges.
#[derive(Clone, Debug, Default)]
pub struct Judges {
    /// `health.app`
    pub app: Option<App>,
    /// `health.checks`
    pub checks: Vec<Check>,
}

/// Sets the board: by the app's word and the checks', or SERVING without either.
#[derive(Debug)]
pub struct Judge {
    judges: Judges,
    board: Board,
    spawner: Spawner,
    bench: Option<Arc<Bench>>,
    /// Dropped, they end: connections are hung up, programs killed.
    work: JoinSet<()>,
}

impl Judge {
    /// A judge of `board` that has not begun. `spawner` starts the programs of exec checks.
    pub fn new(judges: Judges, board: Board, spawner: Spawner) -> Self {
        Self {
            judges,
            board,
            spawner,
            bench: None,
            work: JoinSet::new(),
        }
    }

    /// Begins to judge: the child is up, or a drain was undone. Until they have spoken, the app and
    /// the checks make every name UNKNOWN; what they said before a drain is too old to count.
    ///
    /// Belongs in the runtime.
    pub fn begin(&mut self) {
        self.pause();
        if self.is_alone() {
            return self.board.set_every(Status::Serving);
        }
        let Judges { app, checks } = &self.judges;
        let bench = Arc::new(Bench::new(
            self.board.clone(),
            app.as_ref().map(|_| unanswered(&self.board)),
            checks.iter().map(checks::unspoken).collect::<Vec<Opinion>>(),
        ));
        if let Some(app) = app {
            self.work.spawn(follow::follow(app.clone(), Arc::clone(&bench)));
        }
        for (seat, check) in checks.iter().enumerate() {
            let (bench, spawner) = (Arc::clone(&bench), self.spawner.clone());
            self.work
                .spawn(checks::check(check.clone(), seat, bench, spawner));
        }
        self.bench = Some(bench);
    }

    /// Stops judging: a drain has begun, or the child has ended. Streams to the app are hung up, and
    /// programs of checks killed, when the runtime next has its turn.
    pub fn pause(&mut self) {
        self.bench = None;
        self.work = JoinSet::new();
    }

    /// Takes every latched name to UNKNOWN, returns them, and says again what holds now, so that a name
    /// whose cause is over comes back at once. During a drain it is said when that is undone.
    pub fn reset(&self) -> Vec<String> {
        let taken = self.board.reset();
        match &self.bench {
            Some(bench) => bench.rule_again(),
            None if self.is_alone() => self.board.set_every(Status::Serving),
            None => {}
        }
        taken
    }

    /// Whether all that is known of the child is that it runs.
    fn is_alone(&self) -> bool {
        self.judges.app.is_none() && self.judges.checks.is_empty()
    }
}

/// What an app that has not answered makes of the names.
fn unanswered(board: &Board) -> Ruling {
    let names = board.judged().into_iter();
    let mut ruling = Ruling {
        statuses: names.map(|name| (name, Status::Serving)).collect(),
        reasons: Vec::new(),
    };
    let why = "the app's health has not answered yet".to_owned();
    ruling.and_of_all(Status::Unknown, Some(why));
    ruling
}
