//! The commands that act on settings: `run`, `plan`, `inflight`.

use std::ffi::OsString;

use clap::builder::{OsStringValueParser, PathBufValueParser};
use clap::{Arg, ArgAction, ArgMatches, Command};

use super::mistakes::{no_command, said, starts_nothing};
use super::{Asked, Inflight, Invocation, Run, Times, UsageError, asking};
use crate::config::flags::{FLAGS, Flag, SILENT, VERBOSE};

const USAGE: &str = "\
tidegate [run] [OPTIONS] -- COMMAND [ARGS...]
       tidegate sidecar [OPTIONS]
       tidegate check FILE...
       tidegate inject -f FILE
       tidegate plan [--config FILE] [OPTIONS]
       tidegate inflight [--watch] [OPTIONS]
       tidegate install DIR
       tidegate prestop | drain | resume | reset | hurry | status [OPTIONS]";

const COMMANDS_HELP: &str = "\
Commands:
  run               Supervise and drain COMMAND; what tidegate does without a command's name
  sidecar           Drain the program in the container beside; its preStop hook is the trigger
  check FILE...     Check config files and Kubernetes manifests: does the arithmetic hold?
  inject -f FILE    Kubernetes manifests in, the same wrapped with tidegate out
  inflight          Poll the in-flight sources now and say what each of them says
  plan              Draw the timeline that these settings give
  install DIR       Copy this binary into DIR, for an init container
  completions SHELL Print completions for bash, zsh, fish, elvish or powershell, or the man page

{with a running one}
{notes}";

/// What holds for all of it: the end of the help, and of the man page.
pub const NOTES: &str = "\
Settings, later wins: --config FILE, TIDEGATE_CONFIG (the YAML itself),
TIDEGATE_* variables, flags. docs/configuration.md has every one.

Exit codes: the command's own; 128+n when signal n ended it; 125 when tidegate
itself failed; 126 when the command cannot be executed; 127 when it is not found.";

pub fn run(arguments: Vec<OsString>) -> Result<Invocation, UsageError> {
    let mut matches = match run_definition().try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(error) => return said(&error),
    };
    let asked = asked(&mut matches);
    let mut command = matches.remove_many::<OsString>("command").into_iter().flatten();
    let Some(program) = command.next() else {
        return Err(no_command());
    };
    Ok(Invocation::Run(Run {
        asked,
        program,
        arguments: command.collect(),
    }))
}

pub fn sidecar(arguments: Vec<OsString>) -> Result<Invocation, UsageError> {
    // With `--` or without: it would be a program to run.
    let program = arguments
        .iter()
        .position(|word| word == "--")
        .map(|at| arguments.get(at + 1));
    if let Some(program) = program {
        return Err(starts_nothing(
            program.and_then(|word| word.to_str()).unwrap_or("--"),
        ));
    }
    match sidecar_definition().try_get_matches_from(arguments) {
        Ok(mut matches) => match matches.remove_one::<OsString>("nothing") {
            Some(word) => Err(starts_nothing(&word.to_string_lossy())),
            None => Ok(Invocation::Sidecar(asked(&mut matches))),
        },
        Err(error) => said(&error),
    }
}

pub fn plan(arguments: Vec<OsString>) -> Result<Invocation, UsageError> {
    match plan_definition().try_get_matches_from(arguments) {
        Ok(mut matches) => Ok(Invocation::Plan(asked(&mut matches))),
        Err(error) => said(&error),
    }
}

pub fn inflight(arguments: Vec<OsString>) -> Result<Invocation, UsageError> {
    match inflight_definition().try_get_matches_from(arguments) {
        Ok(mut matches) => Ok(Invocation::Inflight(Inflight {
            times: match matches.get_flag("watch") {
                true => Times::Repeatedly,
                false => Times::Once,
            },
            asked: asked(&mut matches),
        })),
        Err(error) => said(&error),
    }
}

/// The settings among what was given.
fn asked(matches: &mut ArgMatches) -> Asked {
    let mut flags = Vec::new();
    for flag in FLAGS {
        if let Some(value) = matches.remove_one::<OsString>(flag.long) {
            flags.push((flag, value));
        }
    }
    for (flag, word) in [(&VERBOSE, "verbose"), (&SILENT, "quiet")] {
        if matches.get_flag(flag.long) {
            flags.push((flag, OsString::from(word)));
        }
    }
    Asked {
        config: matches.remove_one("config"),
        flags,
    }
}

pub fn run_definition() -> Command {
    front_definition().arg(
        Arg::new("command")
            .value_name("COMMAND")
            .value_parser(OsStringValueParser::new())
            .num_args(1..)
            .last(true)
            .help("The program to run and its arguments"),
    )
}

/// `tidegate` itself without what it runs. Beside commands a COMMAND would be in the way: zsh's completions
/// count it as the word before theirs.
pub fn front_definition() -> Command {
    let help = COMMANDS_HELP
        .replace("{with a running one}", asking::HELP)
        .replace("{notes}", NOTES);
    with_settings(Command::new("tidegate"))
        .no_binary_name(true)
        .disable_version_flag(true)
        .about(env!("CARGO_PKG_DESCRIPTION"))
        .override_usage(USAGE)
        .after_help(help)
        .version(env!("CARGO_PKG_VERSION"))
        .arg(
            Arg::new("version")
                .long("version")
                .short('V')
                .action(ArgAction::Version)
                .help("Print version"),
        )
}

/// The flags that a command takes which acts on settings.
fn with_settings(definition: Command) -> Command {
    let definition = definition.arg(
        Arg::new("config")
            .long("config")
            .value_name("FILE")
            .value_parser(PathBufValueParser::new())
            .help("The config file, YAML [default: none]"),
    );
    let flags = FLAGS.iter().map(|flag| {
        Arg::new(flag.long)
            .long(flag.long)
            .value_name(flag.value)
            // So that a negative one is refused as what it is, and not as an option.
            .allow_negative_numbers(true)
            .value_parser(OsStringValueParser::new())
            .help(flag.help)
            .help_heading(flag.purpose.heading())
    });
    definition
        .args(flags)
        .arg(
            switch(&VERBOSE)
                .short('v')
                .long("verbose")
                .conflicts_with(SILENT.long),
        )
        .arg(switch(&SILENT).short('q'))
}

pub fn sidecar_definition() -> Command {
    with_settings(Command::new("tidegate sidecar"))
        .no_binary_name(true)
        .about("Drain the program in the container beside: its preStop hook is the trigger, and waits for the end")
        .override_usage("tidegate sidecar [--config FILE] [OPTIONS]")
        // Only so that one can be refused in words that help.
        .arg(Arg::new("nothing").hide(true).value_parser(OsStringValueParser::new()))
}

pub fn plan_definition() -> Command {
    with_settings(Command::new("tidegate plan"))
        .no_binary_name(true)
        .about("Draw the timeline that these settings give; what run would refuse is refused")
        .override_usage("tidegate plan [--config FILE] [OPTIONS]")
}

pub fn inflight_definition() -> Command {
    with_settings(Command::new("tidegate inflight"))
        .no_binary_name(true)
        .about("Poll the in-flight sources now; say what each says, how long it took, and the sum")
        .override_usage("tidegate inflight [--watch] [--config FILE] [OPTIONS]")
        .after_help("Exit codes: 0 every source is known, 1 one is not; with --watch, as of the last poll.")
        .arg(
            Arg::new("watch")
                .long("watch")
                .action(ArgAction::SetTrue)
                .help("Poll every drain.pollInterval until a signal ends it"),
        )
}

fn switch(flag: &'static Flag) -> Arg {
    Arg::new(flag.long)
        .action(ArgAction::SetTrue)
        .help(flag.help)
        .help_heading(flag.purpose.heading())
}
