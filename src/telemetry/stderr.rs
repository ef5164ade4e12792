//! Writing to a stderr that others own.
//!
//! The reader of our stderr may be stuck, gone, or its disk full. None of that may hold up
//! or end a drain, so a line that cannot be written at once is dropped and counted. The
//! descriptor's own `O_NONBLOCK` is not touched: it belongs to the open file description,
//! which the child shares (open(2)).

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{MsgFlags, send};
use nix::sys::stat::{SFlag, fstat};

use crate::child::write_now;

/// The longest line. A pipe takes or refuses up to this much as a whole (pipe(7), `PIPE_BUF`).
pub const LONGEST_LINE: usize = 4096;

static DROPPED: AtomicU64 = AtomicU64::new(0);

/// Lines that could not be written so far.
pub fn dropped() -> u64 {
    DROPPED.load(Ordering::Relaxed)
}

/// Our way to stderr.
#[derive(Debug)]
pub enum Stderr {
    /// A pipe opened anew, so that `O_NONBLOCK` is ours alone.
    Own(File),
    /// A socket, where each send can be told not to wait.
    Socket,
    /// A file, a terminal, or a pipe that cannot be opened anew: written to without waiting where the kernel
    /// can, and asked before each write where it cannot (a terminal).
    Shared,
}

impl Stderr {
    /// Finds out what stderr is.
    pub fn open() -> Self {
        let stderr = io::stderr();
        let kind = fstat(&stderr).map(|stat| SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT);
        match kind {
            Ok(SFlag::S_IFSOCK) => Self::Socket,
            Ok(SFlag::S_IFIFO) => open_anew().map_or(Self::Shared, Self::Own),
            _ => Self::Shared,
        }
    }

    /// Writes `line`, which ends in a newline, or drops and counts it.
    pub fn write_line(&self, line: &[u8]) {
        let whole = match self {
            Self::Own(pipe) => (&mut { pipe }).write(line),
            Self::Socket => send_now(line),
            Self::Shared => write_if_ready(line),
        };
        if !whole.is_ok_and(|written| written == line.len()) {
            DROPPED.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Writes `line` without its newline once there is room, or drops and counts it after `patience`.
    pub fn write_line_within(&self, patience: Duration, mut line: String) {
        cut(&mut line);
        line.push('\n');
        let limit = PollTimeout::try_from(patience).unwrap_or(PollTimeout::MAX);
        // Whatever it says: the write below finds out by itself.
        let _ = wait_for_room(limit);
        self.write_line(line.as_bytes());
    }
}

/// Cuts `line` so that it is not too long with its newline.
pub fn cut(line: &mut String) {
    const ELLIPSIS: &str = "…";
    if line.len() >= LONGEST_LINE {
        let mut end = LONGEST_LINE - 1 - ELLIPSIS.len();
        while !line.is_char_boundary(end) {
            end -= 1;
        }
        line.truncate(end);
        line.push_str(ELLIPSIS);
    }
}

fn open_anew() -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open("/proc/self/fd/2")
}

fn send_now(line: &[u8]) -> io::Result<usize> {
    Ok(send(2, line, MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL)?)
}

fn write_if_ready(line: &[u8]) -> io::Result<usize> {
    match write_now(io::stderr().as_fd(), line) {
        Err(why) if why.kind() == io::ErrorKind::Unsupported => {}
        answer => return answer,
    }
    wait_for_room(PollTimeout::ZERO)?;
    // Not through io::Write: that calls a closed stderr a success.
    Ok(nix::unistd::write(io::stderr(), line)?)
}

fn wait_for_room(limit: PollTimeout) -> io::Result<()> {
    let stderr = io::stderr();
    let mut fds = [PollFd::new(stderr.as_fd(), PollFlags::POLLOUT)];
    match poll(&mut fds, limit)? {
        0 => Err(io::ErrorKind::WouldBlock.into()),
        _ => Ok(()),
    }
}
