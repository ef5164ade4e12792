//! One YAML document: read from a file, and into a [`Config`].

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::de::{Deserialize as _, DeserializeSeed as _, IgnoredAny};

use super::entry::Refusal;
use super::error::{ConfigError, Origin};
use super::reading::{Notes, ValueSeed};
use super::schema::Config;
use crate::child::{Awaited, wait_to_read};

/// The most bytes a config has. It is read whole, so there has to be a most.
const MOST_BYTES: usize = 1 << 20;

/// How long a config that comes through a pipe may take. A signal that ends programs ends that wait too.
const PIPE_PATIENCE: Duration = Duration::from_secs(5);

/// The most brackets open at once. The YAML reader's time grows with the square of them; a config has five.
const MOST_BRACKETS: usize = 100;

/// The most problems named of one document; whoever has more than these begins with these.
const MOST_PROBLEMS: usize = 50;

/// Reads a file of at most [`MOST_BYTES`].
///
/// # Errors
/// [`ConfigError::Unreadable`]: missing, not permitted, a directory, too large, or not UTF-8.
pub fn read(path: &Path) -> Result<String, ConfigError> {
    let unreadable = |why: String| ConfigError::Unreadable {
        origin: Origin::File(path.to_owned()),
        why,
    };
    let system = |error: std::io::Error| unreadable(format!("cannot be read: {error}"));
    // Not to wait for whoever opens a pipe's other end: signals are blocked already.
    let without_waiting = libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(without_waiting)
        .open(path)
        .map_err(system)?;
    let kind = file.metadata().map_err(system)?;
    if kind.is_dir() {
        return Err(unreadable("is a directory; name the file in it".to_owned()));
    }
    let bytes = match kind.is_file() {
        true => read_whole(file).map_err(system)?,
        false => read_piped(file).map_err(system)?.map_err(unreadable)?,
    };
    if bytes.len() > MOST_BYTES {
        return Err(unreadable("is larger than 1 MiB, which no config is".to_owned()));
    }
    String::from_utf8(bytes).map_err(|_| unreadable("is not UTF-8 text".to_owned()))
}

fn read_whole(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a pipe to its end (`--config <(envsubst < config.yaml)`), or says why that did not come.
fn read_piped(mut file: File) -> io::Result<Result<Vec<u8>, String>> {
    let end = Instant::now() + PIPE_PATIENCE;
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    while bytes.len() <= MOST_BYTES {
        let left = end.saturating_duration_since(Instant::now());
        match wait_to_read(file.as_fd(), left)? {
            Awaited::Readable => {}
            Awaited::Ended(signal) => {
                return Ok(Err(format!("is a pipe; {signal} came before its end")));
            }
            Awaited::Nothing => {
                return Ok(Err(format!(
                    "is a pipe that nobody wrote to the end within {PIPE_PATIENCE:?}"
                )));
            }
        }
        match file.read(&mut part) {
            Ok(0) => break,
            Ok(count) => bytes.extend_from_slice(&part[..count]),
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => {}
            Err(why) => return Err(why),
        }
    }
    Ok(Ok(bytes))
}

/// Parses one layer's document; an empty one says nothing.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn parse(origin: &Origin, text: &str) -> Result<Config, ConfigError> {
    attempt(origin, text, &Notes::passing_over(Vec::new())).map_err(|(error, _)| error)
}

/// Parses a document for all that is wrong with it: what was refused once is passed over the
/// next time, until nothing is.
///
/// # Errors
/// At least one problem, at most [`MOST_PROBLEMS`], in the order of the document.
pub fn parse_for_problems(origin: &Origin, text: &str) -> Result<Config, Vec<ConfigError>> {
    let mut problems = Vec::new();
    let mut refused_keys: Vec<String> = Vec::new();
    loop {
        match attempt(origin, text, &Notes::passing_over(refused_keys.clone())) {
            Ok(config) if problems.is_empty() => return Ok(config),
            Ok(_) => return Err(problems),
            Err((error, key)) => {
                problems.push(error);
                match key {
                    // The same key again, or the root: there is no way past it.
                    Some(key) if !key.is_empty() && !refused_keys.contains(&key) => refused_keys.push(key),
                    _ => return Err(problems),
                }
                if problems.len() == MOST_PROBLEMS {
                    return Err(problems);
                }
            }
        }
    }
}

/// One reading of the document; an error comes with the key that can be passed over next time.
fn attempt(origin: &Origin, text: &str, notes: &Notes) -> Result<Config, (ConfigError, Option<String>)> {
    if text.len() > MOST_BYTES {
        let refusal = Refusal("is larger than 1 MiB, which no config is".to_owned());
        return Err((refused(origin, None, None, refusal), None));
    }
    if let Some(line) = too_deep(text) {
        let refusal = Refusal(format!(
            "more than {MOST_BRACKETS} brackets are open at once, which no config needs"
        ));
        return Err((refused(origin, Some(line), None, refusal), None));
    }
    let document = serde_yaml::Deserializer::from_str(text);
    match ValueSeed::<Config>::new(notes.root()).deserialize(document) {
        Ok(config) => Ok(config.unwrap_or_default()),
        Err(error) => {
            let (noted, error) = match (notes.take(), syntax_error(text)) {
                // Where the text is no YAML, what a value in it looks like misleads.
                (Some(_), Some(syntax)) => (None, syntax),
                (noted, _) => (noted, error),
            };
            let line = error.location().map(|location| location.line());
            let Some((key, refusal)) = noted else {
                return Err((refused(origin, line, None, not_yaml(&error)), None));
            };
            let named = (!key.is_empty()).then(|| key.clone());
            Err((refused(origin, line, named, refusal), Some(key)))
        }
    }
}

/// The line that opens one bracket too many. Those in strings count as well: theirs are few.
fn too_deep(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    for (index, line) in text.lines().enumerate() {
        for byte in line.bytes() {
            match byte {
                b'[' | b'{' => open += 1,
                b']' | b'}' => open = open.saturating_sub(1),
                _ => {}
            }
            if open > MOST_BRACKETS {
                return Some(index + 1);
            }
        }
    }
    None
}

fn refused(origin: &Origin, line: Option<usize>, key: Option<String>, refusal: Refusal) -> ConfigError {
    ConfigError::Refused {
        origin: origin.clone(),
        line,
        key,
        refusal,
    }
}

/// What is wrong with the text as YAML, whatever it says. Limits and a second document are not: what
/// was read before them stands.
fn syntax_error(text: &str) -> Option<serde_yaml::Error> {
    let error = IgnoredAny::deserialize(serde_yaml::Deserializer::from_str(text)).err()?;
    let said = error.to_string();
    (!said.contains("limit") && !said.contains("more than one document")).then_some(error)
}

/// What the YAML reader itself says, on one line, and without what the document says: that may be a
/// secret.
fn not_yaml(error: &serde_yaml::Error) -> Refusal {
    let said: Vec<String> = error.to_string().split_whitespace().map(str::to_owned).collect();
    let said = said.join(" ");
    if said.contains("more than one document") {
        return Refusal("more than one YAML document (---); one is enough".to_owned());
    }
    if said.contains("repetition limit") {
        return Refusal("aliases repeat too much; write it out".to_owned());
    }
    if said.contains("a key, which is a word") {
        return Refusal("not valid here: a key has to be a word".to_owned());
    }
    if said.contains("invalid value") || said.contains("invalid type") {
        return Refusal("a value does not fit its YAML tag; leave the tag out".to_owned());
    }
    Refusal(format!("not valid YAML: {said}"))
}
