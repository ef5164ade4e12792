//! Whatever else lives when the child is gone: found, signalled, waited for.
//!
//! As PID 1 that is every process of the namespace, one kill(2) away. As a subreaper it is
//! our descendants, those that called setsid included: found by their parents in `/proc`, and
//! signalled by process group where a group is wholly theirs.
//! Without `/proc` only the child's process group can be named.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::descendants::Descendants;
use super::kill::{self, Target};
use super::living::Living;
use super::reaper::has_descendants;
use super::{Child, Role, Signal, Spawner};

/// How often it is looked again while leftovers are ending. Ends of our own children are
/// told at once; this is for those of others in our namespace (`kubectl exec`), and for
/// processes forked while SIGKILL was on its way.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// The processes a child leaves behind.
#[derive(Debug)]
pub struct Leftovers {
    role: Arc<Role>,
    living: Arc<Living>,
    group: libc::pid_t,
}

impl Leftovers {
    /// Those that `child`, which has ended, may have left.
    pub fn of(spawner: &Spawner, child: &Child) -> Self {
        Self {
            role: Arc::clone(&spawner.role),
            living: Arc::clone(&spawner.living),
            group: child.pid(),
        }
    }

    /// Whether nobody is left.
    pub fn none_left(&self) -> bool {
        match *self.role {
            // Signal 0 reaches whoever there is, sent by nobody (kill(2)).
            Role::Pid1 => !has_descendants() && nobody_but_us(),
            Role::Subreaper | Role::Parent(_) => !has_descendants(),
        }
    }

    /// Sends `signal` to all of them, once. Those that refuse it (EPERM) or are gone already
    /// are passed over: [`Leftovers::none_left`] has the last word.
    pub fn signal_all(&self, signal: Signal) {
        match *self.role {
            Role::Pid1 => signal_everyone(signal),
            Role::Subreaper | Role::Parent(_) => match Descendants::find() {
                Some(descendants) => {
                    // A group at once: a program that forks faster than /proc is read would outrun us,
                    // but not the kernel, which lets nobody fork out of a group it is signalling.
                    for group in descendants.groups {
                        let _ = kill::send(group, signal, Target::Group);
                    }
                    for pid in descendants.others {
                        let _ = kill::send(pid, signal, Target::Process);
                    }
                }
                // An empty group's id may be a stranger's by now, so only while there is anyone.
                None if has_descendants() => {
                    let _ = kill::send(self.group, signal, Target::Group);
                }
                None => {}
            },
        }
    }

    /// Asks them to end: SIGTERM, and SIGCONT so that the stopped ones hear it. Resolves when
    /// nobody is left, which may be never: bound it. The reaper has to be running.
    pub async fn terminate(&self) {
        if self.none_left() {
            return;
        }
        self.signal_all(Signal::TERM);
        self.signal_all(Signal::CONT);
        while !self.none_left() {
            self.something_changes().await;
        }
    }

    /// Ends them: SIGKILL, again and again, because a process may fork while it is on its
    /// way. Resolves when nobody is left; a process in uninterruptible sleep may take its
    /// time, so bound it. The reaper has to be running.
    pub async fn kill(&self) {
        while !self.none_left() {
            self.signal_all(Signal::KILL);
            self.something_changes().await;
        }
    }

    async fn something_changes(&self) {
        let _elapsed = tokio::time::timeout(LOOK_AGAIN, self.living.reaped.notified()).await;
    }
}

/// kill(-1): everyone in the PID namespace but PID 1 itself. Only ever called as PID 1.
#[allow(unsafe_code)]
fn signal_everyone(signal: Signal) {
    // SAFETY: kill(2) touches no memory.
    unsafe { libc::kill(-1, signal.number()) };
}

#[allow(unsafe_code)]
fn nobody_but_us() -> bool {
    // SAFETY: kill(2) with signal 0 sends nothing.
    let reached = unsafe { libc::kill(-1, 0) };
    reached < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH)
}
