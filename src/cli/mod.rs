//! The command line, a file a command.
//!
//! | file | what it does |
//! | --- | --- |
//! | `args` | the arguments, understood but not judged |
//! | `run` | `tidegate run -- COMMAND` |
//! | `check` | `tidegate check` |
//! | `inject` | `tidegate inject` |
//! | `install` | `tidegate install` |

use std::io::Write;

use crate::child::{Command, Inherited};
use crate::config;

pub mod args;
pub mod check;
pub mod inject;
pub mod install;
pub mod run;

use args::Invocation;

/// What tidegate exits with when it failed itself.
pub const OWN_FAILURE: u8 = 125;

/// Does what the arguments ask for and returns the code to exit with.
pub fn main(inherited: Inherited) -> u8 {
    match args::parse(inherited.arguments().iter().cloned()) {
        Ok(Invocation::Run(asked)) => run(asked, inherited),
        Ok(Invocation::Check(asked)) => check::run(&asked, &mut std::io::stdout())
            .map_or_else(|error| complain(&error, OWN_FAILURE), check::Outcome::code),
        Ok(Invocation::Inject(asked)) => match inject::run(&asked, &mut std::io::stderr()) {
            Ok(text) => print(&text),
            Err(error) => complain(&error, error.exit_code()),
        },
        Ok(Invocation::Install(asked)) => match install::run(&asked.directory, &asked.started_as) {
            Ok(path) => print(&format!("{}\n", path.display())),
            Err(error) => complain(&error, OWN_FAILURE),
        },
        Ok(Invocation::Print(text)) => print(&text),
        Err(error) => complain(&error, OWN_FAILURE),
    }
}

fn run(asked: args::Run, inherited: Inherited) -> u8 {
    let inputs = config::Inputs {
        file: asked.config,
        environment: std::env::vars_os(),
        flags: asked.flags,
    };
    let command = Command::new(asked.program, asked.arguments);
    let settings = match config::load(inputs) {
        Ok(settings) => settings,
        Err(error) => return complain(&error, OWN_FAILURE),
    };
    run::run(&settings, &command, inherited).unwrap_or_else(|error| complain(&error, error.exit_code()))
}

fn print(text: &str) -> u8 {
    // Nobody reads it: that is the reader's affair.
    let _ = std::io::stdout().write_all(text.as_bytes());
    0
}

/// One line on stderr, whatever has become of stderr.
fn complain(error: &dyn std::error::Error, code: u8) -> u8 {
    let _ = std::io::stderr().write_all(format!("tidegate: {error}\n").as_bytes());
    code
}
