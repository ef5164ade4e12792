//! The processes tidegate started and has not reaped, and the handle on one of them.
//!
//! A pid belongs to a process until it is reaped and may be anybody's right after. Starting,
//! signalling and reaping all happen under the lock of [`Living`], so a signal never goes to
//! a pid that is no longer the child's.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};

use super::kill::{self, Refused, Target};
use super::signals::Received;
use super::{ChildEnd, Command, Inherited, Role, Signal, SpawnError, Terminal, spawn};

/// The state of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    Running,
    Stopped(Signal),
    Ended(ChildEnd),
}

/// Every process started and not reaped, by pid.
#[derive(Debug, Default)]
pub(super) struct Living {
    table: Mutex<BTreeMap<libc::pid_t, watch::Sender<Life>>>,
    /// Told after every round of reaping.
    pub reaped: Notify,
}

impl Living {
    pub fn lock(&self) -> MutexGuard<'_, BTreeMap<libc::pid_t, watch::Sender<Life>>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts processes: the child, and later those of hooks and checks. Cheap to clone.
///
/// Outside PID 1 what it starts dies with the *thread* that started it (`PR_SET_PDEATHSIG`
/// in prctl(2)), so call it from the main thread.
#[derive(Clone, Debug)]
pub struct Spawner {
    pub(super) inherited: Arc<Inherited>,
    pub(super) role: Arc<Role>,
    pub(super) living: Arc<Living>,
}

impl Spawner {
    /// Starts `command` in a process group of its own, away from the terminal.
    ///
    /// It returns once the program runs: exec has happened.
    ///
    /// # Errors
    /// [`SpawnError`], one line that says what, where and the mend, with its exit code.
    pub fn spawn(&self, command: &Command) -> Result<Child, SpawnError> {
        self.start(command, None)
    }

    /// Starts `command` as the terminal's foreground group.
    ///
    /// # Errors
    /// As [`Spawner::spawn`]; the terminal is then handed back when `terminal` is dropped.
    pub fn spawn_on(&self, command: &Command, terminal: &Terminal) -> Result<Child, SpawnError> {
        self.start(command, Some(terminal))
    }

    fn start(&self, command: &Command, terminal: Option<&Terminal>) -> Result<Child, SpawnError> {
        let mut table = self.living.lock();
        let front = terminal.filter(|terminal| terminal.is_to_be_lent());
        let started = spawn::start(command, &self.inherited, &self.role, front)?;
        let (sender, life) = watch::channel(Life::Running);
        table.insert(started.pid, sender);
        Ok(Child {
            pid: started.pid,
            life,
            living: Arc::clone(&self.living),
            pipes: started.pipes,
        })
    }
}

/// A process that was started: the child, or one of a hook or a check.
///
/// Dropping it does not end the process.
#[derive(Debug)]
pub struct Child {
    pid: libc::pid_t,
    life: watch::Receiver<Life>,
    living: Arc<Living>,
    pipes: [Option<OwnedFd>; 3],
}

impl Child {
    /// Its process id, and the id of its process group.
    pub fn pid(&self) -> libc::pid_t {
        self.pid
    }

    /// Its end, once it has been reaped.
    pub fn end(&self) -> Option<ChildEnd> {
        match *self.life.borrow() {
            Life::Ended(end) => Some(end),
            Life::Running | Life::Stopped(_) => None,
        }
    }

    /// Waits for its end. The [`Reaper`](super::Reaper) has to be running.
    pub async fn ended(&self) -> ChildEnd {
        let mut life = self.life.clone();
        loop {
            if let Life::Ended(end) = *life.borrow_and_update() {
                return end;
            }
            if life.changed().await.is_err() {
                // The sender lives until the end is told, and `living` until we are dropped.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Its being stopped, from now on: by Ctrl-Z for one.
    pub(super) fn stops(&self) -> Stops {
        Stops(self.life.clone())
    }

    /// Our end of a pipe asked for in [`Wiring`](super::Wiring), once: 0 to write, 1 and 2
    /// to read. It is non-blocking.
    pub fn take_pipe(&mut self, fd: usize) -> Option<OwnedFd> {
        self.pipes.get_mut(fd)?.take()
    }

    /// Sends it a signal of our own.
    ///
    /// # Errors
    /// [`Refused`]: for the log, never a reason to end.
    pub fn signal(&self, signal: Signal, target: Target) -> Result<(), Refused> {
        self.while_alive(signal, || kill::send(self.pid, signal, target))
    }

    /// Passes on a signal that was received, with its value and sender where the kernel
    /// lets us (rt_sigqueueinfo(2)).
    ///
    /// # Errors
    /// [`Refused`]: for the log, never a reason to end.
    pub fn forward(&self, received: Received, target: Target) -> Result<(), Refused> {
        self.while_alive(received.signal, || kill::pass_on(self.pid, received, target))
    }

    /// Runs `send` unless the process was reaped, and keeps it from being reaped meanwhile.
    fn while_alive(&self, signal: Signal, send: impl FnOnce() -> io::Result<()>) -> Result<(), Refused> {
        let _unreaped = self.living.lock();
        if self.end().is_some() {
            return Err(Refused::Gone(signal));
        }
        send().map_err(|why| Refused::of(signal, self.pid, why))
    }
}

/// Whoever gives up on a process, for whatever reason, ends it and its group.
#[derive(Debug)]
pub struct KilledOnDrop<C: Borrow<Child>>(pub C);

impl<C: Borrow<Child>> Drop for KilledOnDrop<C> {
    fn drop(&mut self) {
        let process = self.0.borrow();
        if process.end().is_none() {
            // Refused, it has just ended.
            let _ = process.signal(Signal::KILL, Target::Group);
        }
    }
}

/// The stops of a child, one after the other.
pub(super) struct Stops(watch::Receiver<Life>);

impl Stops {
    /// The signal that stopped it next; none after its end.
    pub async fn next(&mut self) -> Option<Signal> {
        loop {
            self.0.changed().await.ok()?;
            match *self.0.borrow_and_update() {
                Life::Stopped(signal) => return Some(signal),
                Life::Ended(_) => return None,
                Life::Running => {}
            }
        }
    }
}
