//! The config: what the user writes, its layers, its validation.
//!
//! ```text
//! file ───────────► document ─┐
//! TIDEGATE_CONFIG ► document ─┤  schema    Layers              Settings
//! TIDEGATE_* ► environment ───┼──────────► merged ─► settings ─► valid, typed
//! flags ──────────────────────┘            (layers)  (the rules)
//! ```
//!
//! | file | what it does |
//! | --- | --- |
//! | `schema/` | every key, once; its variable and its reading come from that definition |
//! | `section`, `entry` | what the definition becomes: reading, merging, setting, listing |
//! | `reading` | the walk through a document that knows the place of what it refuses |
//! | `scalars`, `duration`, `signal`, `listen`, `url`, `inflight` | how each kind of value is read, and why refused; the types are those of the rooms that use them |
//! | `document` | one YAML text, with the line of what is wrong |
//! | `environment`, `flags` | the short ways to set one key |
//! | `layers` | later wins |
//! | `settings`, `rules` | what is in force; defaults and the rules between keys |
//! | `plan` | the rules of the times: the grace period and what is to fit in it |
//! | `sources` | the rules of `inflight` |
//! | `hooks` | the rules of `hooks` |
//! | `lifecycle` | the rules of `lifecycle` |
//! | `target` | the rules of `target`, and of the two modes |
//! | `judges` | the rules of `health.app` and `health.checks` |
//! | `drain` | what the drain makes of it: the machine's rules, and what is worth a warning |
//! | `error` | one line: layer, line, key, why, mend |

mod document;
mod drain;
mod duration;
pub mod entry;
pub mod environment;
mod error;
pub mod flags;
mod hooks;
mod inflight;
mod judges;
mod layers;
mod lifecycle;
mod listen;
mod nearest;
mod plan;
mod reading;
mod rules;
mod scalars;
pub mod schema;
mod section;
mod settings;
mod signal;
mod sources;
mod target;
#[cfg(test)]
mod tests;
mod url;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub use error::{ConfigError, Origin};
pub use layers::Inputs;
pub use settings::{ChildSettings, DrainSettings, HealthSettings, Settings, TelemetrySettings};

/// Reads every layer and makes the config in force of them.
///
/// # Errors
/// The first thing that is wrong, on one line.
pub fn load<E>(inputs: Inputs<E>) -> Result<Settings, ConfigError>
where
    E: IntoIterator<Item = (OsString, OsString)>,
{
    Settings::new(layers::Layers::read(inputs)?)
}

/// The config in force where the file's text is known already, such as out of a ConfigMap: what
/// `tidegate run` would make of the same.
///
/// # Errors
/// The first thing that is wrong, on one line.
pub fn load_of<E>(
    file: Option<(String, PathBuf)>,
    environment: E,
    flags: Vec<(&'static flags::Flag, OsString)>,
) -> Result<Settings, ConfigError>
where
    E: IntoIterator<Item = (OsString, OsString)>,
{
    Settings::new(layers::Layers::of(file, environment, flags)?)
}

/// Checks the text of one config file by itself, without the environment: all that is wrong with
/// it. Errors call it `path`.
///
/// # Errors
/// At least one problem.
pub fn check(path: &Path, text: &str) -> Result<Settings, Vec<ConfigError>> {
    let layers = layers::Layers::of_document(Origin::File(path.to_owned()), text)?;
    Settings::new(layers).map_err(|error| vec![error])
}
