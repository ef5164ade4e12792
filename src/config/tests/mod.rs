//! Promises of the config as a whole: what is refused and in which words, which layer wins, what
//! always holds of the settings, and that the docs name every key.

mod docs;
mod hooks;
mod layering;
mod properties;
mod refusals;

use std::ffi::OsString;
use std::path::PathBuf;

use super::flags::{FLAGS, Flag};
use super::{ConfigError, Inputs, Settings, load};

/// The inputs of a test, written short.
#[derive(Default)]
struct Given {
    file: Option<String>,
    environment: Vec<(OsString, OsString)>,
    flags: Vec<(&'static Flag, OsString)>,
}

impl Given {
    fn yaml(text: &str) -> Self {
        Self::default().variable("TIDEGATE_CONFIG", text)
    }

    fn file(mut self, text: &str) -> Self {
        self.file = Some(text.to_owned());
        self
    }

    fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    fn flag(mut self, long: &str, value: &str) -> Self {
        let flag = FLAGS.iter().find(|flag| flag.long == long).expect("a flag");
        self.flags.push((flag, value.into()));
        self
    }

    fn load(self) -> Result<Settings, ConfigError> {
        let folder = tempfile::tempdir().expect("a folder");
        let file: Option<PathBuf> = self.file.map(|text| {
            let path = folder.path().join("tidegate.yaml");
            std::fs::write(&path, text).expect("a file");
            path
        });
        load(Inputs {
            file,
            environment: self.environment,
            flags: self.flags,
        })
    }

    fn settings(self) -> Settings {
        self.load().unwrap_or_else(|error| panic!("{error}"))
    }

    /// The one line it is refused with, the folder of the file left out.
    fn refused(self) -> String {
        let line = self.load().expect_err("refused").to_string();
        assert!(!line.chars().any(char::is_control), "one line: {line}");
        match line.find("/tidegate.yaml") {
            Some(end) => {
                let begin = line[..end].rfind([' ', '(']).map_or(0, |space| space + 1);
                format!("{}{}", &line[..begin], &line[end + 1..])
            }
            None => line,
        }
    }
}
