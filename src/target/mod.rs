//! The program beside us: found in a shared PID namespace, held, signalled, and nobody else ever.
//!
//! | file | what it does |
//! | --- | --- |
//! | `find` | which process it is: by the port it listens on, its executable, or its pid file |
//! | `listening` | whose sockets listen on a port |
//! | `beside` | the handle on it, its end and its coming back |

mod beside;
mod find;
mod listening;

use std::fmt;
use std::path::PathBuf;

pub use beside::{Beside, Change, Changes};

/// What is known of the program: `target` in the config.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Clue {
    /// It listens on one of these TCP ports. In a pod all containers share the ports.
    Ports(Vec<u16>),
    /// It runs this file: an absolute path as its own container has it, or a name.
    Executable(PathBuf),
    /// This file has its process id.
    PidFile(PathBuf),
}

impl fmt::Display for Clue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ports(ports) => write!(f, "target.ports {ports:?}"),
            Self::Executable(file) => write!(f, "target.executable {}", file.display()),
            Self::PidFile(file) => write!(f, "target.pidFile {}", file.display()),
        }
    }
}
