//! The arguments of the commands that talk to a running tidegate.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, PathBufValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches, Command};

use super::mistakes::said;
use super::{Invocation, UsageError};
use crate::drain::order::Order;

/// Where the running tidegate is reached.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// `--socket`; without it the variable and then the usual places are looked at.
    pub socket: Option<PathBuf>,
}

/// `tidegate status`
#[derive(Debug, PartialEq, Eq)]
pub struct StatusAsked {
    /// Where to ask.
    pub reach: Reach,
    /// `-o`
    pub output: Output,
    /// `--watch`
    pub span: Span,
}

/// How a status is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Output {
    /// For people.
    #[default]
    Text,
    /// One object, or with `--watch` one a line.
    Json,
}

/// For how long a status is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// Once.
    Once,
    /// Until tidegate ends.
    Watch,
}

/// The part of the help of `tidegate` that lists these.
pub(super) const HELP: &str = "\
With a running tidegate (docs/admin.md):
  prestop           As exec preStop hook: begin the drain, wait until it is over
  drain             Hold: leave traffic without a deadline; the command serves on
  resume            Come back from a hold
  reset             Clear a latched NOT_SERVING
  hurry             Skip the waits of a stop
  status            What it is doing now; --watch follows it, -o json for programs
";

const AFTER_HELP: &str = "\
Exit codes: 0 done; 1 tidegate refused, or the wait was broken off; 125 no tidegate was found.
docs/admin.md has more.";

/// `prestop`, `drain`, `resume`, `reset`, `hurry`
pub(super) fn order(order: Order, arguments: Vec<OsString>) -> Result<Invocation, UsageError> {
    match order_definition(order).try_get_matches_from(arguments) {
        Ok(mut matches) => Ok(Invocation::Order(order, reach(&mut matches))),
        Err(error) => not_understood(order.word(), &error),
    }
}

pub(super) fn order_definition(order: Order) -> Command {
    let about = match order {
        Order::Hold => "Hold: leave traffic without a deadline; the command serves on",
        Order::Resume => "Come back from a hold",
        Order::Reset => "Clear a latched NOT_SERVING (health.recovery: manual)",
        Order::Hurry => "Skip the waits of a stop: the command gets its stop signal now",
        Order::PreStop => "As exec preStop hook: begin the drain, or join it, and wait until it is over",
    };
    definition(about).override_usage(format!("tidegate {order} [--socket PATH]"))
}

/// `status`
pub(super) fn status(arguments: Vec<OsString>) -> Result<Invocation, UsageError> {
    let mut matches = match status_definition().try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(error) => return not_understood("status", &error),
    };
    let output: Option<OsString> = matches.remove_one("output");
    let output = match output
        .as_deref()
        .map(|output| output.to_string_lossy())
        .as_deref()
    {
        None | Some("text") => Output::Text,
        Some("json") => Output::Json,
        Some(other) => {
            return Err(UsageError(format!(
                "--output: {other:?} is no format; write text or json"
            )));
        }
    };
    Ok(Invocation::Status(StatusAsked {
        output,
        span: if matches.get_flag("watch") {
            Span::Watch
        } else {
            Span::Once
        },
        reach: reach(&mut matches),
    }))
}

pub(super) fn status_definition() -> Command {
    definition("What a running tidegate is doing")
        .override_usage("tidegate status [--watch] [-o text|json] [--socket PATH]")
        .arg(
            Arg::new("watch")
                .long("watch")
                .short('w')
                .action(ArgAction::SetTrue)
                .help("Follow it to its end: a live line on a terminal, else a line a change"),
        )
        .arg(
            Arg::new("output")
                .long("output")
                .short('o')
                .value_name("FORMAT")
                .value_parser(OsStringValueParser::new())
                .help("text or json [default: text]"),
        )
}

fn definition(about: &'static str) -> Command {
    Command::new("tidegate")
        .no_binary_name(true)
        .about(about)
        .after_help(AFTER_HELP)
        .arg(
            Arg::new("socket")
                .long("socket")
                .value_name("PATH")
                .value_parser(PathBufValueParser::new())
                .help("The admin socket [default: where admin.socket auto puts it] [env: TIDEGATE_ADMIN_SOCKET]"),
        )
}

fn reach(matches: &mut ArgMatches) -> Reach {
    Reach {
        socket: matches.remove_one("socket"),
    }
}

/// As [`said`], but a stray word here is no command to be run.
fn not_understood(command: &str, error: &clap::Error) -> Result<Invocation, UsageError> {
    match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(word))) if !word.starts_with('-') => Err(
            UsageError(format!("{command}: takes no {:?}; leave it out", word.as_str())),
        ),
        _ => said(error),
    }
}
