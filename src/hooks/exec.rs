//! An `exec` hook: a program that ends with 0.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use tokio::net::unix::pipe;
use tracing::info;

use super::Way;
use super::deed::Failure;
use crate::child::{ChildEnd, Command, KilledOnDrop, Spawner, Stdio};

/// The variable that tells the program which way the instance goes.
const VARIABLE: &str = "TIDEGATE_HOOK";

/// The longest line of its output that is logged whole, in bytes.
const LONGEST_LINE: usize = 1024;

/// Lines of its output that are logged; what follows is read and passed over.
const MOST_LINES: usize = 100;

/// What is read at once, in bytes: a pipe holds no more (pipe(7)).
const PIECE: usize = 64 * 1024;

/// The pause before each piece of a flood: 13 MB a second are read at most.
const PACE: Duration = Duration::from_millis(5);

/// Runs the program to its end. Dropped before that, it ends the program and its process group by SIGKILL.
pub(super) async fn run(command: &Command, way: Way, hook: &str, spawner: &Spawner) -> Result<(), Failure> {
    let mut command = command.clone();
    command.wiring.stdin = Stdio::Null;
    command.wiring.stdout = Stdio::Pipe;
    command.wiring.stderr = Stdio::Pipe;
    command.environment.push((VARIABLE.into(), way.key().into()));
    let mut process = KilledOnDrop(spawner.spawn(&command)?);
    let mut stdout = Output::of(process.0.take_pipe(1))?;
    let mut stderr = Output::of(process.0.take_pipe(2))?;
    let end = loop {
        tokio::select! {
            biased;
            end = process.0.ended() => break end,
            () = stdout.read(hook), if stdout.is_open() => {}
            () = stderr.read(hook), if stderr.is_open() => {}
        }
    };
    // What it wrote last. A process of its own may keep the pipe open, and is not waited for.
    stdout.finish(hook);
    stderr.finish(hook);
    match end {
        ChildEnd::Exited(0) => Ok(()),
        ChildEnd::Exited(_) => Err(Failure(format!("it {end}"))),
        ChildEnd::Signaled { .. } => Err(Failure(format!("it was {end}"))),
    }
}

/// One of its outputs, on its way to the log.
struct Output {
    pipe: Option<pipe::Receiver>,
    lines: Lines,
}

impl Output {
    fn of(pipe: Option<OwnedFd>) -> io::Result<Self> {
        Ok(Self {
            pipe: pipe.map(pipe::Receiver::from_owned_fd).transpose()?,
            lines: Lines::default(),
        })
    }

    fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    /// Waits for more, and logs the lines in it. One that floods is read at a pace: everything else here has the same
    /// thread.
    async fn read(&mut self, hook: &str) {
        if self.lines.read > MOST_LINES * LONGEST_LINE {
            tokio::time::sleep(PACE).await;
        }
        let Some(pipe) = &self.pipe else { return };
        if pipe.readable().await.is_err() {
            self.pipe = None;
        }
        self.take(hook);
    }

    /// Reads once what is there.
    fn take(&mut self, hook: &str) -> usize {
        let mut piece = [0; PIECE];
        let Some(pipe) = &self.pipe else { return 0 };
        match pipe.try_read(&mut piece) {
            Ok(0) => self.pipe = None,
            Ok(length) => {
                self.lines.take(&piece[..length], |line| log(hook, line));
                return length;
            }
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => self.pipe = None,
        }
        0
    }

    fn finish(&mut self, hook: &str) {
        // Bounded: somebody else may still write.
        for _ in 0..16 {
            if self.take(hook) == 0 {
                break;
            }
        }
        self.lines.end(|line| log(hook, line));
    }
}

fn log(hook: &str, line: &str) {
    info!(target: "hooks", hook, "says: {line}");
}

/// Bytes to lines, none of them endless, and not without end.
#[derive(Default)]
struct Lines {
    begun: Vec<u8>,
    told: usize,
    /// Bytes so far.
    read: usize,
}

impl Lines {
    fn take(&mut self, bytes: &[u8], mut tell: impl FnMut(&str)) {
        self.read = self.read.saturating_add(bytes.len());
        if self.told >= MOST_LINES {
            return;
        }
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = LONGEST_LINE.saturating_sub(self.begun.len());
            let text = part.strip_suffix(b"\n").unwrap_or(part);
            self.begun.extend_from_slice(&text[..text.len().min(room)]);
            if part.ends_with(b"\n") {
                self.end(&mut tell);
            }
        }
    }

    fn end(&mut self, mut tell: impl FnMut(&str)) {
        let line = std::mem::take(&mut self.begun);
        if line.is_empty() || self.told >= MOST_LINES {
            return;
        }
        self.told += 1;
        tell(&String::from_utf8_lossy(&line));
        if self.told == MOST_LINES {
            tell("(and more, which is not logged)");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(pieces: &[&[u8]]) -> Vec<String> {
        let mut lines = Lines::default();
        let mut told = Vec::new();
        for piece in pieces {
            lines.take(piece, |line| told.push(line.to_owned()));
        }
        lines.end(|line| told.push(line.to_owned()));
        told
    }

    #[test]
    fn pieces_become_lines() {
        assert_eq!(told(&[b"one\ntw", b"o\n\n", b"three"]), ["one", "two", "three"]);
        assert_eq!(told(&[b"\xff\n"]), ["\u{fffd}"]);
    }

    #[test]
    fn neither_a_line_nor_their_number_is_endless() {
        let endless = vec![b'x'; 10 * LONGEST_LINE];
        assert_eq!(told(&[&endless, &endless, b"\nnext"])[0].len(), LONGEST_LINE);
        let many = told(&[&b"line\n".repeat(10_000)]);
        assert_eq!(many.len(), MOST_LINES + 1);
        assert!(many[MOST_LINES].contains("more"));
    }
}
