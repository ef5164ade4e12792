//! One hook's tries.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::pin::pin;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::time::error::Elapsed;
use tracing::{info, warn};

use super::deed::{Doer, Failure, Tried};
use super::outcome::{HookState, Outcome};
use super::roster::{Outcomes, Wanted};
use super::{Patience, Way};

/// The pause before the first retry; each later one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// No pause is longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// A registry that does not know the instance yet is asked again for so long: what an earlier one left there is forgotten
/// by then (Nacos: 30 s without a heartbeat, and 60 s of memory).
const LONGEST_MEMORY: Duration = Duration::from_secs(120);

/// The most the pause before retry `number`, from 1, can be.
pub(super) fn longest_pause(number: u32) -> Duration {
    let doubled = FIRST_PAUSE.saturating_mul(1 << number.saturating_sub(1).min(16));
    doubled.min(LONGEST_PAUSE)
}

/// Half of the longest at least, so that instances that leave at once do not come again at once.
fn pause(number: u32) -> Duration {
    let random = RandomState::new().build_hasher().finish();
    let share = 500 + u32::try_from(random % 501).unwrap_or(0);
    longest_pause(number) * share / 1000
}

/// Tries a hook until it is done, has used its tries, or the other way is wanted: a try under way is then
/// let finish, and none follows. A look for what an earlier container left ends at once, unless it has found some and
/// is about to take it away.
pub(super) async fn attempt(
    doer: &mut Doer,
    patience: Patience,
    way: Way,
    mut wanted: watch::Receiver<Wanted>,
    outcomes: &Outcomes,
) -> Outcome {
    let begun = Instant::now();
    let mut outcome = Outcome::running(doer.name(), way);
    let mut failures = 0;
    let state = loop {
        outcome.tries += 1;
        let Some(tried) = once(doer, patience.timeout, way, &mut wanted).await else {
            break HookState::Abandoned;
        };
        let failure = match tried {
            Ok(Ok(Tried::NotYet)) if begun.elapsed() < LONGEST_MEMORY => None,
            Ok(Ok(Tried::Done | Tried::NotYet)) => {
                outcome.why = None;
                break HookState::Done;
            }
            Ok(Err(failure)) => Some(failure.0),
            Err(_) => Some(format!("no end within {:?}", patience.timeout)),
        };
        let rest = match failure {
            None => LONGEST_PAUSE,
            Some(failure) => {
                failures += 1;
                let is_last = failures > patience.retries;
                warn!(
                    target: "hooks", hook = doer.name(), on = way.key(), attempt = outcome.tries,
                    "{failure}{}", if is_last { "; given up" } else { "" }
                );
                outcome.why = Some(failure);
                if is_last {
                    break HookState::Failed;
                }
                pause(failures)
            }
        };
        outcomes.note(doer.seat(), &outcome);
        let other_way = wanted.wait_for(|wanted| wanted.way() != Some(way));
        tokio::select! {
            biased;
            _ = other_way => break HookState::Abandoned,
            () = tokio::time::sleep(rest) => {}
        }
    };
    outcome.over(state, begun.elapsed());
    if state == HookState::Done {
        info!(target: "hooks", hook = doer.name(), on = way.key(), millis = outcome.millis, "done");
    }
    outcome
}

/// One try, if it lasts: a look is dropped when another way is wanted.
async fn once(
    doer: &mut Doer,
    timeout: Duration,
    way: Way,
    wanted: &mut watch::Receiver<Wanted>,
) -> Option<Result<Result<Tried, Failure>, Elapsed>> {
    let changes = doer.changes();
    changes.forget();
    let mut tried = pin!(tokio::time::timeout(timeout, doer.once(way)));
    if way != Way::Anew {
        return Some(tried.await);
    }
    tokio::select! {
        biased;
        _ = wanted.wait_for(|wanted| wanted.way() != Some(way)) => {}
        tried = &mut tried => return Some(tried),
    }
    match changes.are_under_way() {
        true => Some(tried.await),
        false => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_bound_and_are_never_the_same_for_all() {
        let longest: Vec<u128> = (1..=7).map(|number| longest_pause(number).as_millis()).collect();
        assert_eq!(longest, [100, 200, 400, 800, 1600, 2000, 2000]);
        let pauses: Vec<Duration> = (0..100).map(|_| pause(3)).collect();
        assert!(
            pauses
                .iter()
                .all(|pause| (200..=400).contains(&pause.as_millis()))
        );
        assert!(pauses.iter().any(|pause| *pause != pauses[0]));
        assert_eq!(longest_pause(u32::MAX), LONGEST_PAUSE);
    }
}
