//! A program and its arguments, and where `PATH` says to look for it.

use std::ffi::{CString, NulError, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Where execvp(3) of glibc looks when `PATH` is unset: `confstr(_CS_PATH)`.
const PATH_IF_UNSET: &str = "/bin:/usr/bin";

/// A program to start and what to hand it, byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// A path if it has a slash; otherwise a name that is looked up in `PATH`. It is also
    /// the program's `argv[0]`.
    pub program: OsString,
    /// What follows the program's name.
    pub args: Vec<OsString>,
    /// Variables in front of those that tidegate was given: of a name that is there twice the first counts
    /// (getenv(3)).
    pub environment: Vec<(OsString, OsString)>,
    /// How it is wired up.
    pub wiring: Wiring,
}

/// What the standard descriptors of a program are; [`Stdio::Inherit`] unless said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wiring {
    /// Descriptor 0.
    pub stdin: Stdio,
    /// Descriptor 1.
    pub stdout: Stdio,
    /// Descriptor 2.
    pub stderr: Stdio,
}

/// What one standard descriptor of a program is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stdio {
    /// What tidegate was given, closed included.
    #[default]
    Inherit,
    /// `/dev/null`.
    Null,
    /// A pipe whose other end is in the [`Child`](super::Child), non-blocking.
    Pipe,
}

/// A command as execve(2) wants it.
pub(super) struct Prepared {
    /// The files to try, in order.
    pub candidates: Vec<CString>,
    /// `argv`, not yet as pointers.
    pub arguments: Vec<CString>,
    /// Its own variables as `NAME=value`, not yet with ours and as pointers.
    pub environment: Vec<CString>,
    /// The `PATH` that was searched; none when the program is a path itself.
    pub searched: Option<OsString>,
}

impl Command {
    /// `program` with `args`, its descriptors inherited.
    pub fn new(program: impl Into<OsString>, args: impl IntoIterator<Item = OsString>) -> Self {
        Self {
            program: program.into(),
            args: args.into_iter().collect(),
            environment: Vec::new(),
            wiring: Wiring::default(),
        }
    }

    /// The command with the `PATH` lookup done, so that nothing is allocated after clone.
    pub(super) fn prepare(&self, path: Option<OsString>) -> Result<Prepared, NulError> {
        let arguments = std::iter::once(&self.program)
            .chain(&self.args)
            .map(|argument| CString::new(argument.as_bytes()))
            .collect::<Result<_, _>>()?;
        let environment = self
            .environment
            .iter()
            .map(|(name, value)| CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()))
            .collect::<Result<_, _>>()?;
        let name = self.program.as_bytes();
        let searched = match name.contains(&b'/') {
            true => None,
            false => Some(path.unwrap_or_else(|| PATH_IF_UNSET.into())),
        };
        let candidates = match &searched {
            None => vec![CString::new(name)?],
            // No file has an empty name, but every directory would answer to it.
            Some(_) if name.is_empty() => Vec::new(),
            Some(path) => in_path(&self.program, path)?,
        };
        Ok(Prepared {
            candidates,
            arguments,
            environment,
            searched,
        })
    }
}

/// `name` in each directory of `path`; an empty entry is the current directory (execvp(3)).
fn in_path(name: &OsStr, path: &OsStr) -> Result<Vec<CString>, NulError> {
    path.as_bytes()
        .split(|byte| *byte == b':')
        .map(|directory| {
            let mut file = OsString::from_vec(directory.to_vec());
            if !directory.is_empty() {
                file.push("/");
            }
            file.push(name);
            CString::new(file.into_vec())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(program: &str, path: Option<&str>) -> Vec<String> {
        let prepared = Command::new(program, [])
            .prepare(path.map(OsString::from))
            .unwrap();
        prepared
            .candidates
            .into_iter()
            .map(|file| file.into_string().unwrap())
            .collect()
    }

    #[test]
    fn a_slash_makes_it_a_path() {
        assert_eq!(candidates("./server", Some("/bin")), ["./server"]);
        assert_eq!(candidates("/app/server", None), ["/app/server"]);
    }

    #[test]
    fn a_name_is_looked_for_in_path_and_empty_entries_are_here() {
        assert_eq!(
            candidates("sh", Some("/a::/b/:")),
            ["/a/sh", "sh", "/b//sh", "sh"]
        );
        assert_eq!(candidates("sh", Some("")), ["sh"]);
    }

    #[test]
    fn without_path_the_system_has_a_default() {
        assert_eq!(candidates("sh", None), ["/bin/sh", "/usr/bin/sh"]);
    }

    #[test]
    fn an_empty_name_is_nowhere() {
        assert!(candidates("", Some("/bin")).is_empty());
    }

    #[test]
    fn a_nul_byte_is_refused() {
        assert!(Command::new("a\0b", []).prepare(None).is_err());
        assert!(Command::new("a", ["\0".into()]).prepare(None).is_err());
    }
}
