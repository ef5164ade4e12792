//! The rules of `target`, and of the two modes.

use std::path::PathBuf;

use crate::child::Target as Whom;
use crate::hooks::Deed;
use crate::target::Clue;

use super::error::ConfigError;
use super::rules::Rules;
use super::schema;
use super::settings::Settings;

impl Settings {
    /// These for `tidegate run`: a child needs no looking for.
    ///
    /// # Errors
    /// When they are for a sidecar.
    pub fn of_a_wrap(self) -> Result<Self, ConfigError> {
        match self.target {
            None => Ok(self),
            Some(clue) => Err(for_the_other_mode(format!(
                "{clue}: tidegate run starts the program and needs no target; leave it out, or start tidegate sidecar"
            ))),
        }
    }

    /// These for `tidegate sidecar`.
    ///
    /// # Errors
    /// When they ask for what only the parent of a program can do.
    pub fn of_a_sidecar(self) -> Result<Self, ConfigError> {
        if self.child.signal_target == Whom::Group {
            return Err(for_the_other_mode(
                "child.signalGroup: true: a sidecar signals the one process that target names; leave it out"
                    .to_owned(),
            ));
        }
        if !self.child.success_codes.is_empty() {
            return Err(for_the_other_mode(
                "child.successCodes: the program beside ends with its own code in its own container; leave it out".to_owned(),
            ));
        }
        if self.target.is_none()
            && let Some((key, _)) = self
                .hooks
                .each()
                .find(|(_, hook)| matches!(hook.deed, Deed::Signal(_)))
        {
            return Err(for_the_other_mode(format!(
                "{key}.signal: there is nobody to send it to; set target, or leave it out"
            )));
        }
        Ok(self)
    }
}

fn for_the_other_mode(message: String) -> ConfigError {
    ConfigError::Relation {
        message,
        written: Vec::new(),
    }
}

impl Rules<'_> {
    /// What is known of the program beside, by what was written.
    pub(super) fn target(&self, target: Option<schema::Target>) -> Result<Option<Clue>, ConfigError> {
        let Some(target) = target else { return Ok(None) };
        if let Some(ports) = &target.ports {
            if ports.is_empty() {
                let why = "empty; write the port that the program listens on, like [50051]";
                return Err(self.refused("target.ports", why.to_owned()));
            }
            self.each_once("target.ports", ports, u16::to_string)?;
        }
        let file = |key: &str, file: Option<String>| match file {
            Some(file) if file.is_empty() => Err(self.refused(key, "empty; write a path".to_owned())),
            file => Ok(file.map(PathBuf::from)),
        };
        let executable = file("target.executable", target.executable)?;
        if let Some(name) = &executable
            && !name.is_absolute()
            && name.components().count() > 1
        {
            let why = format!(
                "{} is neither a name nor an absolute path; write /{0}",
                name.display()
            );
            return Err(self.refused("target.executable", why));
        }
        let pid_file = file("target.pidFile", target.pid_file)?;
        let clues = [
            target.ports.map(Clue::Ports),
            executable.map(Clue::Executable),
            pid_file.map(Clue::PidFile),
        ];
        Ok(clues.into_iter().flatten().next())
    }
}
