//! The real binary: started, signalled, waited for, and never left behind.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use super::PATIENCE;
use super::lines::Lines;
use super::processes::{self, MARK};
use super::termination::Termination;

/// What is to be started: `tidegate run --config FILE ARGUMENTS -- COMMAND`, or `tidegate sidecar`.
pub struct Tidegate {
    /// None for a sidecar.
    command: Option<Vec<OsString>>,
    arguments: Vec<OsString>,
    config: Option<String>,
    environment: Vec<(OsString, OsString)>,
    stderr: Option<Stdio>,
    through: Vec<OsString>,
    termination: TerminationFile,
    /// Whether other users may read its directory.
    open: bool,
}

/// Whether the termination file is there when tidegate starts, as it is in a pod.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TerminationFile {
    /// The kubelet made it.
    Made,
    /// Nobody did: not in a pod.
    Absent,
}

/// A tidegate that was started. Dropping it ends everything it started.
pub struct Running {
    pid: i32,
    mark: String,
    health: SocketAddr,
    directory: TempDir,
    exits: Receiver<Exit>,
    exit: Option<Exit>,
    /// Standard output: tidegate's, which is the child's.
    pub stdout: Lines,
    /// Standard error: tidegate's log, and the child's.
    pub stderr: Lines,
}

/// The end of a run.
#[derive(Clone, Copy, Debug)]
pub struct Exit {
    /// When it was noticed: at or after the end.
    pub at: Instant,
    /// As wait(2) gives it.
    pub status: ExitStatus,
}

impl Exit {
    /// The exit code.
    ///
    /// # Panics
    /// When tidegate itself was ended by a signal.
    pub fn code(&self) -> i32 {
        self.status
            .code()
            .unwrap_or_else(|| panic!("tidegate did not exit, it was ended: {}", self.status))
    }
}

impl Tidegate {
    /// `tidegate run … -- COMMAND`.
    pub fn wrapping(command: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        Self::starting(Some(command.into_iter().map(Into::into).collect()))
    }

    /// `tidegate sidecar …`.
    pub fn sidecar() -> Self {
        Self::starting(None)
    }

    fn starting(command: Option<Vec<OsString>>) -> Self {
        Self {
            command,
            arguments: Vec::new(),
            config: None,
            environment: Vec::new(),
            stderr: None,
            through: Vec::new(),
            termination: TerminationFile::Made,
            open: false,
        }
    }

    /// The config file's text. What it does not say of `health` and `telemetry` is added: a free port, JSON
    /// lines, and a termination file of this run.
    pub fn config(mut self, text: impl Into<String>) -> Self {
        self.config = Some(text.into());
        self
    }

    /// One more option of `run`.
    pub fn argument(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// One more variable.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Standard error goes there instead of being captured.
    pub fn stderr(mut self, stderr: impl Into<Stdio>) -> Self {
        self.stderr = Some(stderr.into());
        self
    }

    /// Started by another program, which is given tidegate's command line and executes it.
    pub fn through(mut self, program: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.through = program.into_iter().map(Into::into).collect();
        self
    }

    /// Whether the termination file is there from the start.
    pub fn termination_file(mut self, file: TerminationFile) -> Self {
        self.termination = file;
        self
    }

    /// Its config can be read by whatever user it runs as.
    pub fn open_to_everybody(mut self) -> Self {
        self.open = true;
        self
    }

    /// Starts it.
    pub fn start(self) -> Running {
        static RUNS: AtomicU32 = AtomicU32::new(0);
        let mark = format!("{}-{}", std::process::id(), RUNS.fetch_add(1, Ordering::Relaxed));
        let directory = TempDir::new().expect("a temporary directory can be made");
        if self.open {
            std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o755))
                .expect("it is ours");
        }
        let health = super::ports::free();
        let mut command = self.command_line(directory.path(), health);
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("TIDEGATE_"))
        {
            command.env_remove(name);
        }
        command
            // A socket of its own, so that runs side by side do not find each other's.
            .env(super::client::SOCKET, directory.path().join("admin.sock"))
            .envs(self.environment)
            .env(MARK, &mark)
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        command.stderr(self.stderr.unwrap_or_else(Stdio::piped));

        let mut process = command
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
        let pid = process.id() as i32;
        let stdout = process
            .stdout
            .take()
            .map_or_else(|| Lines::none("stdout"), |pipe| Lines::of("stdout", pipe));
        let stderr = process
            .stderr
            .take()
            .map_or_else(|| Lines::none("stderr"), |pipe| Lines::of("stderr", pipe));
        let (tell, exits) = mpsc::channel();
        std::thread::spawn(move || {
            if let Ok(status) = process.wait() {
                let _ = tell.send(Exit {
                    at: Instant::now(),
                    status,
                });
            }
        });
        Running {
            pid,
            mark,
            health,
            directory,
            exits,
            exit: None,
            stdout,
            stderr,
        }
    }

    fn command_line(&self, directory: &Path, health: SocketAddr) -> Command {
        let mut line = self.through.clone();
        line.push(binary());
        line.push(if self.command.is_some() { "run" } else { "sidecar" }.into());
        if let Some(config) = &self.config {
            let file = directory.join("tidegate.yaml");
            std::fs::write(&file, self.complete(config, directory, health))
                .expect("the config can be written");
            line.extend(["--config".into(), file.into()]);
        }
        line.extend(self.arguments.iter().cloned());
        if let Some(command) = &self.command {
            line.push("--".into());
            line.extend(command.iter().cloned());
        }
        let mut command = Command::new(&line[0]);
        command.args(&line[1..]);
        command
    }

    fn complete(&self, config: &str, directory: &Path, health: SocketAddr) -> String {
        let termination = directory.join("termination-log");
        if self.termination == TerminationFile::Made {
            std::fs::write(&termination, "").expect("the termination log can be made");
        }
        let says = |key: &str| config.lines().any(|line| line.starts_with(key));
        let mut text = config.to_owned();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        if !says("health:") {
            text.push_str(&format!("health: {{listen: {health}}}\n"));
        }
        if !says("telemetry:") {
            let path = termination.display();
            text.push_str(&format!(
                "telemetry: {{logFormat: json, terminationLog: \"{path}\"}}\n"
            ));
        }
        text.replace("{termination}", &termination.display().to_string())
    }
}

/// The binary under test: the one built with the tests, or `TIDEGATE_BIN`, such as an installed one.
pub fn binary() -> OsString {
    std::env::var_os("TIDEGATE_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_tidegate").into())
}

impl Running {
    /// tidegate's own process.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Whether it comes to rest: not one context switch in 2 s. What was asked may still be answered before.
    pub fn is_still(&self) -> bool {
        let mut last = processes::switches(self.pid);
        (0..5).any(|_| {
            std::thread::sleep(Duration::from_secs(2));
            let now = processes::switches(self.pid);
            std::mem::replace(&mut last, now) == now
        })
    }

    /// Its health port, when the test's config did not choose another.
    pub fn health(&self) -> SocketAddr {
        self.health
    }

    /// A directory of this run's own.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Where the termination message goes.
    pub fn termination_path(&self) -> PathBuf {
        self.directory.path().join("termination-log")
    }

    /// The termination message.
    pub fn termination(&self) -> Termination {
        Termination::read(&self.termination_path())
    }

    /// Waits until a telling child is ready and says its pid.
    pub fn child(&self) -> i32 {
        let line = self.stdout.wait_for("ready ");
        line.text.trim_start_matches("ready ").parse().expect("a pid")
    }

    /// Sends a signal to tidegate. The moment returned lies before the signal.
    ///
    /// # Panics
    /// When tidegate is gone.
    pub fn signal(&mut self, signal: Signal) -> Instant {
        assert!(self.poll_exit().is_none(), "tidegate is gone: {:?}", self.exit);
        let before = Instant::now();
        kill(Pid::from_raw(self.pid), signal).expect("tidegate takes a signal");
        before
    }

    /// Its exit, if it has one.
    pub fn poll_exit(&mut self) -> Option<Exit> {
        if self.exit.is_none() {
            self.exit = self.exits.try_recv().ok();
        }
        self.exit
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// When it does not come within [`PATIENCE`].
    pub fn wait(&mut self) -> Exit {
        self.wait_within(PATIENCE)
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// When it does not come within `limit`.
    pub fn wait_within(&mut self, limit: Duration) -> Exit {
        if self.exit.is_none() {
            self.exit = self.exits.recv_timeout(limit).ok();
        }
        self.exit.unwrap_or_else(|| {
            let said: Vec<_> = self.stderr.so_far().into_iter().map(|line| line.text).collect();
            panic!(
                "tidegate is still there after {limit:?}; it said\n  {}",
                said.join("\n  ")
            )
        })
    }

    /// The processes of this run that are still there.
    pub fn remaining(&self) -> Vec<i32> {
        processes::marked(&self.mark)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A pid that was waited for may be someone else's by now.
        let root = self.poll_exit().is_none().then_some(self.pid);
        processes::end_all(root, &self.mark);
    }
}
