//! Random schedules by the thousand against the promises of a drain.
//!
//! The seeds are fixed, so that a failure fails again; `DRAIN_SEED` picks another beginning
//! and `DRAIN_STEPS` another length. What fails is shrunk, and printed as a schedule.

mod promises;
mod schedule;
mod shrink;
mod spec;
mod world;

use std::collections::HashSet;
use std::time::Instant;

use tidegate::drain::record::Verdict;
use tidegate::drain::table::{Kind, Phase};

use schedule::{Dice, Schedule};
use world::World;

#[test]
fn every_promise_holds_on_every_schedule() {
    let steps = setting("DRAIN_STEPS", 1_000_000);
    let mut seed = setting("DRAIN_SEED", 0x7469_6465);
    let base = Instant::now();
    let mut taken = 0;
    let mut cells = HashSet::new();
    let mut verdicts = HashSet::new();
    while taken < steps {
        seed = Dice(seed).roll();
        let schedule = Schedule::random(&mut Dice(seed));
        let mut world = World::new(&schedule, base);
        if world.run().is_err() {
            let (schedule, broken) = shrink::shrink(schedule, base);
            panic!(
                "{} is broken (seed {seed})\nby {schedule}at {}",
                broken.promise, broken.moment
            );
        }
        taken += world.handled;
        cells.extend(world.cells);
        verdicts.extend(world.verdicts);
    }
    let row = |phase| Kind::ALL.map(|kind| (phase, kind));
    let all = Phase::ALL.into_iter().flat_map(row);
    let unmet: Vec<_> = all.filter(|cell| !cells.contains(cell)).collect();
    assert_eq!(unmet, [], "the schedules never met these cells of the table");
    assert_eq!(
        verdicts.len(),
        Verdict::ALL.len(),
        "of all verdicts only {verdicts:?}"
    );
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| {
        value
            .parse()
            .unwrap_or_else(|_| panic!("{name}={value} is not a number"))
    })
}
