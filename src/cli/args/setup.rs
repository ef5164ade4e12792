//! The commands of setting up: `install`, `completions`.

use std::ffi::OsString;

use clap::builder::PathBufValueParser;
use clap::error::ErrorKind;
use clap::{Arg, Command};

use super::mistakes::said;
use super::{Completions, Install, Invocation, UsageError};

/// What `completions` prints something for.
pub const SHELLS: [&str; 6] = ["bash", "zsh", "fish", "elvish", "powershell", "man"];

pub fn completions(arguments: Vec<OsString>) -> Result<Invocation, UsageError> {
    const NAME_ONE: &str = "name one of bash, zsh, fish, elvish, powershell, or man for the man page";
    let matches = match completions_definition().try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(error) if error.kind() == ErrorKind::MissingRequiredArgument => {
            return Err(UsageError(format!("completions: no shell; {NAME_ONE}")));
        }
        Err(error) => return said(&error),
    };
    let word = matches.get_one::<String>("shell").map_or("", String::as_str);
    match (word, word.parse()) {
        ("man", _) => Ok(Invocation::Completions(Completions::Man)),
        (_, Ok(shell)) => Ok(Invocation::Completions(Completions::Shell(shell))),
        (_, Err(_)) => Err(UsageError(format!(
            "completions: {} is no shell; {NAME_ONE}",
            word.escape_debug()
        ))),
    }
}

pub fn install(arguments: Vec<OsString>, started_as: OsString) -> Result<Invocation, UsageError> {
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

pub fn completions_definition() -> Command {
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

pub fn install_definition() -> Command {
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
