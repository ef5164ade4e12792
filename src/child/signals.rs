//! Every signal that can be forwarded, as a stream with its origin.
//!
//! signal-hook-tokio was looked at and left: it needs handlers, which run only for unblocked
//! signals (ours are blocked from the first instruction on, so that none is lost or fatal
//! before the servers are up), and it keeps five entries a signal, so queued real-time
//! signals are lost. signalfd(2) reads the kernel's own queue: order, number, sender and
//! value are those of the kernel, and a thousand signals cost a handful of reads.
//!
//! Left out are SIGKILL and SIGSTOP, which nobody can catch; SIGCHLD, which is the reaper's;
//! SIGTTIN and SIGTTOU, which are about our own use of the terminal; and faults, which belong
//! to the process that made them. Everything else belongs to the child, a hangup of the
//! terminal included: tidegate never gives up its session (no setsid, no TIOCNOTTY), so no
//! SIGHUP or SIGCONT is of its own making.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;

use super::inherited::FAULTS;
use super::signalfd::{BATCH, SignalFd};
use super::{Signal, SignalSet};

/// What is read here, and so what can be forwarded.
pub(super) const FORWARDABLE: SignalSet = SignalSet::ALL.without(FAULTS).without(SignalSet::of(&[
    Signal::KILL,
    Signal::STOP,
    Signal::CHLD,
    Signal::TTIN,
    Signal::TTOU,
]));

/// A signal that was sent to tidegate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Which.
    pub signal: Signal,
    /// From where.
    pub origin: Origin,
}

/// Where a signal came from: `si_code` in sigaction(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The kernel: a key on the terminal, a hangup, a timer.
    Kernel,
    /// kill(2) or tgkill(2). From outside our PID namespace, the kubelet for one, pid is 0.
    User {
        /// The sender's process id.
        pid: libc::pid_t,
        /// The sender's user id.
        uid: libc::uid_t,
    },
    /// sigqueue(3), with a value.
    Queued {
        /// The sender's process id.
        pid: libc::pid_t,
        /// The sender's user id.
        uid: libc::uid_t,
        /// The number or pointer that came along.
        value: usize,
    },
}

/// The stream of signals. Made before the runtime, read inside it; what was pending before
/// either existed is seen as well.
#[derive(Debug)]
pub struct Signals {
    fd: SignalFd,
    batch: Box<[MaybeUninit<libc::signalfd_siginfo>; BATCH]>,
    /// Which of the batch are still to be given out.
    unread: std::ops::Range<usize>,
    own_pid: u32,
}

impl Signals {
    /// Opens the stream. [`enter`](super::enter) has blocked the signals already.
    ///
    /// # Errors
    /// As signalfd(2): no descriptor or no memory left.
    pub fn open() -> io::Result<Self> {
        Ok(Self {
            fd: SignalFd::open(FORWARDABLE)?,
            batch: Box::new([const { MaybeUninit::uninit() }; BATCH]),
            unread: 0..0,
            own_pid: std::process::id(),
        })
    }

    /// Readable when a signal has come.
    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.fd.descriptor()
    }

    /// The next signal that is there already; never waits, needs no runtime.
    ///
    /// # Errors
    /// As read(2) on a signalfd, which has no reason to fail.
    pub fn try_next(&mut self) -> io::Result<Option<Received>> {
        loop {
            if let Some(received) = self.buffered() {
                return Ok(Some(received));
            }
            match self.fd.read(&mut *self.batch)? {
                0 => return Ok(None),
                count => self.unread = 0..count,
            }
        }
    }

    /// The next signal. Dropping the future loses none.
    ///
    /// # Errors
    /// No memory or no watches left when it is first called, to register with the runtime.
    pub async fn next(&mut self) -> io::Result<Received> {
        loop {
            if let Some(received) = self.buffered() {
                return Ok(received);
            }
            let count = self.fd.wait_and_read(&mut *self.batch).await?;
            self.unread = 0..count;
        }
    }

    /// The next of the batch that anybody should hear of.
    #[allow(unsafe_code)]
    fn buffered(&mut self) -> Option<Received> {
        for index in self.unread.by_ref() {
            // SAFETY: `unread` covers what the kernel has written of the batch.
            let info = unsafe { self.batch[index].assume_init_ref() };
            if let Some(received) = received(info, self.own_pid) {
                return Some(received);
            }
        }
        None
    }
}

/// Signals the kernel sends in a writer's own name: SIGPIPE for a client that went away,
/// SIGXFSZ for a file at its limit. When we were the writer they are no news for the child.
const OF_A_WRITE: SignalSet = SignalSet::of(&[Signal::PIPE, Signal::XFSZ]);

/// What an entry of the kernel's queue says; none when it is about a write of ours.
fn received(info: &libc::signalfd_siginfo, own_pid: u32) -> Option<Received> {
    let signal = Signal::new(info.ssi_signo as i32)?;
    let (pid, uid) = (info.ssi_pid as libc::pid_t, info.ssi_uid);
    let origin = match info.ssi_code {
        libc::SI_USER if info.ssi_pid == own_pid && OF_A_WRITE.contains(signal) => return None,
        libc::SI_USER | libc::SI_TKILL => Origin::User { pid, uid },
        libc::SI_QUEUE => Origin::Queued {
            pid,
            uid,
            value: info.ssi_ptr as usize,
        },
        _ => Origin::Kernel,
    };
    Some(Received { signal, origin })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[allow(unsafe_code)]
    fn info(signal: Signal, code: i32, pid: u32) -> libc::signalfd_siginfo {
        // SAFETY: a struct of plain numbers.
        let mut info: libc::signalfd_siginfo = unsafe { std::mem::zeroed() };
        info.ssi_signo = signal.number() as u32;
        info.ssi_code = code;
        info.ssi_pid = pid;
        info
    }

    #[test]
    fn what_cannot_be_forwarded_is_not_read() {
        let left_out: Vec<_> = SignalSet::ALL.without(FORWARDABLE).iter().collect();
        let expected = [
            Signal::ILL,
            Signal::TRAP,
            Signal::ABRT,
            Signal::BUS,
            Signal::FPE,
            Signal::KILL,
            Signal::SEGV,
            Signal::CHLD,
            Signal::STOP,
            Signal::TTIN,
            Signal::TTOU,
            Signal::SYS,
        ];
        assert_eq!(left_out.len(), expected.len());
        assert!(expected.iter().all(|signal| left_out.contains(signal)));
    }

    #[test]
    fn our_own_sigpipe_reaches_nobody() {
        assert_eq!(received(&info(Signal::PIPE, libc::SI_USER, 7), 7), None);
        let other = received(&info(Signal::PIPE, libc::SI_USER, 8), 7);
        assert_eq!(
            other.map(|received| received.origin),
            Some(Origin::User { pid: 8, uid: 0 })
        );
    }

    #[test]
    fn an_origin_is_what_the_kernel_says() {
        const SI_KERNEL: i32 = 0x80;
        let origin = |code| received(&info(Signal::HUP, code, 9), 7).map(|received| received.origin);
        assert_eq!(origin(SI_KERNEL), Some(Origin::Kernel));
        assert_eq!(origin(libc::SI_TKILL), Some(Origin::User { pid: 9, uid: 0 }));
        let queued = Origin::Queued {
            pid: 9,
            uid: 0,
            value: 0,
        };
        assert_eq!(origin(libc::SI_QUEUE), Some(queued));
    }
}
