//! What was not understood, told on one line with its mend.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::{COMMANDS, Invocation, UsageError, VERSION};

pub fn no_command() -> UsageError {
    UsageError("no command to run; write it after --, as in: tidegate -- /bin/server --port 8080".to_owned())
}

/// A program for a sidecar.
pub fn starts_nothing(word: &str) -> UsageError {
    UsageError(format!(
        "{word}: a sidecar starts nothing; leave it out, or start tidegate run -- {word}",
        word = word.escape_debug()
    ))
}

/// What clap says, which is help, the version, or an error to be told on one line.
pub fn said(error: &clap::Error) -> Result<Invocation, UsageError> {
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

/// A first word that is no command of ours: a mistyped one, or the child's without its `--`.
pub fn stray(word: &str) -> UsageError {
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
