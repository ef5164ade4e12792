//! The one who waits for every process: the child, those of hooks and checks, and orphans.
//!
//! SIGCHLD is a standard signal: a thousand ends may arrive as one. So it only says "look",
//! and looking goes on until the kernel has nothing more to tell. Nobody else in tidegate
//! calls wait, or an end would be lost to its owner.

use std::collections::BTreeMap;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use tokio::sync::watch;

use super::living::{Life, Living, Spawner};
use super::signalfd::SignalFd;
use super::{ChildEnd, Inherited, Signal, SignalSet};

/// Ends taken in one go before others have their turn: a storm of orphans must not keep a
/// signal waiting.
const AT_ONCE: usize = 256;

/// What tidegate is to the processes it starts.
#[derive(Debug)]
pub enum Role {
    /// PID 1 of its namespace: every orphan becomes its child.
    Pid1,
    /// Orphans among its descendants become its children (`PR_SET_CHILD_SUBREAPER` in prctl(2)).
    Subreaper,
    /// Neither, because prctl was refused: orphans go to someone else. To be reported; not fatal.
    Parent(io::Error),
}

impl Role {
    /// Takes on the widest role there is: PID 1 has it by itself.
    #[allow(unsafe_code)]
    pub fn take() -> Self {
        if std::process::id() == 1 {
            return Self::Pid1;
        }
        // SAFETY: PR_SET_CHILD_SUBREAPER takes a number and touches no memory.
        match unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) } {
            0 => Self::Subreaper,
            _ => Self::Parent(io::Error::last_os_error()),
        }
    }
}

/// The owner of every wait.
#[derive(Debug)]
pub struct Reaper {
    sigchld: SignalFd,
    spawner: Spawner,
    orphans: watch::Sender<u64>,
}

impl Reaper {
    /// Opens its stream of SIGCHLD; needs no runtime.
    ///
    /// # Errors
    /// As signalfd(2): no descriptor or no memory left.
    pub fn open(inherited: Inherited, role: Role) -> io::Result<Self> {
        Ok(Self {
            sigchld: SignalFd::open(SignalSet::of(&[Signal::CHLD]))?,
            spawner: Spawner {
                inherited: Arc::new(inherited),
                role: Arc::new(role),
                living: Arc::new(Living::default()),
            },
            orphans: watch::Sender::new(0),
        })
    }

    /// Readable when a child may have ended.
    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.sigchld.descriptor()
    }

    /// The one way to start a process, so that its end is known.
    pub fn spawner(&self) -> Spawner {
        self.spawner.clone()
    }

    /// How many orphans have been reaped.
    pub fn orphans(&self) -> watch::Receiver<u64> {
        self.orphans.subscribe()
    }

    /// Reaps for ever. What was pending before is seen first.
    ///
    /// # Errors
    /// No memory or no watches left to register with the runtime. Without that no end would
    /// ever be known, so there is no going on.
    pub async fn run(mut self) -> io::Result<std::convert::Infallible> {
        loop {
            match self.round() {
                Found::More => tokio::task::yield_now().await,
                Found::Nothing => {
                    // SIGCHLD is never pending twice.
                    let mut one = [MaybeUninit::uninit(); 1];
                    self.sigchld.wait_and_read(&mut one).await?;
                }
            }
        }
    }

    /// Takes up to [`AT_ONCE`] ends.
    fn round(&self) -> Found {
        let living = &self.spawner.living;
        let mut orphans = 0;
        let mut found = Found::More;
        for _ in 0..AT_ONCE {
            // Locked one by one, so that on no thread a signal has long to wait.
            let mut table = living.lock();
            let Some((pid, life)) = next_change() else {
                found = Found::Nothing;
                break;
            };
            orphans += u64::from(tell(&mut table, pid, life) == Whose::Orphan);
        }
        if orphans > 0 {
            self.orphans.send_modify(|count| *count += orphans);
        }
        living.reaped.notify_waiters();
        found
    }
}

/// Whether there may be more to reap.
enum Found {
    More,
    Nothing,
}

/// Whose end was reaped.
#[derive(PartialEq, Eq)]
enum Whose {
    Ours,
    Orphan,
}

/// Tells the owner of `pid` what became of it.
fn tell(table: &mut BTreeMap<libc::pid_t, watch::Sender<Life>>, pid: libc::pid_t, life: Life) -> Whose {
    let owner = match life {
        Life::Ended(_) => table.remove(&pid),
        Life::Running | Life::Stopped(_) => {
            if let Some(owner) = table.get(&pid) {
                owner.send_replace(life);
            }
            return Whose::Ours;
        }
    };
    match owner {
        Some(owner) => {
            owner.send_replace(life);
            Whose::Ours
        }
        None => Whose::Orphan,
    }
}

/// Reaps one process that has ended, or notes one that was stopped; never waits.
#[allow(unsafe_code)]
fn next_change() -> Option<(libc::pid_t, Life)> {
    let options = libc::WEXITED | libc::WSTOPPED | libc::WNOHANG;
    let info = wait(options).ok()?;
    // SAFETY: waitid fills in pid and status of a CLD_… siginfo, and zeroes pid when nothing changed.
    let (pid, status) = unsafe { (info.si_pid(), info.si_status()) };
    if pid == 0 {
        return None;
    }
    let life = match info.si_code {
        libc::CLD_EXITED => Life::Ended(ChildEnd::Exited(status as u8)),
        libc::CLD_KILLED | libc::CLD_DUMPED => Life::Ended(ChildEnd::Signaled {
            signal: Signal::reported(status),
            core_dumped: info.si_code == libc::CLD_DUMPED,
        }),
        _ => Life::Stopped(Signal::reported(status)),
    };
    Some((pid, life))
}

/// Whether any process lives that is ours to wait for, zombies included. As PID 1 or
/// subreaper that is every descendant: whoever loses its parent becomes our child.
pub fn has_descendants() -> bool {
    // ECHILD is the one error there can be: there is nobody.
    wait(libc::WEXITED | libc::WNOHANG | libc::WNOWAIT).is_ok()
}

#[allow(unsafe_code)]
fn wait(options: libc::c_int) -> io::Result<libc::siginfo_t> {
    // SAFETY: siginfo_t is plain numbers, zero is a value of each; waitid(2) writes to it.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        match libc::waitid(libc::P_ALL, 0, &mut info, options) {
            0 => Ok(info),
            _ => Err(io::Error::last_os_error()),
        }
    }
}
