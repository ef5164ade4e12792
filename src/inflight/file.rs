//! The `file` source: a file that holds the number.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::sources::Measured;
use super::{Reading, Unknown, number};
use crate::aside::Aside;
use crate::drain::budget::Seconds;

/// The longest file that can be a number, in bytes, generous with white space.
const LONGEST: u64 = 4096;

/// A `file` source, validated.
#[derive(Clone, Debug)]
pub struct FileConfig {
    path: PathBuf,
}

impl FileConfig {
    /// A source that reads `path` at each poll.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// A source at work.
pub(super) struct File {
    config: FileConfig,
    /// A read that outlived its poll. A file system that hangs, NFS for one, costs one thread and
    /// not one a poll; and what it says at last is old.
    late: Option<Aside<io::Result<Vec<u8>>>>,
}

impl File {
    pub fn new(config: FileConfig) -> Self {
        Self { config, late: None }
    }

    pub fn config(&self) -> &FileConfig {
        &self.config
    }

    pub async fn poll(&mut self, timeout: Duration) -> Measured {
        let reading = match tokio::time::timeout(timeout, self.read()).await {
            Ok(reading) => reading,
            Err(_) => Reading::unknown(format!("it could not be read within {}", Seconds(timeout))),
        };
        Measured::of(match reading {
            Reading::Unknown(Unknown(why)) => {
                Reading::unknown(format!("{}: {why}", self.config.path.display()))
            }
            count => count,
        })
    }

    async fn read(&mut self) -> Reading {
        if let Some(late) = &mut self.late {
            let _ = late.done().await;
            self.late = None;
        }
        let path = self.config.path.clone();
        let unread = |why: io::Error| Reading::unknown(format!("it could not be read: {why}"));
        let reading = match Aside::begin(move || read(&path)) {
            Ok(begun) => self
                .late
                .insert(begun)
                .done()
                .await
                .and_then(std::convert::identity),
            Err(why) => Err(why),
        };
        self.late = None;
        reading.map_or_else(unread, |bytes| number::alone(&bytes))
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    // Opening a FIFO waits for a writer, unless told not to (open(2), O_NONBLOCK).
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut bytes = Vec::new();
    file.take(LONGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST {
        return Err(io::Error::other("it is longer than any number"));
    }
    Ok(bytes)
}
