//! The arguments: what is to be done. Values stay as they were written; the config parses them, so
//! that a flag's error reads like a file's.
//!
//! The first word decides, so only the command that is asked for has its definition built: the
//! whole start has a third of a millisecond.

mod asking;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, PathBufValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::config::flags::{FLAGS, Flag, SILENT, VERBOSE};
use crate::drain::order::Order;

pub use asking::{Output, Reach, Span, StatusAsked};

mod manifests;

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub enum Invocation {
    /// Supervise and drain a command.
    Run(Run),
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

/// The commands, those to come included, so that they are not taken for mistyped ones.
const COMMANDS: &[(&str, Word)] = &[
    ("run", Word::Run),
    ("check", Word::Check),
    ("inflight", Word::Inflight),
    ("sidecar", Word::NotYet),
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
    NotYet,
}

const VERSION: &str = concat!("tidegate ", env!("CARGO_PKG_VERSION"), "\n");

const USAGE: &str = "\
tidegate [run] [OPTIONS] -- COMMAND [ARGS...]
       tidegate check FILE...
       tidegate inject -f FILE
       tidegate plan [--config FILE] [OPTIONS]
       tidegate inflight [--watch] [OPTIONS]
       tidegate install DIR
       tidegate prestop | drain | resume | reset | hurry | status [OPTIONS]";

const COMMANDS_HELP: &str = "\
Commands:
  run               Supervise and drain COMMAND; what tidegate does without a command's name
  check FILE...     Check config files and Kubernetes manifests: does the arithmetic hold?
  inject -f FILE    Kubernetes manifests in, the same wrapped with tidegate out
  inflight          Poll the in-flight sources now and say what each of them says
  plan              Draw the timeline that these settings give
  install DIR       Copy this binary into DIR, for an init container
  completions SHELL Print completions for bash, zsh, fish, elvish or powershell, or the man page

{with a running one}
Settings, later wins: --config FILE, TIDEGATE_CONFIG (the YAML itself),
TIDEGATE_* variables, flags. docs/configuration.md has every one.

Exit codes: the command's own; 128+n when signal n ended it; 125 when tidegate
itself failed; 126 when the command cannot be executed; 127 when it is not found.";

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
        return run(arguments);
    }
    match COMMANDS.iter().find(|(name, _)| *name == first) {
        Some((_, Word::Run)) => run(arguments.split_off(1)),
        Some((_, Word::Check)) => manifests::check(arguments.split_off(1)),
        Some((_, Word::Inject)) => manifests::inject(arguments.split_off(1)),
        Some((_, Word::Inflight)) => inflight(arguments.split_off(1)),
        Some((_, Word::Install)) => install(arguments.split_off(1), started_as),
        Some((_, Word::Order(order))) => asking::order(*order, arguments.split_off(1)),
        Some((_, Word::Status)) => asking::status(arguments.split_off(1)),
        Some((_, Word::Plan)) => plan(arguments.split_off(1)),
        Some((_, Word::Completions)) => completions(arguments.split_off(1)),
        Some((name, Word::NotYet)) => Err(UsageError(format!("{name}: not supported by this version"))),
        None if first == "help" => Ok(Invocation::Print(run_definition().render_help().to_string())),
        None => Err(stray(first)),
    }
}

/// A first word that is no command of ours: a mistyped one, or the child's without its `--`.
fn stray(word: &str) -> UsageError {
    let near = COMMANDS
        .iter()
        .find(|(name, _)| strsim::osa_distance(name, word) == 1);
    UsageError(match near {
        Some((name, _)) => format!("{}: unknown command; did you mean {name}?", word.escape_debug()),
        None => format!(
            "{word}: unknown command; what is to be run comes after --, as in: tidegate -- {word}",
            word = word.escape_debug()
        ),
    })
}

fn run(arguments: Vec<OsString>) -> Result<Invocation, UsageError> {
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

fn plan(arguments: Vec<OsString>) -> Result<Invocation, UsageError> {
    match plan_definition().try_get_matches_from(arguments) {
        Ok(mut matches) => Ok(Invocation::Plan(asked(&mut matches))),
        Err(error) => said(&error),
    }
}

fn inflight(arguments: Vec<OsString>) -> Result<Invocation, UsageError> {
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

fn completions(arguments: Vec<OsString>) -> Result<Invocation, UsageError> {
    const SHELLS: &str = "name one of bash, zsh, fish, elvish, powershell, or man for the man page";
    let matches = match completions_definition().try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(error) if error.kind() == ErrorKind::MissingRequiredArgument => {
            return Err(UsageError(format!("completions: no shell; {SHELLS}")));
        }
        Err(error) => return said(&error),
    };
    let word = matches.get_one::<String>("shell").map_or("", String::as_str);
    match (word, word.parse()) {
        ("man", _) => Ok(Invocation::Completions(Completions::Man)),
        (_, Ok(shell)) => Ok(Invocation::Completions(Completions::Shell(shell))),
        (_, Err(_)) => Err(UsageError(format!(
            "completions: {} is no shell; {SHELLS}",
            word.escape_debug()
        ))),
    }
}

fn install(arguments: Vec<OsString>, started_as: OsString) -> Result<Invocation, UsageError> {
    match install_definition().try_get_matches_from(arguments) {
        Ok(mut matches) => Ok(Invocation::Install(Install {
            directory: matches.remove_one("directory").unwrap_or_default(),
            started_as: started_as.into(),
        })),
        Err(error) if error.kind() == ErrorKind::MissingRequiredArgument => Err(UsageError(
            "install: no directory; name one, as in: tidegate install /tidegate-bin".to_owned(),
        )),
        Err(error) => said(&error),
    }
}

fn run_definition() -> Command {
    with_settings(Command::new("tidegate"))
        .no_binary_name(true)
        .disable_version_flag(true)
        .about(env!("CARGO_PKG_DESCRIPTION"))
        .override_usage(USAGE)
        .after_help(COMMANDS_HELP.replace("{with a running one}", asking::HELP))
        .version(env!("CARGO_PKG_VERSION"))
        .arg(
            Arg::new("version")
                .long("version")
                .short('V')
                .action(ArgAction::Version)
                .help("Print version"),
        )
        .arg(
            Arg::new("command")
                .value_name("COMMAND")
                .value_parser(OsStringValueParser::new())
                .num_args(1..)
                .last(true)
                .help("The program to run and its arguments"),
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

fn plan_definition() -> Command {
    with_settings(Command::new("tidegate plan"))
        .no_binary_name(true)
        .about("Draw the timeline that these settings give; what run would refuse is refused")
        .override_usage("tidegate plan [--config FILE] [OPTIONS]")
}

fn inflight_definition() -> Command {
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

fn completions_definition() -> Command {
    Command::new("tidegate completions")
        .no_binary_name(true)
        .about("Print completions for a shell, or the man page")
        .override_usage("tidegate completions SHELL")
        .arg(
            Arg::new("shell")
                .value_name("SHELL")
                .required(true)
                .help("bash, zsh, fish, elvish or powershell; man for the man page"),
        )
}

/// All of it as one definition, for completions and the man page.
pub fn whole() -> Command {
    let command = |name: &'static str, definition: Command| definition.name(name).no_binary_name(false);
    let orders = Order::ALL.map(|order| command(order.word(), asking::order_definition(order)));
    run_definition()
        .no_binary_name(false)
        .subcommand(command("run", run_definition()))
        .subcommand(command("check", manifests::check_definition()))
        .subcommand(command("inflight", inflight_definition()))
        .subcommand(command("plan", plan_definition()))
        .subcommand(command("inject", manifests::inject_definition()))
        .subcommand(command("install", install_definition()))
        .subcommands(orders)
        .subcommand(command("status", asking::status_definition()))
        .subcommand(command("completions", completions_definition()))
}

fn switch(flag: &'static Flag) -> Arg {
    Arg::new(flag.long)
        .action(ArgAction::SetTrue)
        .help(flag.help)
        .help_heading(flag.purpose.heading())
}

fn install_definition() -> Command {
    Command::new("tidegate install")
        .no_binary_name(true)
        .about("Copy this binary into DIR, for an init container without a shell")
        .override_usage("tidegate install DIR")
        .arg(
            Arg::new("directory")
                .value_name("DIR")
                .value_parser(PathBufValueParser::new())
                .required(true)
                .help("A writable directory, like the mount of an emptyDir"),
        )
}

fn no_command() -> UsageError {
    UsageError("no command to run; write it after --, as in: tidegate -- /bin/server --port 8080".to_owned())
}

/// What clap says, which is help, the version, or an error to be told on one line.
fn said(error: &clap::Error) -> Result<Invocation, UsageError> {
    let about = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(
            text.split([' ', '='])
                .next()
                .unwrap_or(text)
                .escape_debug()
                .to_string(),
        ),
        Some(ContextValue::Strings(texts)) => texts.first().map(|text| text.escape_debug().to_string()),
        _ => None,
    };
    let argument = about(ContextKind::InvalidArg).unwrap_or_default();
    Err(UsageError(match error.kind() {
        ErrorKind::DisplayHelp => return Ok(Invocation::Print(error.to_string())),
        ErrorKind::DisplayVersion => return Ok(Invocation::Print(VERSION.to_owned())),
        ErrorKind::MissingRequiredArgument => return Err(no_command()),
        ErrorKind::UnknownArgument if !argument.starts_with('-') => return Err(stray(&argument)),
        ErrorKind::UnknownArgument => match about(ContextKind::SuggestedArg) {
            Some(near) => format!("{argument}: unknown option; did you mean {near}?"),
            None => format!("{argument}: unknown option"),
        },
        ErrorKind::ArgumentConflict => match about(ContextKind::PriorArg) {
            Some(other) if other != argument => format!("{argument}: cannot go with {other}; keep one"),
            _ => format!("{argument}: given twice; keep one"),
        },
        ErrorKind::InvalidValue | ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues => {
            format!("{argument}: its value is missing")
        }
        ErrorKind::TooManyValues => format!("{argument}: takes no value"),
        _ => {
            let text = error.to_string();
            let line = text.lines().next().unwrap_or("not understood");
            line.trim_start_matches("error: ").to_owned()
        }
    }))
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt as _;

    use super::*;

    fn understand(line: &[&str]) -> Result<Invocation, UsageError> {
        parse(
            std::iter::once("tidegate")
                .chain(line.iter().copied())
                .map(OsString::from),
        )
    }

    fn run_of(line: &[&str]) -> Run {
        match understand(line) {
            Ok(Invocation::Run(run)) => run,
            other => panic!("{other:?}"),
        }
    }

    fn refused(line: &[&str]) -> String {
        let text = understand(line).expect_err("refused").to_string();
        assert!(!text.contains('\n'), "{text}");
        text.strip_suffix("; see tidegate --help")
            .expect("the way to the help")
            .to_owned()
    }

    #[test]
    fn a_command_runs_with_and_without_run_and_flags() {
        for line in [
            &["--", "serve", "-v"][..],
            &["run", "--", "serve", "-v"],
            &["--grace-period", "30s", "--", "serve", "-v"],
            &[
                "run",
                "--grace-period=30s",
                "-v",
                "--config",
                "a.yaml",
                "--",
                "serve",
                "-v",
            ],
        ] {
            let run = run_of(line);
            assert_eq!(
                (run.program, run.arguments),
                ("serve".into(), vec!["-v".into()]),
                "{line:?}"
            );
        }
        let run = run_of(&["--grace-period", "30s", "-v", "--config", "a.yaml", "--", "x"]);
        assert_eq!(run.asked.config, Some("a.yaml".into()));
        let flags: Vec<_> = run
            .asked
            .flags
            .iter()
            .map(|(flag, value)| (flag.path, value.to_str()))
            .collect();
        assert_eq!(
            flags,
            [
                ("terminationGracePeriodSeconds", Some("30s")),
                ("telemetry.verbosity", Some("verbose"))
            ]
        );
    }

    #[test]
    fn the_command_is_never_read_as_ours() {
        let run = run_of(&["--", "check", "--help", "--", "run"]);
        assert_eq!(run.program, "check");
        assert_eq!(run.arguments, ["--help", "--", "run"]);
    }

    #[test]
    fn the_command_and_the_flags_stay_byte_for_byte() {
        let odd = OsString::from_vec(vec![0xff, b'=', 0xfe]);
        let line = [
            "tidegate".into(),
            "--quiet".into(),
            odd.clone(),
            "--".into(),
            odd.clone(),
            odd.clone(),
        ];
        let Ok(Invocation::Run(run)) = parse(line) else {
            panic!("understood")
        };
        assert_eq!((run.program, run.arguments), (odd.clone(), vec![odd.clone()]));
        assert_eq!(run.asked.flags[0].1, odd);
    }

    #[test]
    fn every_flag_is_understood_and_its_help_names_its_variable() {
        let Ok(Invocation::Print(help)) = understand(&["--help"]) else {
            panic!("the help")
        };
        for flag in FLAGS {
            let run = run_of(&[&format!("--{}", flag.long), "x", "--", "serve"]);
            assert_eq!(run.asked.flags, [(flag, OsString::from("x"))]);
            assert!(help.contains(&format!("--{}", flag.long)), "{help}");
            assert!(help.contains(&format!("[env: {}]", flag.variable)), "{help}");
        }
        assert_eq!(understand(&["run", "--help"]), Ok(Invocation::Print(help)));
    }

    #[test]
    fn help_and_version_are_printed() {
        assert_eq!(
            understand(&["--version"]),
            Ok(Invocation::Print(format!(
                "tidegate {}\n",
                env!("CARGO_PKG_VERSION")
            )))
        );
        assert!(matches!(understand(&["help"]), Ok(Invocation::Print(_))));
        assert!(matches!(
            understand(&["check", "--help"]),
            Ok(Invocation::Print(_))
        ));
    }

    #[test]
    fn a_missing_command_names_the_mend() {
        let mend = "no command to run; write it after --, as in: tidegate -- /bin/server --port 8080";
        for line in [
            &[][..],
            &["run"],
            &["--"],
            &["run", "--quiet", "1s"],
            &["-v", "--"],
        ] {
            assert_eq!(refused(line), mend, "{line:?}");
        }
    }

    #[test]
    fn what_is_not_understood_is_told_on_one_line() {
        for (line, told) in [
            (
                &["--gracePeriod", "1s", "--", "x"][..],
                "--gracePeriod: unknown option; did you mean --grace-period?",
            ),
            (
                &["--grace-perod=1s", "--", "x"],
                "--grace-perod: unknown option; did you mean --grace-period?",
            ),
            (&["-z", "--", "x"], "-z: unknown option"),
            (&["--quiet", "--", "x"], "--quiet: its value is missing"),
            (&["--quiet"], "--quiet: its value is missing"),
            (
                &["--quiet", "1s", "--quiet", "2s", "--", "x"],
                "--quiet: given twice; keep one",
            ),
            (&["-v", "-q", "--", "x"], "--verbose: cannot go with -q; keep one"),
            (&["--verbose=yes", "--", "x"], "--verbose: takes no value"),
            (
                &["sleep", "5"],
                "sleep: unknown command; what is to be run comes after --, as in: tidegate -- sleep",
            ),
            (
                &["run", "sleep", "5"],
                "sleep: unknown command; what is to be run comes after --, as in: tidegate -- sleep",
            ),
            (&["chek", "x"], "chek: unknown command; did you mean check?"),
            (&["sidecar"], "sidecar: not supported by this version"),
            (
                &["check"],
                "check: no file; name one, as in: tidegate check tidegate.yaml",
            ),
            (
                &["inflight", "--wach"],
                "--wach: unknown option; did you mean --watch?",
            ),
            (&["check", "--fast", "x"], "--fast: unknown option"),
            (&["statsu"], "statsu: unknown command; did you mean status?"),
            (&["prestop", "now"], "prestop: takes no \"now\"; leave it out"),
            (&["drain", "--for", "1s"], "--for: unknown option"),
            (&["hurry", "--socket"], "--socket: its value is missing"),
            (
                &["status", "-o", "yaml"],
                "--output: \"yaml\" is no format; write text or json",
            ),
        ] {
            assert_eq!(refused(line), told, "{line:?}");
        }
    }

    #[test]
    fn orders_and_questions_are_understood() {
        for order in Order::ALL {
            assert_eq!(
                understand(&[order.word()]),
                Ok(Invocation::Order(order, Reach::default()))
            );
        }
        let reach = Reach {
            socket: Some("/a.sock".into()),
        };
        assert_eq!(
            understand(&["status", "--watch", "-o", "json", "--socket", "/a.sock"]),
            Ok(Invocation::Status(StatusAsked {
                reach,
                output: Output::Json,
                span: Span::Watch
            }))
        );
    }

    #[test]
    fn files_to_check_are_taken_as_they_are() {
        assert_eq!(
            understand(&["check", "a.yaml", "b.yaml"]),
            Ok(Invocation::Check(Check {
                files: vec!["a.yaml".into(), "b.yaml".into()],
                output: CheckOutput::Text,
                notes: Notes::Pass,
                ignore: Vec::new(),
            }))
        );
    }

    #[test]
    fn inflight_takes_its_sources_from_the_file_or_flags() {
        let line = ["inflight", "--config", "a.yaml", "--watch", "--inflight-url", "u"];
        let Ok(Invocation::Inflight(inflight)) = understand(&line) else {
            panic!("understood")
        };
        assert_eq!(inflight.asked.config, Some("a.yaml".into()));
        assert_eq!(inflight.asked.flags.len(), 1);
        assert_eq!(inflight.times, Times::Repeatedly);
        let once = Inflight {
            asked: Asked::default(),
            times: Times::Once,
        };
        assert_eq!(understand(&["inflight"]), Ok(Invocation::Inflight(once)));
    }
}
