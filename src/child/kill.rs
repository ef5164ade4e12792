//! Sending a signal: to a process or its group, with the value it came with.

use std::ffi::c_void;
use std::io;

use super::Signal;
use super::signals::{Origin, Received};

/// Whom a signal is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The process alone.
    Process,
    /// Its whole process group.
    Group,
}

/// Why a signal did not arrive. Never a reason to end: it is logged.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// The process has ended and was reaped; its pid may be somebody else's now.
    #[error("{0} was not sent: the process has ended")]
    Gone(Signal),
    /// ESRCH: it has ended and is about to be reaped, or its group is empty.
    #[error("{signal} was not sent: there is no process {pid} any more")]
    NoSuchProcess {
        /// What was to be sent.
        signal: Signal,
        /// Whom to.
        pid: libc::pid_t,
    },
    /// EPERM: it runs as another user (setuid), and we lack CAP_KILL.
    #[error(
        "{signal} was refused by process {pid}: it runs as another user, so give tidegate that user or CAP_KILL"
    )]
    NotPermitted {
        /// What was to be sent.
        signal: Signal,
        /// Whom to.
        pid: libc::pid_t,
    },
    /// A program beside us that is not there, or that we cannot see.
    #[error("{signal} was not sent: {why}")]
    NotFound {
        /// What was to be sent.
        signal: Signal,
        /// Where it was looked for, and what was found.
        why: String,
    },
    /// Some other answer of the kernel's.
    #[error("{signal} could not be sent to process {pid}: {why}")]
    Other {
        /// What was to be sent.
        signal: Signal,
        /// Whom to.
        pid: libc::pid_t,
        /// As the kernel says.
        why: io::Error,
    },
}

impl Refused {
    /// Whether nobody was there to get it.
    pub fn is_of_nobody(&self) -> bool {
        matches!(self, Self::Gone(_) | Self::NoSuchProcess { .. })
    }

    pub(super) fn of(signal: Signal, pid: libc::pid_t, why: io::Error) -> Self {
        match why.raw_os_error() {
            Some(libc::ESRCH) => Self::NoSuchProcess { signal, pid },
            Some(libc::EPERM) => Self::NotPermitted { signal, pid },
            _ => Self::Other { signal, pid, why },
        }
    }
}

/// kill(2).
#[allow(unsafe_code)]
pub(super) fn send(pid: libc::pid_t, signal: Signal, target: Target) -> io::Result<()> {
    let whom = match target {
        Target::Process => pid,
        Target::Group => -pid,
    };
    // SAFETY: kill(2) touches no memory. `pid` is above 1: it came from clone or /proc.
    match unsafe { libc::kill(whom, signal.number()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Passes a received signal on: one that was queued keeps its value and sender. There is no
/// such call for groups, and a full queue refuses values, so those get a plain kill.
pub(super) fn pass_on(pid: libc::pid_t, received: Received, target: Target) -> io::Result<()> {
    if let (
        Target::Process,
        Origin::Queued {
            pid: from,
            uid,
            value,
        },
    ) = (target, received.origin)
    {
        match queue(
            pid,
            received.signal,
            Sender {
                pid: from,
                uid,
                value,
            },
        ) {
            Err(why)
                if matches!(
                    why.raw_os_error(),
                    Some(libc::EAGAIN | libc::EPERM | libc::ENOSYS)
                ) => {}
            answer => return answer,
        }
    }
    send(pid, received.signal, target)
}

/// The part of the kernel's siginfo_t that tells who queued a signal, and with what.
#[repr(C)]
struct Sender {
    pid: libc::pid_t,
    uid: libc::uid_t,
    value: usize,
}

/// What is left of the 128 bytes of a siginfo_t after its head and the sender.
const REST: usize = 128 - 16 - size_of::<Sender>();

/// The kernel's siginfo_t, as wide as it is everywhere.
#[repr(C)]
struct Queued {
    signo: i32,
    errno: i32,
    code: i32,
    sender: Sender,
    rest: [u8; REST],
}

/// rt_sigqueueinfo(2) with SI_QUEUE, the one code that passes in another's name.
#[allow(unsafe_code)]
fn queue(pid: libc::pid_t, signal: Signal, sender: Sender) -> io::Result<()> {
    let info = Queued {
        signo: signal.number(),
        errno: 0,
        code: libc::SI_QUEUE,
        sender,
        rest: [0; REST],
    };
    // SAFETY: `info` is at least as large as the 128 bytes the kernel reads, and lives through the call.
    match unsafe {
        libc::syscall(
            libc::SYS_rt_sigqueueinfo,
            pid,
            signal.number(),
            (&raw const info).cast::<c_void>(),
        )
    } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

const _: () = assert!(size_of::<Queued>() == 128 || size_of::<usize>() == 4);
