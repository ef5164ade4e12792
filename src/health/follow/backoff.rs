//! How long to wait before asking again: at once after a long quiet, ever longer after trouble.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

/// The wait after the second end in a row. Short, since the app may only just be starting.
const FIRST: Duration = Duration::from_millis(50);

/// Each wait is so many times the one before.
const GROWTH: f64 = 1.5;

/// What lived so long is no trouble: the next try begins anew, at once.
const CALM: Duration = Duration::from_secs(10);

/// The share of a wait that chance may take away, so that many who lost the same server do not come
/// back as one.
const JITTER: f64 = 0.5;

/// The waits between tries, each up to a cap.
///
/// The first end is followed at once: a server that sent its GOAWAY or ended a stream expects us back.
/// A server that ends things many times a second meets the cap within ten tries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backoff {
    cap: Duration,
    ends: u32,
}

/// Where between nothing (0.0) and all of the jitter (1.0) chance falls.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chance(f64);

impl Chance {
    /// Chance itself. The standard library's hash keys are the operating system's randomness.
    pub(super) fn draw() -> Self {
        let drawn = RandomState::new().build_hasher().finish();
        Self((drawn >> 11) as f64 / (1u64 << 53) as f64)
    }
}

impl Backoff {
    pub(super) const fn up_to(cap: Duration) -> Self {
        Self { cap, ends: 0 }
    }

    /// What was tried has ended after it lived for `lived`, zero if it never worked: so long until the
    /// next try.
    pub(super) fn after(&mut self, lived: Duration, chance: Chance) -> Duration {
        if lived >= CALM {
            self.ends = 0;
        }
        let before = self.ends;
        self.ends = self.ends.saturating_add(1);
        if before == 0 {
            return Duration::ZERO;
        }
        let grown = FIRST.as_secs_f64() * GROWTH.powi(before.min(64) as i32 - 1);
        let wait = grown.min(self.cap.as_secs_f64());
        Duration::from_secs_f64(wait * (1.0 - JITTER * chance.0))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CAP: Duration = Duration::from_secs(2);

    #[test]
    fn one_end_after_a_calm_is_followed_at_once() {
        let mut backoff = Backoff::up_to(CAP);
        for _ in 0..20 {
            assert_eq!(backoff.after(CALM, Chance(0.0)), Duration::ZERO);
        }
    }

    #[test]
    fn an_app_that_is_starting_is_asked_again_soon() {
        let mut backoff = Backoff::up_to(CAP);
        let waits: Vec<_> = (0..4)
            .map(|_| backoff.after(Duration::ZERO, Chance(0.0)).as_millis())
            .collect();
        assert_eq!(waits, [0, 50, 75, 112]);
    }

    #[test]
    fn ending_twenty_times_a_second_makes_no_storm() {
        let mut backoff = Backoff::up_to(CAP);
        let lived = Duration::from_millis(50);
        let (mut elapsed, mut tries) = (Duration::ZERO, 0);
        while elapsed < Duration::from_secs(60) {
            elapsed += lived + backoff.after(lived, Chance(1.0));
            tries += 1;
        }
        assert!(tries < 75, "{tries} tries in a minute");
    }

    proptest! {
        #[test]
        fn waits_never_pass_the_cap_and_never_vanish_in_trouble(
            lives in prop::collection::vec(0u64..10_000, 1..200), chance in 0.0f64..1.0,
        ) {
            let mut backoff = Backoff::up_to(CAP);
            prop_assert_eq!(backoff.after(Duration::ZERO, Chance(chance)), Duration::ZERO);
            for lived in lives {
                let wait = backoff.after(Duration::from_millis(lived), Chance(chance));
                prop_assert!(wait <= CAP && wait >= FIRST / 2, "{:?}", wait);
            }
        }

        #[test]
        fn chance_is_between_nothing_and_all(_ in 0..100) {
            let Chance(drawn) = Chance::draw();
            prop_assert!((0.0..1.0).contains(&drawn));
        }
    }
}
