//! An exec probe: a program that ends with 0.

use std::time::Duration;

use crate::child::{Child, ChildEnd, Command, Signal, Spawner, Stdio, Target, Wiring};

use super::failure::Failure;

/// Runs one program, again and again, never twice at a time.
#[derive(Debug)]
pub(super) struct Exec {
    command: Command,
    spawner: Spawner,
    running: Option<Running>,
}

/// A run that is not over. Dropped, it ends by SIGKILL with its process group.
#[derive(Debug)]
struct Running {
    child: Child,
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// It has its time.
    Timed,
    /// It had it.
    Killed,
}

impl Exec {
    /// Runs `command`, its standard descriptors `/dev/null`: what it writes is nobody's.
    pub(super) fn new(command: Command, spawner: Spawner) -> Self {
        let wiring = Wiring {
            stdin: Stdio::Null,
            stdout: Stdio::Null,
            stderr: Stdio::Null,
        };
        Self {
            command: Command { wiring, ..command },
            spawner,
            running: None,
        }
    }

    /// Runs it once. Dropped before its end, it leaves the program running: [`Exec::late`] ends it.
    pub(super) async fn probe(&mut self) -> Result<(), Failure> {
        if let Some(last) = &self.running {
            // SIGKILL is on its way, and a process that sleeps in the kernel takes its time.
            last.child.ended().await;
        }
        let child = self.spawner.spawn(&self.command)?;
        let running = self.running.insert(Running {
            child,
            state: State::Timed,
        });
        let end = running.child.ended().await;
        self.running = None;
        match end {
            ChildEnd::Exited(0) => Ok(()),
            end => Err(Failure::Ended(end)),
        }
    }

    /// Its time is up: ends it with its process group.
    pub(super) fn late(&mut self, timeout: Duration) -> Failure {
        match &mut self.running {
            Some(Running {
                state: State::Killed, ..
            }) => Failure::Undying,
            Some(running) => {
                running.kill();
                running.state = State::Killed;
                Failure::Killed(timeout)
            }
            None => Failure::Killed(timeout),
        }
    }
}

impl Running {
    fn kill(&self) {
        // Refused only where it has ended meanwhile, or changed its user, which the container's end deals with.
        let _ = self.child.signal(Signal::KILL, Target::Group);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}
