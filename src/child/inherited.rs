//! What tidegate was started with and the child gets: signal mask, SIGCHLD, descriptors.
//!
//! Only what tidegate changes for itself is recorded. Dispositions other than SIGCHLD's, the
//! environment, the limits and every open descriptor are never touched, so the child
//! inherits them from tidegate as they were.

use std::ffi::{CStr, OsString};

use super::signal::Disposition;
use super::{Signal, SignalSet};

/// Signals the kernel makes for an instruction that went wrong. They stay unblocked, so that
/// a fault of tidegate's own kills it, and are not forwarded: a fault belongs to the one who
/// made it. (SIGSYS is seccomp's.)
pub(super) const FAULTS: SignalSet = SignalSet::of(&[
    Signal::SEGV,
    Signal::BUS,
    Signal::FPE,
    Signal::ILL,
    Signal::TRAP,
    Signal::ABRT,
    Signal::SYS,
]);

/// What tidegate was started with, as far as it changes it for itself.
#[derive(Debug)]
pub struct Inherited {
    arguments: Vec<OsString>,
    mask: SignalSet,
    sigchld: Disposition,
}

impl Inherited {
    /// Blocks every signal but faults, first of all; then sees to SIGCHLD and descriptors.
    pub(super) fn take(arguments: impl FnOnce() -> Vec<OsString>) -> Self {
        let mask = SignalSet::ALL.without(FAULTS).replace_mask();
        hold_standard_descriptors();
        Self {
            mask,
            sigchld: wait_for_children(),
            arguments: arguments(),
        }
    }

    /// The command line, the program's own name first.
    pub fn arguments(&self) -> &[OsString] {
        &self.arguments
    }

    /// The signals that were blocked.
    pub fn mask(&self) -> SignalSet {
        self.mask
    }

    /// Whether `signal` was ignored, as `nohup` does with SIGHUP and a shell without job
    /// control with the SIGINT of what it runs in the background.
    pub fn ignores(&self, signal: Signal) -> bool {
        match signal {
            Signal::CHLD => self.sigchld == Disposition::Ignored,
            other => other.is_ignored(),
        }
    }

    /// For a command of ours that neither starts a program nor reads signals: unblocks what was not
    /// blocked, so that Ctrl-C ends it as it ends others. SIGPIPE stays blocked: that whoever we talk to
    /// has left is an error of the write.
    pub fn unblock(&self) {
        self.mask.replace_mask();
        SignalSet::of(&[Signal::PIPE]).block();
    }

    /// Gives this thread the mask and dispositions back. Safe between clone and exec.
    pub fn restore(&self) {
        if self.sigchld == Disposition::Ignored {
            Signal::CHLD.dispose(Disposition::Ignored);
        }
        self.mask.replace_mask();
    }
}

/// With SIGCHLD ignored the kernel reaps children itself and their exit codes are lost
/// (wait(2), NOTES), so it goes back to the default here and the child alone gets it ignored.
fn wait_for_children() -> Disposition {
    if !Signal::CHLD.is_ignored() {
        return Disposition::Default;
    }
    Signal::CHLD.dispose(Disposition::Default);
    Disposition::Ignored
}

/// Closed standard descriptors are held open for tidegate alone: the next socket would
/// otherwise become descriptor 2, and a log line would be sent to a client. They close at
/// exec, so the child gets them closed, as they were.
#[allow(unsafe_code)]
fn hold_standard_descriptors() {
    for fd in 0..=2 {
        // SAFETY: a question about a number; it changes nothing.
        if unsafe { libc::fcntl(fd, libc::F_GETFD) } < 0 {
            // The lowest free number is taken, which is `fd`: those below are open.
            open_null();
        }
    }
}

/// `/dev/null`, or where there is none a descriptor that can neither be read nor written;
/// closed at exec. Negative when there is neither, which leaves the number free.
#[allow(unsafe_code)]
pub(super) fn open_null() -> libc::c_int {
    const NULL: &CStr = c"/dev/null";
    const ROOT: &CStr = c"/";
    // SAFETY: both paths are C strings that live for ever.
    unsafe {
        match libc::open(NULL.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) {
            -1 => libc::open(ROOT.as_ptr(), libc::O_PATH | libc::O_CLOEXEC),
            fd => fd,
        }
    }
}
