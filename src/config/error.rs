//! What is wrong with the config, on one line: the layer, the line, the key, why, and the mend.

use std::fmt;
use std::path::PathBuf;

use super::entry::{Refusal, quoted};

/// A layer, or the single setting in it: where something was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The config file.
    File(PathBuf),
    /// The YAML in `TIDEGATE_CONFIG`.
    Environment,
    /// A `TIDEGATE_*` variable.
    Variable(String),
    /// A flag, without its dashes.
    Flag(&'static str),
}

/// Why there is no config. `Display` is always one line and never shows a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A layer could not be read at all.
    #[error("{origin}: {why}")]
    Unreadable {
        /// Which.
        origin: Origin,
        /// What the system said.
        why: String,
    },
    /// Something in a layer is wrong.
    #[error("{origin}{}{}: {}", Line(*.line), Key(.key), .refusal.0)]
    Refused {
        /// Where it was written.
        origin: Origin,
        /// The line there, from 1, where it is known.
        line: Option<usize>,
        /// The key, where the origin does not name it.
        key: Option<String>,
        /// Why, and the mend.
        refusal: Refusal,
    },
    /// The times that were written do not fit in the grace period.
    #[error("{message}{}", Written(.written))]
    Budget {
        /// Why, and the mend; it names the keys.
        message: String,
        /// The keys that were written, and where.
        written: Vec<(&'static str, Origin)>,
    },
    /// What was written does not go together.
    #[error("{message}{}", Written(.written))]
    Relation {
        /// Why, and the mend; it names the keys.
        message: String,
        /// The keys that were written, and where.
        written: Vec<(&'static str, Origin)>,
    },
}

impl ConfigError {
    /// The line in its document, from 1, where it is known.
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::Refused { line, .. } => *line,
            Self::Unreadable { .. } | Self::Budget { .. } | Self::Relation { .. } => None,
        }
    }
}

struct Line(Option<usize>);
struct Key<'a>(&'a Option<String>);
struct Written<'a>(&'a [(&'static str, Origin)]);

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |line| write!(f, ":{line}"))
    }
}

impl fmt::Display for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .as_ref()
            .map_or(Ok(()), |key| write!(f, ": {}", one_line(key)))
    }
}

impl fmt::Display for Written<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (key, origin)) in self.0.iter().enumerate() {
            let open = if index == 0 { " (" } else { ", " };
            write!(f, "{open}{key} from {origin}")?;
        }
        f.write_str(if self.0.is_empty() { "" } else { ")" })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => f.write_str(&one_line(&path.to_string_lossy())),
            Self::Environment => f.write_str("TIDEGATE_CONFIG"),
            Self::Variable(name) => f.write_str(&one_line(name)),
            Self::Flag(long) => write!(f, "--{long}"),
        }
    }
}

/// A name the user wrote, on one line and not endless.
fn one_line(text: &str) -> String {
    let plain = text.chars().count() <= 200 && !text.chars().any(char::is_control);
    if plain { text.to_owned() } else { quoted(text) }
}
