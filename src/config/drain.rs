//! What the drain makes of the settings: the machine's rules, and what is worth a warning.

use crate::drain::budget::{Seconds, Waits};
use crate::drain::machine::{Measured, Rules};

use super::settings::Settings;

impl Settings {
    /// The rules of one run.
    pub fn rules(&self) -> Rules {
        Rules {
            plan: self.plan,
            threshold: self.drain.threshold,
            poll_interval: self.drain.poll_interval,
            on_unknown: self.drain.on_unknown,
            stalled_after: self.drain.stalled_after,
            measured: if self.inflight.is_empty() {
                Measured::No
            } else {
                Measured::Yes
            },
        }
    }

    /// What is allowed and can hardly be meant: lines with the mend.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        self.quiet_too_long()
            .into_iter()
            .chain(self.slow_hooks())
            .chain(self.plain_secrets())
            .chain(self.unreachable_hook())
    }

    /// A quiet period that cannot come: nothing, or a line with the mend.
    pub fn quiet_too_long(&self) -> Option<String> {
        let plan = &self.plan;
        let room = plan.most_in_flight();
        let measures = !self.inflight.is_empty() && plan.waits == Waits::Kept;
        (measures && plan.quiet > room).then(|| {
            format!(
                "drain.quiet {} is longer than the {} there are between propagation and the stop signal, \
                 so that no drain ends before its deadline; shorten it or raise terminationGracePeriodSeconds",
                Seconds(plan.quiet),
                Seconds(room)
            )
        })
    }
}
