//! The arguments of `check` and `inject`.

use std::ffi::OsString;

use clap::builder::{OsStringValueParser, PathBufValueParser};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, Command};

use super::mistakes::said;
use super::{Check, CheckOutput, Inject, Invocation, Mode, Notes, UsageError};

/// The image of this version's own release.
const IMAGE: &str = concat!("tidegate:", env!("CARGO_PKG_VERSION"));

pub fn check(arguments: Vec<OsString>) -> Result<Invocation, UsageError> {
    let mut matches = match check_definition().try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(error) if error.kind() == ErrorKind::MissingRequiredArgument => {
            let why = "check: no file; name one, as in: tidegate check tidegate.yaml";
            return Err(UsageError(why.to_owned()));
        }
        Err(error) => return said(&error),
    };
    let text = |value: OsString| value.to_string_lossy().into_owned();
    let output = match matches.remove_one("output").map(text).as_deref() {
        None | Some("text") => CheckOutput::Text,
        Some("json") => CheckOutput::Json,
        Some("sarif") => CheckOutput::Sarif,
        Some(other) => {
            let other = other.escape_debug();
            return Err(UsageError(format!(
                "--output: {other}: write text, json or sarif"
            )));
        }
    };
    let ignore: Vec<String> = matches
        .remove_many("ignore")
        .into_iter()
        .flatten()
        .map(text)
        .collect();
    let words = ignore.iter().flat_map(|words| words.split(','));
    Ok(Invocation::Check(Check {
        files: matches.remove_many("files").into_iter().flatten().collect(),
        output,
        notes: if matches.get_flag("strict") {
            Notes::Count
        } else {
            Notes::Pass
        },
        ignore: words.filter(|word| !word.is_empty()).map(str::to_owned).collect(),
    }))
}

pub fn inject(arguments: Vec<OsString>) -> Result<Invocation, UsageError> {
    let mut matches = match inject_definition().try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(error) if error.kind() == ErrorKind::MissingRequiredArgument => {
            let why = "inject: no file; name one, as in: tidegate inject -f deployment.yaml";
            return Err(UsageError(why.to_owned()));
        }
        Err(error) => return said(&error),
    };
    let mut text = |name: &str| {
        let value = matches.remove_one::<OsString>(name)?;
        Some(value.to_string_lossy().into_owned())
    };
    let mode = match text("mode").as_deref() {
        None | Some("wrap") => Mode::Wrap,
        Some("sidecar") => Mode::Sidecar,
        Some(other) => {
            let other = other.escape_debug();
            return Err(UsageError(format!("--mode: {other}: write wrap or sidecar")));
        }
    };
    let command = text("command").map_or(Ok(Vec::new()), |line| words(&line))?;
    if mode == Mode::Sidecar && !command.is_empty() {
        let why =
            "--command: a sidecar leaves the program's command as it is; leave it out, or write --mode wrap";
        return Err(UsageError(why.to_owned()));
    }
    Ok(Invocation::Inject(Inject {
        mode,
        command,
        container: text("container"),
        workload: text("workload"),
        image: text("image").unwrap_or_else(|| IMAGE.to_owned()),
        config: matches.remove_one("config"),
        files: matches.remove_many("files").into_iter().flatten().collect(),
    }))
}

/// `/server --port 80`, or as JSON where a word has a space: `["/server", "--name", "two words"]`.
fn words(line: &str) -> Result<Vec<String>, UsageError> {
    if line.trim_start().starts_with('[') {
        return serde_json::from_str(line)
            .map_err(|why| UsageError(format!("--command: no JSON list of text: {why}")));
    }
    if line.contains(['"', '\'', '\\', '$', '`']) {
        let why = "--command: quotes are not read; write a JSON list, as in: '[\"/server\", \"--name\", \"two words\"]'";
        return Err(UsageError(why.to_owned()));
    }
    Ok(line.split_whitespace().map(str::to_owned).collect())
}

fn option(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .value_name(value)
        .value_parser(OsStringValueParser::new())
        .help(help)
}

pub(super) fn check_definition() -> Command {
    Command::new("tidegate check")
        .no_binary_name(true)
        .about("Check config files and Kubernetes manifests: does the arithmetic hold?")
        .after_help(
            "Files are checked together: a ConfigMap in one is known to the pods of another.\n\
             Rules are silenced by --ignore, or by the annotation tidegate.dev/ignore: TG018.\n\
             Exit codes: 0 all is well, 1 something is wrong, 2 a file could not be read.",
        )
        .arg(
            Arg::new("files")
                .value_name("FILE")
                .value_parser(PathBufValueParser::new())
                .num_args(1..)
                .required(true)
                .help("Config files or manifests, YAML or JSON; - is standard input"),
        )
        .arg(option("output", "FORMAT", "text, json or sarif [default: text]").short('o'))
        .arg(
            Arg::new("strict")
                .long("strict")
                .action(ArgAction::SetTrue)
                .help("Notes are findings too"),
        )
        .arg(option("ignore", "RULES", "Rules not to hold, as in TG018,TG022").action(ArgAction::Append))
}

pub(super) fn inject_definition() -> Command {
    Command::new("tidegate inject")
        .no_binary_name(true)
        .about("Kubernetes manifests in, the same wrapped with tidegate out")
        .override_usage("tidegate inject -f FILE [OPTIONS]")
        .after_help("Exit codes: 0 done, 1 it cannot be done, 2 a file could not be read.")
        .arg(
            Arg::new("files")
                .short('f')
                .long("file")
                .value_name("FILE")
                .value_parser(PathBufValueParser::new())
                .action(ArgAction::Append)
                .required(true)
                .help("Manifests, YAML or JSON; - is standard input"),
        )
        .arg(option(
            "mode",
            "MODE",
            "wrap: PID 1 around the program; sidecar: in a container beside [default: wrap]",
        ))
        .arg(option(
            "container",
            "NAME",
            "The container of the program, where a pod has several",
        ))
        .arg(option(
            "workload",
            "NAME",
            "Wrap this object only: NAME or KIND/NAME",
        ))
        .arg(option("image", "IMAGE", "The image that has the binary"))
        .arg(option(
            "command",
            "COMMAND",
            "The program's command line, where the manifest has no command: words, or a JSON list",
        ))
        .arg(
            Arg::new("config")
                .long("config")
                .value_name("FILE")
                .value_parser(PathBufValueParser::new())
                .help("A config file, which becomes TIDEGATE_CONFIG"),
        )
}
