//! What follows the drain of a program in a container beside ours: it is over, and we are still there.
//!
//! By the kubelet (pkg/kubelet/kuberuntime), a native sidecar gets its stop signal once every main container is
//! gone, with as little as 2 s left; a plain container gets it together with the others, so that it may come before
//! the program's hook, while that waits, or after. And a failing liveness probe runs the hook too, with no pod being deleted.
//!
//! | what happens | what is done |
//! | --- | --- |
//! | our stop signal while the program serves | a drain, as in front of a child |
//! | the same when the program is known to be gone | NOT_SERVING and the hooks, in what a native sidecar has left |
//! | our stop signal during a drain | the drain goes on, and its end is ours |
//! | our stop signal after a drain | the end |
//! | the program's return after a drain | the drain is undone |
//! | T0 + G after a drain | the drain is undone: no pod was deleted, or we would be gone |

use std::time::{Duration, Instant};

use super::budget::after;
use super::record::Record;

/// What a native sidecar has at the least between its stop signal and SIGKILL
/// (minimumGracePeriodInSeconds of pkg/kubelet/kuberuntime), less a margin of a fifth.
pub(super) const LAST_GRACE: Duration = Duration::from_millis(1_600);

/// How our own run stands beside that of the program.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Beside {
    /// We have had a stop signal of our own.
    pub told_to_stop: bool,
    /// After a drain: when it is undone if nothing happens before.
    undone: Option<Instant>,
}

impl Beside {
    /// A drain is over that ran by this record.
    pub fn release(&mut self, record: &Record, now: Instant) {
        let begun = record.begun.unwrap_or(now);
        self.undone = Some(after(begun, record.plan.grace.0).max(now));
    }

    /// Whether a drain is over.
    pub fn is_released(&self) -> bool {
        self.undone.is_some()
    }

    /// When to come back if nothing happens before.
    pub fn next_moment(&self) -> Option<Instant> {
        self.undone
    }

    /// Whether the drain is undone by now.
    pub fn is_due(&self, now: Instant) -> bool {
        self.undone.is_some_and(|at| now >= at)
    }

    /// The drain is undone.
    pub fn come_back(&mut self) {
        self.undone = None;
    }
}
