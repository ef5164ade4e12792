//! The `exec` source: a program that prints the number.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;

use super::sources::Measured;
use super::{Reading, Unknown, number};
use crate::child::{Child, ChildEnd, Command, KilledOnDrop, Spawner, Stdio};
use crate::drain::budget::Seconds;

/// The most a program may print, in bytes.
const MOST_OUTPUT: usize = 64 * 1024;

/// An `exec` source, validated.
#[derive(Clone, Debug)]
pub struct ExecConfig {
    command: Command,
    timeout: Duration,
}

impl ExecConfig {
    /// How long a program has where nothing is said.
    pub const TIMEOUT: Duration = Duration::from_secs(1);

    /// A source that runs `program` with `args` at each poll, and kills it, with its process group,
    /// after `timeout`. The poll's own timeout does not concern it.
    pub fn new(
        program: impl Into<OsString>,
        args: impl IntoIterator<Item = OsString>,
        timeout: Duration,
    ) -> Self {
        let mut command = Command::new(program, args);
        command.wiring.stdin = Stdio::Null;
        command.wiring.stdout = Stdio::Pipe;
        Self { command, timeout }
    }

    /// The program. Its arguments may hold secrets and are not shown.
    pub fn program(&self) -> &OsStr {
        &self.command.program
    }
}

/// A source at work.
pub(super) struct Exec {
    config: ExecConfig,
    spawner: Option<Spawner>,
    /// The process of this poll, or of one before that SIGKILL has not ended yet.
    process: Option<Child>,
}

impl Exec {
    pub fn new(config: ExecConfig) -> Self {
        Self {
            config,
            spawner: None,
            process: None,
        }
    }

    pub fn start_with(&mut self, spawner: Spawner) {
        self.spawner = Some(spawner);
    }

    pub fn config(&self) -> &ExecConfig {
        &self.config
    }

    pub async fn poll(&mut self) -> Measured {
        let reading = match self.run().await {
            Ok(output) => number::alone(&output),
            Err(why) => Reading::Unknown(why),
        };
        Measured::of(match reading {
            Reading::Unknown(Unknown(why)) => {
                Reading::unknown(format!("{}: {why}", self.config.program().to_string_lossy()))
            }
            count => count,
        })
    }

    async fn run(&mut self) -> Result<Vec<u8>, Unknown> {
        // One in uninterruptible sleep does not even hear SIGKILL: it must not become two.
        if self
            .process
            .as_ref()
            .is_some_and(|process| process.end().is_none())
        {
            return Err(Unknown("it was killed and has not ended yet".into()));
        }
        let spawner = self
            .spawner
            .as_ref()
            .ok_or_else(|| Unknown("nobody is there to start it".into()))?;
        let mut started = spawner
            .spawn(&self.config.command)
            .map_err(|error| Unknown(error.to_string()))?;
        let pipe = started.take_pipe(1);
        let process = KilledOnDrop(&*self.process.insert(started));
        let output = output(process.0, pipe);
        match tokio::time::timeout(self.config.timeout, output).await {
            Ok(output) => output,
            Err(_) => Err(Unknown(format!(
                "no answer within {}; it was killed",
                Seconds(self.config.timeout)
            ))),
        }
    }
}

/// What the process printed, once it has ended well.
async fn output(process: &Child, pipe: Option<OwnedFd>) -> Result<Vec<u8>, Unknown> {
    let failed = |why: std::io::Error| Unknown(format!("its output could not be read: {why}"));
    let mut output = Vec::new();
    let pipe = pipe.ok_or_else(|| Unknown("it has no output".into()))?;
    let mut pipe = pipe::Receiver::from_owned_fd(pipe).map_err(failed)?;
    let end = loop {
        tokio::select! {
            biased;
            read = pipe.read_buf(&mut output) => match read.map_err(failed)? {
                0 => break process.ended().await,
                _ => not_too_much(&output)?,
            },
            end = process.ended() => {
                // A process of its own may keep the pipe open: what is there now is all there is.
                rest(&pipe, &mut output)?;
                break end;
            }
        }
    };
    match end {
        ChildEnd::Exited(0) => Ok(output),
        end => Err(Unknown(format!("it {}", said(end)))),
    }
}

fn said(end: ChildEnd) -> String {
    match end {
        ChildEnd::Exited(_) => end.to_string(),
        ChildEnd::Signaled { .. } => format!("was {end}"),
    }
}

fn rest(pipe: &pipe::Receiver, output: &mut Vec<u8>) -> Result<(), Unknown> {
    let mut piece = [0; 4096];
    while let Ok(length @ 1..) = nix::unistd::read(pipe, &mut piece) {
        output.extend_from_slice(&piece[..length]);
        not_too_much(output)?;
    }
    Ok(())
}

fn not_too_much(output: &[u8]) -> Result<(), Unknown> {
    if output.len() > MOST_OUTPUT {
        return Err(Unknown("it printed more than 64 KiB".into()));
    }
    Ok(())
}
