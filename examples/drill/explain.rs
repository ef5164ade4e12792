//! Every failed call, explained: which instance it was sent to, what that instance was doing, which code came back.

use std::collections::BTreeMap;
use std::time::Duration;

use tonic::Code;

use crate::run::{Outcome, Restart};

/// One failed call.
pub struct Explained {
    /// When it was due.
    pub at: Duration,
    /// The instance it was sent to, `none` where the load balancer knew of none.
    pub instance: String,
    /// What that instance was doing when the call failed.
    pub phase: String,
    /// The gRPC code.
    pub code: Code,
    /// What came with it.
    pub why: String,
}

/// A call's failure is seen a moment before the instance's end is, or after.
const NOTICED: Duration = Duration::from_millis(50);

/// The phases of tidegate's termination message, in their order.
const PHASES: [&str; 6] = ["notify", "propagation", "inFlight", "stop", "kill", "leftovers"];

/// All failed calls of a run.
pub fn explain(outcome: &Outcome) -> Vec<Explained> {
    let failed = outcome
        .calls
        .iter()
        .filter_map(|call| Some((call, call.failed.as_ref()?)));
    failed
        .map(|(call, failed)| {
            let restart = match call.instance {
                Some(instance) => outcome.restart_at(instance, call.end()),
                // Nobody says which: the one that ended at that moment.
                None => outcome
                    .restarts
                    .iter()
                    .find(|restart| restart.gone.abs_diff(call.end()) < NOTICED),
            };
            let (instance, phase) = match (restart, call.instance) {
                (Some(restart), _) => (restart.name.clone(), phase(restart, call.at, call.end())),
                (None, Some(address)) => (address.to_string(), "serving".to_owned()),
                (None, None) => ("none".to_owned(), "the load balancer knew of none".to_owned()),
            };
            Explained {
                at: call.at,
                instance,
                phase,
                code: failed.code,
                why: failed.why.clone(),
            }
        })
        .collect()
}

/// What an instance was doing at the end of a call that began at `begun`.
fn phase(restart: &Restart, begun: Duration, ended: Duration) -> String {
    let sent = if begun < restart.told {
        "sent while it served"
    } else if begun < restart.gone {
        "sent while it was to stop"
    } else {
        "sent when it was gone"
    };
    let was = if ended < restart.told {
        "served".to_owned()
    } else if ended + NOTICED < restart.gone {
        within(restart, ended)
    } else {
        "gone".to_owned()
    };
    format!("{was}; {sent}")
}

/// The phase of a drain at that time, as far as the report tells.
fn within(restart: &Restart, ended: Duration) -> String {
    let phases = restart
        .report
        .as_ref()
        .and_then(|report| report.get("phasesMillis"));
    let mut over = restart.told;
    for name in PHASES {
        let millis = phases.and_then(|phases| phases.get(name)?.as_u64());
        over += Duration::from_millis(millis.unwrap_or(0));
        if ended <= over {
            return name.to_owned();
        }
    }
    "to stop".to_owned()
}

/// The same in a few lines: how many failed in the same way, the most first.
pub fn summary(outcome: &Outcome) -> Vec<String> {
    let mut ways: BTreeMap<(String, String, String), (usize, Vec<String>)> = BTreeMap::new();
    for failure in explain(outcome) {
        let code = format!("{:?}", failure.code);
        let (count, instances) = ways.entry((code, failure.phase, failure.why)).or_default();
        *count += 1;
        if !instances.contains(&failure.instance) {
            instances.push(failure.instance);
        }
    }
    let mut ways: Vec<_> = ways.into_iter().collect();
    ways.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    ways.into_iter()
        .map(|((code, phase, why), (count, instances))| {
            format!(
                "{count} × {code}, instance {}: {phase}: {why}",
                instances.join(" ")
            )
        })
        .collect()
}
