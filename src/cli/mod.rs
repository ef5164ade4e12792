//! The command line, a file a command.
//!
//! | file | what it does |
//! | --- | --- |
//! | `args` | the arguments, understood but not judged |
//! | `plain` | the same for the command lines of images, at once |
//! | `run` | `tidegate run -- COMMAND` |
//! | `sidecar` | `tidegate sidecar` |
//! | `supervise` | what those two have in common |
//! | `check` | `tidegate check` |
//! | `inflight` | `tidegate inflight` |
//! | `plan` | `tidegate plan` |
//! | `completions` | `tidegate completions` |
//! | `inject` | `tidegate inject` |
//! | `install` | `tidegate install` |
//! | `drain`, `resume`, `reset`, `hurry` | orders to a running tidegate |
//! | `prestop` | `tidegate prestop`, the exec hook |
//! | `status` | `tidegate status` |
//! | `asking` | what those have in common |
//! | `screen`, `story`, `colour` | what they show: a live line or plain ones, in words, in colours |

use std::io::Write;
use std::time::Duration;

use crate::child::{Command, Inherited};
use crate::config::{self, ConfigError, Settings};
use crate::drain::order::Order;
use crate::telemetry::stderr::Stderr;

pub mod args;
mod asking;
pub mod check;
mod colour;
pub mod completions;
mod drain;
mod hurry;
pub mod inflight;
pub mod inject;
pub mod install;
pub mod plain;
pub mod plan;
mod prestop;
mod reset;
mod resume;
pub mod run;
mod screen;
pub mod sidecar;
mod status;
mod story;
mod supervise;

use args::Invocation;

/// What tidegate exits with when it failed itself.
pub const OWN_FAILURE: u8 = 125;

/// How long a full stderr is waited for. The line says why nothing was started, so it is worth a
/// moment; a reader that is stuck must not keep the container from being restarted.
const PATIENCE: Duration = Duration::from_secs(1);

/// Does what the arguments ask for and returns the code to exit with.
pub fn main(inherited: Inherited) -> u8 {
    if let Some(asked) = plain::run(inherited.arguments()) {
        return run(asked, inherited);
    }
    let invocation = args::parse(inherited.arguments().iter().cloned());
    if matches!(
        invocation,
        Ok(Invocation::Check(_)
            | Invocation::Completions(_)
            | Invocation::Install(_)
            | Invocation::Plan(_)
            | Invocation::Print(_))
    ) {
        // There is no program to keep signals for: Ctrl-C ends us like any other command.
        inherited.restore();
    }
    match invocation {
        Ok(Invocation::Run(asked)) => run(asked, inherited),
        Ok(Invocation::Sidecar(asked)) => sidecar(asked, inherited),
        Ok(Invocation::Check(asked)) => check::run(&asked, &mut std::io::stdout())
            .map_or_else(|error| complain(&error, OWN_FAILURE), check::Outcome::code),
        Ok(Invocation::Inject(asked)) => match inject::run(&asked, &mut std::io::stderr()) {
            Ok(text) => print(&text),
            Err(error) => complain(&error, error.exit_code()),
        },
        Ok(Invocation::Inflight(asked)) => inflight(asked, inherited),
        Ok(Invocation::Install(asked)) => match install::run(&asked.directory, &asked.started_as) {
            Ok(path) => print(&format!("{}\n", path.display())),
            Err(error) => complain(&error, OWN_FAILURE),
        },
        Ok(Invocation::Order(order, reach)) => {
            let command = match order {
                Order::PreStop => prestop::run,
                Order::Hold => drain::run,
                Order::Resume => resume::run,
                Order::Reset => reset::run,
                Order::Hurry => hurry::run,
            };
            command(&reach, &inherited)
        }
        Ok(Invocation::Status(asked)) => status::run(&asked, &inherited),
        Ok(Invocation::Plan(asked)) => match load(asked) {
            Ok(settings) => print(&plan::draw(&settings)),
            Err(error) => complain(&error, OWN_FAILURE),
        },
        Ok(Invocation::Completions(asked)) => print(&completions::text(asked)),
        Ok(Invocation::Print(text)) => print(&text),
        Err(error) => complain(&error, OWN_FAILURE),
    }
}

fn run(asked: args::Run, inherited: Inherited) -> u8 {
    let command = Command::new(asked.program, asked.arguments);
    let settings = match load(asked.asked).and_then(Settings::of_a_wrap) {
        Ok(settings) => settings,
        Err(error) => return complain(&error, OWN_FAILURE),
    };
    run::run(&settings, &command, inherited).unwrap_or_else(|error| complain(&error, error.exit_code()))
}

fn sidecar(asked: args::Asked, inherited: Inherited) -> u8 {
    let settings = match load(asked).and_then(Settings::of_a_sidecar) {
        Ok(settings) => settings,
        Err(error) => return complain(&error, OWN_FAILURE),
    };
    sidecar::run(&settings, inherited).unwrap_or_else(|error| complain(&error, error.exit_code()))
}

fn inflight(asked: args::Inflight, inherited: Inherited) -> u8 {
    let settings = match load(asked.asked) {
        Ok(settings) => settings,
        Err(error) => return complain(&error, OWN_FAILURE),
    };
    match inflight::run(&settings, inherited, asked.times, &mut std::io::stdout()) {
        Ok(outcome) => outcome.code(),
        Err(error) => complain(&error, OWN_FAILURE),
    }
}

fn load(asked: args::Asked) -> Result<Settings, ConfigError> {
    config::load(config::Inputs {
        file: asked.config,
        environment: std::env::vars_os(),
        flags: asked.flags,
    })
}

fn print(text: &str) -> u8 {
    // Nobody reads it: that is the reader's affair.
    let _ = std::io::stdout().write_all(text.as_bytes());
    0
}

/// One line on stderr, whatever has become of stderr.
fn complain(error: &dyn std::error::Error, code: u8) -> u8 {
    Stderr::open().write_line_within(PATIENCE, format!("tidegate: {error}"));
    code
}
