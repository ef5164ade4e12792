//! The least schedule that still breaks a promise.

use std::time::Instant;

use crate::schedule::{Schedule, Wait};
use crate::spec::Broken;
use crate::world::World;

/// Leaves out and simplifies what can be while the schedule still fails.
///
/// # Panics
/// If `schedule` does not fail at all.
pub fn shrink(mut schedule: Schedule, base: Instant) -> (Schedule, Broken) {
    let Some(mut broken) = fails(&schedule, base) else {
        panic!("the schedule failed once and not again: {schedule:#?}");
    };
    loop {
        let smaller = smaller(&schedule).find_map(|less| fails(&less, base).map(|broken| (less, broken)));
        match smaller {
            Some(found) => (schedule, broken) = found,
            None => return (schedule, broken),
        }
    }
}

fn fails(schedule: &Schedule, base: Instant) -> Option<Broken> {
    World::new(schedule, base).run().err()
}

/// Every schedule that is a little less than this one, the boldest cuts first.
fn smaller(schedule: &Schedule) -> impl Iterator<Item = Schedule> {
    let len = schedule.steps.len();
    let sizes = std::iter::successors(Some(len / 2), |size| Some(size / 2)).take_while(|size| *size > 0);
    let cuts = sizes.flat_map(move |size| (0..=len - size).step_by(size).map(move |from| from..from + size));
    let cut = cuts.map(|gone| {
        let mut less = schedule.clone();
        less.steps.drain(gone);
        less
    });
    let hasten = (0..len).filter_map(|at| {
        let mut less = schedule.clone();
        let wait = &mut less.steps[at].wait;
        match wait {
            Wait::No => return None,
            Wait::Span(span) | Wait::PastDeadline(span) if span.as_millis() > 1 => *span /= 2,
            _ => *wait = Wait::No,
        }
        Some(less)
    });
    cut.chain(hasten)
}
