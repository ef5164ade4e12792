//! What can be written already and is not done yet by this version.
//!
//! Such a key is refused rather than ignored: whoever writes it counts on it. An entry is deleted
//! when its room is built.

use crate::health::Listen;

use super::schema::Config;

/// A key that is refused when it is asked for.
pub struct NotYet {
    /// The key as the schema lists it.
    pub key: &'static str,
    /// Whether a config asks for it. Writing what this version does anyway (`off`, an empty
    /// list) asks for nothing.
    asked: fn(&Config) -> bool,
}

/// All of them.
pub const NOT_YET: &[NotYet] = &[
    NotYet {
        key: "lifecycle.listen",
        asked: |config| {
            let listen = config
                .lifecycle
                .as_ref()
                .and_then(|lifecycle| lifecycle.listen.as_ref());
            listen.is_some_and(|listen| *listen != Listen::Off)
        },
    },
    NotYet {
        key: "lifecycle.tokenFile",
        asked: |config| {
            let file = config
                .lifecycle
                .as_ref()
                .and_then(|lifecycle| lifecycle.token_file.as_ref());
            file.is_some_and(|file| !file.is_empty())
        },
    },
];

/// The keys that `config` asks for and does not get.
pub fn asked(config: &Config) -> impl Iterator<Item = &'static str> {
    NOT_YET
        .iter()
        .filter(|entry| (entry.asked)(config))
        .map(|entry| entry.key)
}
