//! The rules: what has to hold between a manifest and tidegate's settings. Each has an id that is
//! never given to another, and a section in docs/checks.md.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `catalogue` | every rule's id, name and meaning |
//! | `settings` | the settings are valid, known, and seen by the kubelet |
//! | `time` | grace here is grace there; hooks and probes leave it alone |
//! | `command` | tidegate is there, and in front |
//! | `probes` | who asks gets an answer, the right one, in time |
//! | `ports` | the ports that tidegate listens at are its alone |
//! | `sidecar` | tidegate beside the program: it hears of the stop, and sees whom it is to stop |
//! | `rollout` | the new pods are known before the old ones go |

pub mod catalogue;
mod command;
mod ports;
mod probes;
mod rollout;
mod settings;
mod sidecar;
mod time;

pub use command::is_unreplaced_shell;
pub use time::sleeps;

use super::finding::Finding;
use super::wrapped::{Installer, Wrapped};

/// What the rules are asked about.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// The container.
    pub wrapped: &'a Wrapped<'a>,
    /// All of the same pod that run tidegate.
    pub siblings: &'a [Wrapped<'a>],
    /// Those of the same pod that bring the binary.
    pub installers: &'a [Installer<'a>],
}

/// One rule, or a few that look at the same thing.
type Check = fn(Case<'_>, &mut Vec<Finding>);

const CHECKS: &[Check] = &[
    settings::are_valid,
    settings::are_known,
    settings::hooks_are_sound,
    settings::hooks_have_their_variables,
    settings::termination_message_is_read,
    time::grace_is_the_same,
    time::grace_is_long_enough,
    time::pre_stop_is_declared,
    time::probes_leave_the_grace,
    command::nothing_is_in_front,
    command::binary_is_brought,
    command::child_gets_the_signal,
    command::stop_signal_starts_the_drain,
    command::processes_are_its_own,
    sidecar::is_native,
    sidecar::the_hook_calls_tidegate,
    sidecar::the_target_can_be_seen,
    sidecar::the_target_can_be_signalled,
    probes::readiness_asks_tidegate,
    probes::probes_are_answered,
    probes::readiness_is_quick,
    probes::liveness_is_its_own,
    ports::ports_are_free,
    rollout::new_pods_are_known,
    rollout::not_all_at_once,
];

/// Holds every rule to one container.
pub fn hold(case: Case<'_>, findings: &mut Vec<Finding>) {
    for check in CHECKS {
        check(case, findings);
    }
}
