//! Whatever else lives when the child is gone: found, signalled, waited for.
//!
//! As PID 1 that is every process of the namespace, one kill(2) away. As a subreaper it is
//! our descendants, those that called setsid included: found by their parents in `/proc`.
//! Without `/proc` only the child's process group can be named.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::sync::Arc;
use std::time::Duration;

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
            Role::Subreaper | Role::Parent(_) => match descendants() {
                Some(descendants) => {
                    for pid in descendants {
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

/// Our living descendants; none where `/proc` is missing or another namespace's, whose
/// numbers would be strangers'.
fn descendants() -> Option<Vec<libc::pid_t>> {
    let own = std::process::id() as libc::pid_t;
    if fs::read_link("/proc/self").ok()?.to_str()?.parse() != Ok(own) {
        return None;
    }
    let mut children: HashMap<libc::pid_t, Vec<libc::pid_t>> = HashMap::new();
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // It may have ended since the directory was read.
        let Ok(stat) = fs::read(format!("/proc/{pid}/stat")) else {
            continue;
        };
        if let Some(parent) = parent_in(&stat) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = children.remove(&own).unwrap_or_default();
    let mut seen = 0;
    while let Some(pid) = found.get(seen) {
        found.extend(children.remove(pid).unwrap_or_default());
        seen += 1;
    }
    Some(found)
}

/// The fourth field of `/proc/pid/stat`. The second, the program's name, may contain
/// anything, parentheses and newlines too (proc_pid_stat(5)).
fn parent_in(stat: &[u8]) -> Option<libc::pid_t> {
    let after_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let mut fields = std::str::from_utf8(&stat[after_name..])
        .ok()?
        .split_ascii_whitespace();
    fields.nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_is_found_behind_any_name() {
        assert_eq!(parent_in(b"12 (sh) S 7 12 12 0"), Some(7));
        assert_eq!(parent_in(b"12 (a) S 9 (\n) R 7 12"), Some(7));
        assert_eq!(parent_in(b"12 (a\xff) Z 1 12"), Some(1));
        assert_eq!(parent_in(b""), None);
        assert_eq!(parent_in(b"12 (sh)"), None);
    }
}
