//! A process that is started, signalled and waited for, and gone when it is dropped.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};

use crate::Failure;

/// A process, and what it said last.
pub struct Process {
    name: String,
    child: Child,
    said: Arc<Mutex<Vec<String>>>,
}

impl Process {
    /// Starts it, in a process group of its own.
    pub fn start(name: &str, mut command: Command) -> Result<Self, Failure> {
        // What the caller has set for other runs, TIDEGATE_BIN too, would be read as settings of this one.
        let ours: Vec<_> = command
            .as_std()
            .get_envs()
            .map(|(name, _)| name.to_owned())
            .collect();
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("TIDEGATE_") && !ours.contains(&name) {
                command.env_remove(name);
            }
        }
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C is for the one who started us and who cleans up; this one must not begin to end by itself.
            .process_group(0)
            .kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| {
            format!(
                "cannot start {}: {error}",
                command.as_std().get_program().display()
            )
        })?;
        let said = Arc::default();
        note(child.stdout.take(), &said);
        note(child.stderr.take(), &said);
        Ok(Self {
            name: name.to_owned(),
            child,
            said,
        })
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) -> Result<(), Failure> {
        let pid = self
            .child
            .id()
            .ok_or_else(|| self.explain("it ended before it was told to"))?;
        kill(Pid::from_raw(pid as i32), signal)
            .map_err(|error| self.explain(&format!("{}: {error}", signal.as_str())))
    }

    /// Waits for its end.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Waits until something listens at `address`.
    pub async fn wait_until_listening(&mut self, address: SocketAddr) -> Result<(), Failure> {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(10) {
            if tokio::net::TcpStream::connect(address).await.is_ok() {
                return Ok(());
            }
            if let Some(status) = self.ended() {
                return Err(self.explain(&format!("it ended at once with {status}")));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Err(self.explain(&format!("nothing listens on {address} after 10 s")))
    }

    /// `why` with its name and its last words.
    pub fn explain(&self, why: &str) -> Failure {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let last = said
            .iter()
            .rev()
            .take(5)
            .rev()
            .map(|line| format!("\n    {line}"))
            .collect::<String>();
        let last = if last.is_empty() {
            " (it said nothing)".to_owned()
        } else {
            format!("; its last words:{last}")
        };
        format!("{}: {why}{last}", self.name)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let Some(pid) = self.child.id() else { return };
        // A killed tidegate takes its child with it. What is shown is not what is relied on: the child is
        // looked up first and killed as well.
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        let _ = self.child.start_kill();
        for child in children.split_whitespace().filter_map(|pid| pid.parse().ok()) {
            let _ = kill(Pid::from_raw(child), Signal::SIGKILL);
        }
    }
}

/// `tidegate run -- PROGRAM` with this configuration. The binary is `TIDEGATE_BIN`, or the one built beside this example.
pub fn tidegate(configuration: &str, program: &Path) -> Command {
    let binary = std::env::var_os("TIDEGATE_BIN").map_or_else(|| beside_us("tidegate"), PathBuf::from);
    let mut command = Command::new(binary);
    command
        .env("TIDEGATE_CONFIG", configuration)
        .args(["run", "--"])
        .arg(program);
    command
}

/// A file in the target directory that this example was built into.
pub fn beside_us(name: &str) -> PathBuf {
    // target/debug/examples/demo → target/debug/…
    let here = std::env::current_exe().unwrap_or_default();
    here.ancestors().nth(2).unwrap_or(Path::new(".")).join(name)
}

/// Keeps the last lines of an output, for the case that something goes wrong.
fn note(output: Option<impl AsyncRead + Unpin + Send + 'static>, said: &Arc<Mutex<Vec<String>>>) {
    const KEPT: usize = 50;
    let Some(output) = output else { return };
    let said = Arc::clone(said);
    tokio::spawn(async move {
        let mut lines = BufReader::new(output).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
            if said.len() == KEPT {
                said.remove(0);
            }
            said.push(line);
        }
    });
}
