//! `tidegate prestop`, `drain`, `status` and their like, at a running tidegate; and its bare socket.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Instant;

use serde_json::Value;

use super::lines::Lines;
use super::patience::eventually;
use super::tidegate::{Running, binary};
use super::{PATIENCE, Signal};

/// The variable that names the socket, for both sides.
pub const SOCKET: &str = "TIDEGATE_ADMIN_SOCKET";

/// A client that was started. Dropping it kills it.
pub struct Client {
    process: Child,
    /// What it says.
    pub stdout: Lines,
    /// What it complains of.
    pub stderr: Lines,
}

/// The end of a client.
#[derive(Debug)]
pub struct Ended {
    /// When it was noticed.
    pub at: Instant,
    /// As wait(2) gives it.
    pub status: ExitStatus,
    /// All it said.
    pub stdout: String,
    /// All it complained of.
    pub stderr: String,
}

impl Client {
    /// Starts `tidegate ARGUMENTS` at `socket`.
    pub fn at(socket: impl Into<PathBuf>, arguments: &[&str]) -> Self {
        let mut command = Command::new(binary());
        command.args(arguments).env(SOCKET, socket.into());
        Self::start(command)
    }

    /// Starts a command line that ends in a client.
    pub fn start(mut command: Command) -> Self {
        let mut process = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
        let stdout = Lines::of("stdout", process.stdout.take().expect("piped"));
        let stderr = Lines::of("stderr", process.stderr.take().expect("piped"));
        Self {
            process,
            stdout,
            stderr,
        }
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        let pid = nix::unistd::Pid::from_raw(self.process.id() as i32);
        nix::sys::signal::kill(pid, signal).expect("the client is there");
    }

    /// Whether it is still there.
    pub fn waits(&mut self) -> bool {
        self.process.try_wait().expect("our own process").is_none()
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// When it does not come within [`PATIENCE`].
    pub fn end(mut self) -> Ended {
        let status = eventually("the end of a client", || {
            self.process.try_wait().expect("our own process")
        });
        let at = Instant::now();
        let text = |lines: &Lines| {
            let lines = lines.to_the_end();
            lines.iter().map(|line| format!("{}\n", line.text)).collect()
        };
        Ended {
            at,
            status,
            stdout: text(&self.stdout),
            stderr: text(&self.stderr),
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Ended {
    /// The exit code.
    ///
    /// # Panics
    /// When a signal ended it.
    pub fn code(&self) -> i32 {
        self.status
            .code()
            .unwrap_or_else(|| panic!("the client did not exit: {self:?}"))
    }
}

impl Running {
    /// Its admin socket, when the test has not chosen another.
    pub fn socket(&self) -> PathBuf {
        self.directory().join("admin.sock")
    }

    /// Starts a client of this tidegate. Waits for the socket to be there.
    pub fn client(&self, arguments: &[&str]) -> Client {
        eventually("the admin socket", || self.socket().exists().then_some(()));
        Client::at(self.socket(), arguments)
    }

    /// Runs a client of this tidegate to its end, which has to be a good one. What it said.
    pub fn ask(&self, arguments: &[&str]) -> String {
        let ended = self.client(arguments).end();
        assert_eq!(ended.code(), 0, "{arguments:?}: {ended:?}");
        ended.stdout
    }

    /// Runs a client whose order is refused. Why.
    pub fn refused(&self, arguments: &[&str]) -> String {
        let ended = self.client(arguments).end();
        assert_eq!(ended.code(), 1, "{arguments:?}: {ended:?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
        ended.stderr
    }

    /// `tidegate status -o json`
    pub fn status(&self) -> Value {
        serde_json::from_str(&self.ask(&["status", "-o", "json"])).expect("one JSON object")
    }

    /// Waits until its phase is `wanted`.
    pub fn wait_for_phase(&self, wanted: &str) {
        eventually(wanted, || (self.status()["phase"] == wanted).then_some(()));
    }

    /// A bare connection to the socket.
    pub fn connect(&self) -> UnixStream {
        let stream = eventually("the admin socket", || UnixStream::connect(self.socket()).ok());
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream
    }

    /// Says `request` on a connection of its own; the first line of the answer, empty when there is none.
    pub fn say(&self, request: &[u8]) -> String {
        let mut stream = self.connect();
        // Where it is more than tidegate reads, the rest is not taken.
        let _ = stream.write_all(request);
        let mut line = String::new();
        let _ = BufReader::new(stream).read_line(&mut line);
        line
    }
}
