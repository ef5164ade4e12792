//! The arguments: what is to be done. Values stay as they were written; the config parses them, so
//! that a flag's error reads like a file's.
//!
//! The first word decides, so only the command that is asked for has its definition built: the
//! whole start has a third of a millisecond.
//!
//! | file | the commands in it |
//! | --- | --- |
//! | `running` | those that act on settings: `run`, `plan`, `inflight` |
//! | `asking` | those that ask a running one |
//! | `manifests` | `check`, `inject` |
//! | `setup` | `install`, `completions` |
//! | `mistakes` | what was not understood, on one line |

mod asking;
mod manifests;
mod mistakes;
mod running;
mod setup;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Command, ValueHint};

use crate::config::flags::Flag;
use crate::drain::order::Order;

pub use asking::{Output, Reach, Span, StatusAsked};
pub use running::NOTES;
pub use setup::SHELLS;

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub enum Invocation {
    /// Supervise and drain a command.
    Run(Run),
    /// Drain the program in the container beside.
    Sidecar(Asked),
    /// Check files.
    Check(Check),
    /// Poll the in-flight sources now.
    Inflight(Inflight),
    /// Wrap manifests.
    Inject(Inject),
    /// Copy this binary.
    Install(Install),
    /// Have a running tidegate do something.
    Order(Order, Reach),
    /// Ask it what it is doing.
    Status(StatusAsked),
    /// Draw the timeline that these settings give.
    Plan(Asked),
    /// Print completions for a shell, or the man page.
    Completions(Completions),
    /// Print this on stdout and end with 0: the help or the version.
    Print(String),
}

/// `tidegate [run] [OPTIONS] -- COMMAND [ARGS…]`
#[derive(Debug, PartialEq, Eq)]
pub struct Run {
    /// `--config` and the flags.
    pub asked: Asked,
    /// The command, byte for byte; its program first.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

/// The settings of the command line.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// `--config`
    pub config: Option<PathBuf>,
    /// The flags given, as written.
    pub flags: Vec<(&'static Flag, OsString)>,
}

/// `tidegate check FILE…`
#[derive(Debug, PartialEq, Eq)]
pub struct Check {
    /// At least one; `-` is standard input.
    pub files: Vec<PathBuf>,
    /// `-o`
    pub output: CheckOutput,
    /// `--strict`
    pub notes: Notes,
    /// `--ignore`: ids or names of rules, as written.
    pub ignore: Vec<String>,
}

/// How findings are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckOutput {
    /// A line each.
    Text,
    /// One JSON object.
    Json,
    /// SARIF 2.1.0.
    Sarif,
}

/// What notes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notes {
    /// Worth a look.
    Pass,
    /// Findings like the others: `--strict`.
    Count,
}

/// `tidegate inject -f FILE`
#[derive(Debug, PartialEq, Eq)]
pub struct Inject {
    /// `--mode`
    pub mode: Mode,
    /// At least one; `-` is standard input.
    pub files: Vec<PathBuf>,
    /// `--config`
    pub config: Option<PathBuf>,
    /// `--container`
    pub container: Option<String>,
    /// `--workload`
    pub workload: Option<String>,
    /// `--image`
    pub image: String,
    /// `--command`, in its words.
    pub command: Vec<String>,
}

/// Where tidegate is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// PID 1 around the program.
    Wrap,
    /// In a container beside.
    Sidecar,
}

/// `tidegate inflight [OPTIONS]`
#[derive(Debug, PartialEq, Eq)]
pub struct Inflight {
    /// `--config` and the flags.
    pub asked: Asked,
    /// `--watch`
    pub times: Times,
}

/// How often something is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// Once.
    Once,
    /// Again and again.
    Repeatedly,
}

/// `tidegate install DIR`
#[derive(Debug, PartialEq, Eq)]
pub struct Install {
    /// The directory to copy into.
    pub directory: PathBuf,
    /// How this binary was called.
    pub started_as: PathBuf,
}

/// `tidegate completions SHELL`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completions {
    /// For a shell.
    Shell(clap_complete::Shell),
    /// The man page, in roff.
    Man,
}

/// Why the command line was not understood: one line, for exit code 125.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}; see tidegate --help")]
pub struct UsageError(pub(super) String);

/// The commands.
const COMMANDS: &[(&str, Word)] = &[
    ("run", Word::Run),
    ("check", Word::Check),
    ("inflight", Word::Inflight),
    ("sidecar", Word::Sidecar),
    ("prestop", Word::Order(Order::PreStop)),
    ("drain", Word::Order(Order::Hold)),
    ("resume", Word::Order(Order::Resume)),
    ("reset", Word::Order(Order::Reset)),
    ("hurry", Word::Order(Order::Hurry)),
    ("status", Word::Status),
    ("plan", Word::Plan),
    ("inject", Word::Inject),
    ("install", Word::Install),
    ("completions", Word::Completions),
];

#[derive(Clone, Copy)]
enum Word {
    Run,
    Check,
    Inflight,
    Inject,
    Install,
    Order(Order),
    Status,
    Plan,
    Completions,
    Sidecar,
}

const VERSION: &str = concat!("tidegate ", env!("CARGO_PKG_VERSION"), "\n");

/// Understands the arguments, the program's own name first.
///
/// # Errors
/// What was not understood, on one line, with its mend.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Invocation, UsageError> {
    let mut arguments = arguments.into_iter();
    let started_as = arguments.next().unwrap_or_default();
    let mut arguments: Vec<OsString> = arguments.collect();
    let first = arguments.first().and_then(|first| first.to_str()).unwrap_or("");
    if first.is_empty() || first.starts_with('-') {
        return running::run(arguments);
    }
    match COMMANDS.iter().find(|(name, _)| *name == first) {
        Some((_, Word::Run)) => running::run(arguments.split_off(1)),
        Some((_, Word::Check)) => manifests::check(arguments.split_off(1)),
        Some((_, Word::Inject)) => manifests::inject(arguments.split_off(1)),
        Some((_, Word::Inflight)) => running::inflight(arguments.split_off(1)),
        Some((_, Word::Install)) => setup::install(arguments.split_off(1), started_as),
        Some((_, Word::Order(order))) => asking::order(*order, arguments.split_off(1)),
        Some((_, Word::Status)) => asking::status(arguments.split_off(1)),
        Some((_, Word::Plan)) => running::plan(arguments.split_off(1)),
        Some((_, Word::Completions)) => setup::completions(arguments.split_off(1)),
        Some((_, Word::Sidecar)) => running::sidecar(arguments.split_off(1)),
        None if first == "help" => match arguments.into_iter().nth(1) {
            None => Ok(Invocation::Print(
                running::run_definition().render_help().to_string(),
            )),
            Some(command) => parse([started_as, command, "--help".into()]),
        },
        None => Err(mistakes::stray(first)),
    }
}

/// All of it as one definition, for completions and the man page.
pub fn whole() -> Command {
    let command =
        |name: &'static str, definition: Command| offering(definition.name(name).no_binary_name(false));
    let orders = Order::ALL.map(|order| command(order.word(), asking::order_definition(order)));
    offering(running::front_definition())
        .no_binary_name(false)
        .subcommand(
            command("run", running::run_definition())
                .override_usage("tidegate [run] [OPTIONS] -- COMMAND [ARGS...]"),
        )
        .subcommand(command("sidecar", running::sidecar_definition()))
        .subcommand(command("check", manifests::check_definition()))
        .subcommand(command("inflight", running::inflight_definition()))
        .subcommand(command("plan", running::plan_definition()))
        .subcommand(command("inject", manifests::inject_definition()))
        .subcommand(command("install", setup::install_definition()))
        .subcommands(orders)
        .subcommand(command("status", asking::status_definition()))
        .subcommand(command("completions", setup::completions_definition()))
}

/// With the values that a shell may offer. Parsing leaves them as written, so that a wrong one is told in
/// our own words.
fn offering(definition: Command) -> Command {
    let checks = definition.get_name() == "check";
    definition.mut_args(|argument| match argument.get_id().as_str() {
        "output" if checks => argument
            .value_parser(["text", "json", "sarif"])
            .hide_possible_values(true),
        "output" | "log-format" => argument.value_parser(["text", "json"]).hide_possible_values(true),
        "shell" => argument.value_parser(setup::SHELLS).hide_possible_values(true),
        "directory" => argument.value_hint(ValueHint::DirPath),
        _ => argument,
    })
}
