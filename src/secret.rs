//! A text that nobody may see: a token, a password, a header's value.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use nix::fcntl::OFlag;
use nix::unistd::{AccessFlags, access};
use thiserror::Error;

/// The longest secret, in bytes; a file that has more is no secret's.
const LONGEST: usize = 64 * 1024;

/// Where a secret stands. Neither `Debug` nor an error shows the text.
#[derive(Clone, PartialEq, Eq)]
pub enum Secret {
    /// In the config itself.
    Plain(String),
    /// In a file, read anew each time: mounted Secrets are rotated. Line ends at its end do not count.
    File(PathBuf),
    /// In an environment variable.
    Env(String),
}

/// Why a secret is not there.
#[derive(Debug, Error)]
pub enum SecretError {
    /// The file.
    #[error("{path}: {why}", path = .0.display(), why = .1)]
    File(PathBuf, io::Error),
    /// The file again.
    #[error("{}: is not a line of text", .0.display())]
    NotText(PathBuf),
    /// The variable.
    #[error("the variable {0} is not set, or no text")]
    Env(String),
}

impl Secret {
    /// The text.
    ///
    /// # Errors
    /// The file cannot be read or is no text; the variable is not set.
    pub fn read(&self) -> Result<String, SecretError> {
        match self {
            Self::Plain(text) => Ok(text.clone()),
            Self::Env(name) => std::env::var(name).map_err(|_| SecretError::Env(name.clone())),
            Self::File(path) => {
                let mut bytes = Vec::new();
                // A pipe that nobody writes to would hold the whole of tidegate, which has one thread.
                let without_waiting = OFlag::O_NONBLOCK.bits();
                OpenOptions::new()
                    .read(true)
                    .custom_flags(without_waiting)
                    .open(path)
                    .and_then(|file| file.take(LONGEST as u64 + 1).read_to_end(&mut bytes))
                    .map_err(|why| SecretError::File(path.clone(), why))?;
                match String::from_utf8(bytes) {
                    Ok(text) if text.len() <= LONGEST => Ok(text.trim_end_matches(['\n', '\r']).to_owned()),
                    _ => Err(SecretError::NotText(path.clone())),
                }
            }
        }
    }

    /// Whether it could be read now; asked without reading, for what is named may be a pipe.
    ///
    /// # Errors
    /// As [`Secret::read`].
    pub fn is_there(&self) -> Result<(), SecretError> {
        match self {
            Self::File(path) => {
                access(path, AccessFlags::R_OK).map_err(|why| SecretError::File(path.clone(), why.into()))
            }
            Self::Plain(_) | Self::Env(_) => self.read().map(drop),
        }
    }

    /// Whether it stands in the config, where everyone who may read the pod reads it.
    pub fn is_plain(&self) -> bool {
        matches!(self, Self::Plain(_))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(_) => f.write_str("Plain(***)"),
            Self::File(path) => write!(f, "File({})", path.display()),
            Self::Env(name) => write!(f, "Env({name})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_anew_and_without_its_line_end() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let secret = Secret::File(file.path().to_owned());
        for (text, read) in [
            ("one\n", "one"),
            ("two\r\n", "two"),
            (" three ", " three "),
            ("", ""),
        ] {
            std::fs::write(file.path(), text).expect("written");
            assert_eq!(secret.read().expect("a secret"), read);
            assert!(secret.is_there().is_ok());
        }
        std::fs::write(file.path(), [0xff]).expect("written");
        assert!(secret.read().is_err());
        std::fs::write(file.path(), "x".repeat(LONGEST + 1)).expect("written");
        assert!(secret.read().is_err());
    }

    #[test]
    fn a_pipe_that_nobody_writes_to_is_not_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let pipe = folder.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
        let read = Secret::File(pipe).read();
        assert_eq!(read.expect("nothing yet"), "");
    }

    #[test]
    fn what_is_not_there_is_named_and_nothing_is_shown() {
        let file = Secret::File("/no/such/token".into()).read().expect_err("no file");
        assert!(
            file.to_string().starts_with("/no/such/token: No such file"),
            "{file}"
        );
        assert!(Secret::File("/no/such/token".into()).is_there().is_err());
        let variable = Secret::Env("TIDEGATE_TEST_NO_SUCH_VARIABLE".into());
        assert!(variable.is_there().is_err());
        let unset = variable.read().expect_err("not set");
        assert_eq!(
            unset.to_string(),
            "the variable TIDEGATE_TEST_NO_SUCH_VARIABLE is not set, or no text"
        );
        assert_eq!(format!("{:?}", Secret::Plain("s3cret".into())), "Plain(***)");
    }
}
