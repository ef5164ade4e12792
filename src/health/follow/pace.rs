//! How often an app without Watch is asked: seldom while its state stands, often while it flaps.

use std::time::{Duration, Instant};

/// From poll to poll while the state stands.
const STEADY: Duration = Duration::from_secs(10);

/// From poll to poll while it flaps.
const FAST: Duration = Duration::from_secs(1);

/// A state that changed so recently may change again.
const FLAPPING: Duration = Duration::from_secs(30);

/// The pace of polling.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    changed: Instant,
}

impl Pace {
    /// The pace of an app that nothing is known of: fast.
    pub(super) fn new(now: Instant) -> Self {
        Self { changed: now }
    }

    /// The state changed.
    pub(super) fn changed(&mut self, now: Instant) {
        self.changed = now;
    }

    /// From the begin of the last poll to the begin of the next.
    pub(super) fn interval(&self, now: Instant) -> Duration {
        if now.saturating_duration_since(self.changed) < FLAPPING {
            FAST
        } else {
            STEADY
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_that_stands_is_asked_for_seldom() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut pace = Pace::new(start);
        assert_eq!(pace.interval(start), FAST);
        assert_eq!(pace.interval(at(29)), FAST);
        assert_eq!(pace.interval(at(30)), STEADY);
        pace.changed(at(100));
        assert_eq!(pace.interval(at(129)), FAST);
        assert_eq!(pace.interval(at(130)), STEADY);
    }
}
