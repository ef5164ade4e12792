//! One check for ever: probe, count, tell.

use std::sync::Arc;
use std::time::Instant;

use tracing::{debug, info, warn};

use super::Check;
use super::failure::Failure;
use super::probe::Probe;
use super::tally::Tally;
use crate::child::Spawner;
use crate::health::bench::{Bench, Opinion};
use crate::health::figures::Outcome;
use crate::health::status::Status;

/// Runs `check` and tells `bench` in seat `seat`. It has no end of its own; dropped, it ends what it started.
pub(in crate::health) async fn check(check: Check, seat: usize, bench: Arc<Bench>, spawner: Spawner) {
    let mut probe = Probe::new(&check, spawner);
    let mut tally = Tally::new(check.failures);
    loop {
        let begun = Instant::now();
        let outcome = probe.once().await;
        let before = tally.status();
        let ended = match &outcome {
            Ok(()) => {
                tally.succeeded();
                Outcome::Succeeded
            }
            Err(_) => {
                tally.failed();
                Outcome::Failed
            }
        };
        bench.probed(&check.name, ended, tally.status());
        tell(&check, &tally, before, &outcome);
        bench.check_says(seat, opinion(&check, &tally, outcome), Instant::now());
        tokio::time::sleep_until((begun + check.interval).into()).await;
    }
}

/// A check that nothing is known of yet.
pub(in crate::health) fn unspoken(check: &Check) -> Opinion {
    Opinion {
        status: Status::Unknown,
        why: Some(format!("check {} has not answered yet", check.name)),
    }
}

fn opinion(check: &Check, tally: &Tally, outcome: Result<(), Failure>) -> Opinion {
    let why = match (tally.status(), outcome) {
        (Status::Unknown | Status::NotServing, Err(failure)) => {
            Some(format!("check {}: {failure}", check.name))
        }
        (Status::Serving, _) | (_, Ok(())) => None,
    };
    Opinion {
        status: tally.status(),
        why,
    }
}

fn tell(check: &Check, tally: &Tally, before: Status, outcome: &Result<(), Failure>) {
    let name = &check.name;
    match (outcome, tally.status()) {
        (Ok(()), _) if before == Status::NotServing => info!(target: "health", "check {name} succeeds again"),
        (Ok(()), _) => debug!(target: "health", "check {name} succeeds"),
        (Err(failure), Status::NotServing) if before != Status::NotServing => {
            warn!(target: "health", "check {name} failed {} times in a row: {failure}", tally.in_a_row());
        }
        (Err(failure), _) => debug!(target: "health", "check {name} failed: {failure}"),
    }
}
