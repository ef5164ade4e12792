//! A process that is not ours, held so that its pid cannot become another's under us (pidfd_open(2)).

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::Signal;
use super::kill::Refused;

/// A handle on one process, whoever started it. It never means another, even when that has ended and its pid
/// is used again.
#[derive(Debug)]
pub struct Pidfd {
    fd: OwnedFd,
    pid: libc::pid_t,
}

impl Pidfd {
    /// Takes hold of the process that has `pid` now. Whoever found the pid somewhere looks there again
    /// afterwards: the process may have changed in between.
    ///
    /// # Errors
    /// ESRCH when there is no such process; ENOSYS before Linux 5.3, EPERM where a seccomp filter denies it.
    #[allow(unsafe_code)]
    pub fn open(pid: libc::pid_t) -> io::Result<Self> {
        // SAFETY: pidfd_open(2) takes two numbers and touches no memory.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
        match i32::try_from(fd) {
            // SAFETY: the kernel has just made it, close-on-exec, for nobody else.
            Ok(fd) if fd >= 0 => Ok(Self {
                fd: unsafe { OwnedFd::from_raw_fd(fd) },
                pid,
            }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Waits until the process has ended: its handle can be read then.
    ///
    /// # Errors
    /// No descriptor, memory or watch left.
    ///
    /// # Panics
    /// Outside a tokio runtime with I/O.
    #[allow(unsafe_code)]
    pub async fn ended(&self) -> io::Result<()> {
        let fd = self.fd.try_clone()?;
        // SAFETY: an OwnedFd is one open descriptor, and the AsyncFd keeps it until it is dropped.
        let fd = unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) }?;
        fd.readable().await?.retain_ready();
        Ok(())
    }

    /// The process's id in our namespace.
    pub fn pid(&self) -> libc::pid_t {
        self.pid
    }

    /// Sends it a signal (pidfd_send_signal(2)).
    ///
    /// # Errors
    /// [`Refused`]: for the log, never a reason to end.
    #[allow(unsafe_code)]
    pub fn signal(&self, signal: Signal) -> Result<(), Refused> {
        let info: *const libc::siginfo_t = ptr::null();
        let fd = self.fd.as_raw_fd();
        // SAFETY: without a siginfo_t the kernel reads no memory of ours.
        match unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd, signal.number(), info, 0) } {
            0 => Ok(()),
            _ => Err(Refused::of(signal, self.pid, io::Error::last_os_error())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_on_a_process_that_was_reaped_reaches_nobody() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .expect("sleep");
        let held = Pidfd::open(child.id() as libc::pid_t).expect("a handle");
        held.signal(Signal::KILL).expect("sent");
        child.wait().expect("reaped");
        let refused = held.signal(Signal::TERM).expect_err("nobody is there");
        assert!(matches!(refused, Refused::NoSuchProcess { .. }), "{refused}");
        // Not a refusal to be made something of: a program that ends between its stop signal and SIGCONT has been told.
        assert!(refused.is_of_nobody());
        assert!(Pidfd::open(i32::MAX).is_err());
    }
}
