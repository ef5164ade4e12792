//! The bench: where the app's word and the checks' come together and become one ruling.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tracing::{debug, info, warn};

use super::board::Board;
use super::figures::Outcome;
use super::ruling::Ruling;
use super::status::Status;

/// Changes that follow each other faster are not for everyone to read.
const TOLD_APART: Duration = Duration::from_secs(1);

/// Those who judge, and what they said last.
#[derive(Debug)]
pub(super) struct Bench {
    board: Board,
    seats: Mutex<Seats>,
}

#[derive(Debug)]
struct Seats {
    names: Vec<String>,
    /// What the app says; nothing where it is not followed.
    app: Option<Ruling>,
    checks: Vec<Opinion>,
    shown: Status,
    told: Option<Instant>,
}

/// What one check has come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Opinion {
    /// UNKNOWN until it has succeeded once or failed often enough.
    pub status: Status,
    /// Why it is not SERVING.
    pub why: Option<String>,
}

impl Bench {
    /// A bench that rules on `board`, with nothing said yet: every name is UNKNOWN.
    pub(super) fn new(board: Board, app: Option<Ruling>, checks: Vec<Opinion>) -> Self {
        let seats = Seats {
            names: board.judged(),
            app,
            checks,
            shown: Status::Unknown,
            told: None,
        };
        let bench = Self {
            board,
            seats: Mutex::new(seats),
        };
        bench.rule_again();
        bench
    }

    /// The names that are ruled on.
    pub(super) fn names(&self) -> Vec<String> {
        self.seats().names.clone()
    }

    /// What the app makes of the names now.
    pub(super) fn app_says(&self, ruling: Ruling, now: Instant) {
        let mut seats = self.seats();
        seats.app = Some(ruling);
        self.rule(&mut seats, now);
    }

    /// What the check in seat `index` has come to now.
    pub(super) fn check_says(&self, index: usize, opinion: Opinion, now: Instant) {
        let mut seats = self.seats();
        if let Some(seat) = seats.checks.get_mut(index) {
            *seat = opinion;
        }
        self.rule(&mut seats, now);
    }

    /// A probe of `check` has ended.
    pub(super) fn probed(&self, check: &str, outcome: Outcome, status: Status) {
        self.board.checked(check, outcome, status);
    }

    /// Says everything once more: after a reset the board has forgotten it.
    pub(super) fn rule_again(&self) {
        self.board.rule(self.seats().ruling());
    }

    fn rule(&self, seats: &mut Seats, now: Instant) {
        let ruling = seats.ruling();
        let status = ruling.overall();
        if std::mem::replace(&mut seats.shown, status) != status {
            let is_storm = seats.told.is_some_and(|told| now < told + TOLD_APART);
            seats.told = Some(now);
            tell(&ruling, status, is_storm.then_some(Storm));
        }
        self.board.rule(ruling);
    }

    /// A panic while the seats were open ends the process (panic = abort), so poison is not met.
    fn seats(&self) -> MutexGuard<'_, Seats> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seats {
    /// The AND of all that is said.
    fn ruling(&self) -> Ruling {
        let mut ruling = self.app.clone().unwrap_or_else(|| Ruling {
            statuses: self
                .names
                .iter()
                .map(|name| (name.clone(), Status::Serving))
                .collect(),
            reasons: Vec::new(),
        });
        for opinion in &self.checks {
            ruling.and_of_all(opinion.status, opinion.why.clone());
        }
        ruling
    }
}

/// Changes come one upon the other.
struct Storm;

/// A line a change, which says what it comes from.
fn tell(ruling: &Ruling, status: Status, storm: Option<Storm>) {
    let why = ruling.because(status).collect::<Vec<_>>().join("; ");
    match (storm, status) {
        (Some(Storm), _) => debug!(target: "health", "{}: {why}", status.name()),
        (None, Status::Serving) => info!(target: "health", "SERVING"),
        (None, Status::NotServing) => warn!(target: "health", "NOT_SERVING: {why}"),
        (None, Status::Unknown) => warn!(target: "health", "UNKNOWN: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::health::ruling::Reason;
    use crate::health::verdicts::{Readiness, Recovery};

    fn says(status: Status, why: &str) -> Opinion {
        Opinion {
            status,
            why: (status != Status::Serving).then(|| why.to_owned()),
        }
    }

    fn app(status: Status) -> Ruling {
        let mut ruling = Ruling {
            statuses: [("a".to_owned(), Status::Serving)].into(),
            reasons: Vec::<Reason>::new(),
        };
        ruling.and_of_all(status, (status != Status::Serving).then(|| "the app".to_owned()));
        ruling
    }

    #[test]
    fn every_pair_of_words_is_their_and() {
        let all = [Status::Serving, Status::Unknown, Status::NotServing];
        let now = Instant::now();
        for of_app in all {
            for of_check in all {
                let board = Board::new(["a"], Recovery::Automatic);
                let unspoken = says(Status::Unknown, "x");
                let bench = Bench::new(board.clone(), Some(app(Status::Unknown)), vec![unspoken]);
                assert_eq!(board.status("a"), Some(Status::Unknown));
                bench.app_says(app(of_app), now);
                bench.check_says(0, says(of_check, "check db"), now);
                assert_eq!(board.status("a"), Some(of_app.and(of_check)));
            }
        }
    }

    #[test]
    fn those_who_agree_are_all_named() {
        let board = Board::new(["a"], Recovery::Automatic);
        let unspoken = says(Status::Unknown, "check x");
        let bench = Bench::new(board.clone(), Some(app(Status::NotServing)), vec![unspoken; 2]);
        bench.check_says(1, says(Status::NotServing, "check y"), Instant::now());
        assert_eq!(
            board.readiness(),
            Readiness::NotReady("not serving: the app; check y".into())
        );
    }

    #[test]
    fn after_a_reset_what_holds_is_said_again() {
        let board = Board::new(["a"], Recovery::Manual);
        let now = Instant::now();
        let bench = Bench::new(board.clone(), None, vec![says(Status::Unknown, "x")]);
        bench.check_says(0, says(Status::Serving, ""), now);
        bench.check_says(0, says(Status::NotServing, "check db"), now);
        bench.check_says(0, says(Status::Serving, ""), now);
        assert_eq!(board.status("a"), Some(Status::NotServing));
        assert_eq!(board.reset(), ["a"]);
        assert_eq!(board.status("a"), Some(Status::Unknown));
        bench.rule_again();
        assert_eq!(board.status("a"), Some(Status::Serving));
    }
}
