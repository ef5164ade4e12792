//! Why a program did not start: the kernel's errno turned into a sentence with a mend.
//!
//! execve(2) says ENOENT for a missing program and for a missing interpreter alike, and
//! EACCES for a directory, a missing x bit, a noexec mount and a closed way there. The file
//! itself tells them apart; `/proc` is not needed.

use std::ffi::{CString, OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::command::Prepared;
use super::interpreter::{self, Interpreter};

/// Scripts may name scripts as their interpreter; the kernel follows this many (execve(2)).
const INTERPRETERS_IN_A_ROW: u32 = 4;

/// Why a program did not start. Each is one line: what, which file, the mend.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// No file of that name in `PATH`.
    #[error("{program:?} was not found in PATH ({path:?}): check the spelling, or write the full path")]
    NotInPath {
        /// The name looked for.
        program: OsString,
        /// The directories looked in.
        path: OsString,
    },
    /// No such file.
    #[error("{0:?} does not exist: check the path, and that the image has it")]
    NotFound(PathBuf),
    /// The file is there, but what has to run it is not.
    #[error("{file:?} exists, but {interpreter} is missing: {mend}", mend = .interpreter.mend())]
    InterpreterMissing {
        /// The file that was to be run.
        file: PathBuf,
        /// What it asks for.
        interpreter: Interpreter,
    },
    /// It is a directory.
    #[error("{0:?} is a directory: name the program in it")]
    Directory(PathBuf),
    /// No x bit for us.
    #[error("{0:?} is not executable: chmod +x it in the image")]
    NotExecutable(PathBuf),
    /// The file is there, but what has to run it may not be executed.
    #[error("{file:?} cannot run, because {interpreter} is not executable: chmod +x it in the image")]
    InterpreterNotExecutable {
        /// The file that was to be run.
        file: PathBuf,
        /// What it asks for.
        interpreter: Interpreter,
    },
    /// On a file system that forbids execution.
    #[error("{0:?} is on a file system mounted noexec: move it, or mount without noexec")]
    NoExec(PathBuf),
    /// A directory on the way may not be entered, or a security module forbids it.
    #[error(
        "{0:?}: permission denied: this user may not enter its directory, or a security policy forbids running it"
    )]
    Denied(PathBuf),
    /// Neither a program of this machine nor a script.
    #[error("{0:?}: exec format error: it has no #! line, or was built for another architecture")]
    Format(PathBuf),
    /// Arguments and environment are too large together.
    #[error("{0:?}: the arguments and the environment are too large together: pass the bulk in a file")]
    TooLarge(PathBuf),
    /// Some other refusal of execve.
    #[error("{file:?} cannot be executed: {why}")]
    Refused {
        /// The file that was to be run.
        file: PathBuf,
        /// As the kernel says.
        why: io::Error,
    },
    /// An argument has a zero byte, which no argument can carry.
    #[error("{0:?}: a zero byte in the command or an argument: take it out")]
    ZeroByte(OsString),
    /// No process could be made at all.
    #[error("no process could be made for {program:?}: {why}{mend}", mend = shortage(.why))]
    NoProcess {
        /// The program that was to be run.
        program: OsString,
        /// As the kernel says.
        why: io::Error,
    },
}

/// Which limit is to be raised.
fn shortage(why: &io::Error) -> &'static str {
    match why.raw_os_error() {
        Some(libc::EAGAIN) => ": raise the process limit (RLIMIT_NPROC, or the pod's pids limit)",
        Some(libc::ENOMEM) => ": raise the memory limit",
        Some(libc::EMFILE) => ": raise the limit of open files (RLIMIT_NOFILE)",
        _ => "",
    }
}

impl SpawnError {
    /// 127 not found, 126 found but not to be run, 125 a failure on tidegate's side: the
    /// codes of POSIX shells (2.8.2), `env` and `docker run`.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::NotInPath { .. } | Self::NotFound(_) | Self::InterpreterMissing { .. } => 127,
            Self::ZeroByte(_) | Self::NoProcess { .. } => 125,
            _ => 126,
        }
    }

    /// What execve's `errno` means for the candidate `tried`, or for all of them when the
    /// search came to its end.
    pub(super) fn of_exec(program: &OsStr, prepared: &Prepared, errno: i32, tried: usize) -> Self {
        let path_of = |file: &CString| PathBuf::from(OsStr::from_bytes(file.to_bytes()));
        let file = prepared
            .candidates
            .get(tried)
            .map_or_else(|| program.into(), path_of);
        let why = io::Error::from_raw_os_error(errno);
        match errno {
            libc::ENOENT | libc::ENOTDIR => absent(program, prepared),
            libc::EACCES => denied(file),
            libc::ENOEXEC => Self::Format(file),
            libc::E2BIG => Self::TooLarge(file),
            libc::ENOMEM | libc::EAGAIN => Self::NoProcess {
                program: program.into(),
                why,
            },
            _ => Self::Refused { file, why },
        }
    }
}

/// No candidate is there, or one is and its interpreter is not.
fn absent(program: &OsStr, prepared: &Prepared) -> SpawnError {
    for candidate in &prepared.candidates {
        let file = Path::new(OsStr::from_bytes(candidate.to_bytes()));
        if is_file(file) {
            let missing = broken(file, |path| !path.exists());
            return SpawnError::InterpreterMissing {
                file: file.into(),
                interpreter: missing.unwrap_or(Interpreter::Unnamed),
            };
        }
    }
    match &prepared.searched {
        Some(path) => SpawnError::NotInPath {
            program: program.into(),
            path: path.clone(),
        },
        None => SpawnError::NotFound(program.into()),
    }
}

/// Permission was denied: by what?
fn denied(file: PathBuf) -> SpawnError {
    let Ok(metadata) = fs::metadata(&file) else {
        return SpawnError::Denied(file);
    };
    if metadata.is_dir() {
        SpawnError::Directory(file)
    } else if !is_executable(&metadata, &file) {
        SpawnError::NotExecutable(file)
    } else if is_noexec(&file) {
        SpawnError::NoExec(file)
    } else if let Some(interpreter) = broken(&file, |path| !is_runnable(path)) {
        SpawnError::InterpreterNotExecutable { file, interpreter }
    } else {
        SpawnError::Denied(file)
    }
}

/// The first interpreter on the way from `file` for which `is_broken` holds.
fn broken(file: &Path, is_broken: impl Fn(&Path) -> bool) -> Option<Interpreter> {
    let mut file = file.to_owned();
    for _ in 0..INTERPRETERS_IN_A_ROW {
        let interpreter = interpreter::of(&start_of(&file).ok()?)?;
        let path = interpreter.path()?.to_owned();
        if is_broken(&path) {
            return Some(interpreter);
        }
        file = path;
    }
    None
}

/// As much of a file as says what runs it.
fn start_of(file: &Path) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    File::open(file)?
        .take(interpreter::ENOUGH)
        .read_to_end(&mut start)?;
    Ok(start)
}

/// A regular file: one that can be opened without waiting for someone at its other end.
fn is_file(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file())
}

fn is_runnable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && is_executable(&metadata, path))
}

/// Whether we may execute it: any x bit for root, the right one for others, by faccessat(2).
fn is_executable(metadata: &Metadata, file: &Path) -> bool {
    use nix::unistd::{AccessFlags, access};
    // access(2) says EACCES for a noexec mount too, so that a set bit has the last word.
    metadata.permissions().mode() & 0o111 != 0 && (access(file, AccessFlags::X_OK).is_ok() || is_noexec(file))
}

fn is_noexec(file: &Path) -> bool {
    use nix::sys::statvfs::{FsFlags, statvfs};
    statvfs(file).is_ok_and(|found| found.flags().contains(FsFlags::ST_NOEXEC))
}
