//! `tidegate run -- COMMAND`: supervise and drain COMMAND.
//!
//! The order is part of the promise: config and sockets first, because their errors must
//! come before the program runs; then the program, so that it starts as fast as without us;
//! then the runtime and the servers.

use std::sync::Arc;

use super::supervise::{Doors, RunError, Watched, keepers, pending, start_log, supervise, triggers};
use crate::child::{Command, Inherited, Terminal, leave_the_first_moment_to_it};
use crate::config::Settings;
use crate::drain::program::Program;

/// Runs `command` to its end and returns the code to exit with.
///
/// # Errors
/// [`RunError`] when it could not be begun, or not be brought to its end.
pub fn run(settings: &Settings, command: &Command, inherited: Inherited) -> Result<u8, RunError> {
    start_log(settings);
    let doors = Doors::open(settings)?;
    let triggers = triggers(settings, &inherited);
    let watched = start(command, inherited)?;
    supervise(settings, triggers, watched, doors)
}

/// The program, up.
fn start(command: &Command, inherited: Inherited) -> Result<Watched, RunError> {
    let (reaper, mut signals) = keepers(inherited)?;
    let spawner = reaper.spawner();
    let terminal = Terminal::find();
    let child = Arc::new(match &terminal {
        Some(terminal) => spawner.spawn_on(command, terminal)?,
        None => spawner.spawn(command)?,
    });
    leave_the_first_moment_to_it(&reaper, &signals);
    Ok(Watched {
        early: pending(&mut signals)?,
        terminal: terminal.map(|terminal| (terminal, Arc::clone(&child))),
        program: Program::Child(child),
        reaper,
        spawner,
        signals,
    })
}
