//! `tidegate sidecar`: drain the program in the container beside.

use std::sync::Arc;

use super::supervise::{Doors, RunError, Watched, keepers, pending, start_log, supervise, triggers};
use crate::child::Inherited;
use crate::config::Settings;
use crate::drain::program::Program;
use crate::target::Beside;

/// Runs until our own stop signal, and returns the code to exit with.
///
/// # Errors
/// [`RunError`] when it could not be begun.
pub fn run(settings: &Settings, inherited: Inherited) -> Result<u8, RunError> {
    start_log(settings);
    let doors = Doors::open(settings)?;
    let triggers = triggers(settings, &inherited);
    let (reaper, mut signals) = keepers(inherited)?;
    let program = match settings.target.clone() {
        Some(clue) => Program::Beside(Arc::new(Beside::new(clue))),
        None => Program::OutOfReach,
    };
    let watched = Watched {
        early: pending(&mut signals)?,
        terminal: None,
        program,
        spawner: reaper.spawner(),
        reaper,
        signals,
    };
    supervise(settings, triggers, watched, doors)
}
