//! A signalfd(2) that is opened before the runtime and registers with it when first awaited.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::{Signal, SignalSet};

/// Signals read at once. A larger batch would only cost memory: 128 bytes each.
pub(super) const BATCH: usize = 64;

type Info = libc::signalfd_siginfo;

/// Signals of one set, read from the kernel's queue.
#[derive(Debug)]
pub(super) enum SignalFd {
    /// Not known to a runtime.
    Open(OwnedFd),
    /// Registered with one.
    Registered(AsyncFd<OwnedFd>),
    /// The registration failed.
    Lost,
}

impl SignalFd {
    pub fn open(set: SignalSet) -> io::Result<Self> {
        Ok(Self::Open(set.descriptor()?))
    }

    /// To be polled before there is a runtime; none after a registration that failed.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Open(fd) => Some(fd.as_fd()),
            Self::Registered(fd) => Some(fd.get_ref().as_fd()),
            Self::Lost => None,
        }
    }

    /// Reads what is there, up to a batch; 0 when nothing is.
    pub fn read(&self, batch: &mut [MaybeUninit<Info>]) -> io::Result<usize> {
        let fd = self.descriptor().ok_or_else(lost)?;
        match read(fd, batch) {
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => Ok(0),
            answer => answer,
        }
    }

    /// The signal of the first entry that was read.
    #[allow(unsafe_code)]
    pub fn first(batch: &[MaybeUninit<Info>; 1]) -> Signal {
        // SAFETY: the caller has read an entry into the batch.
        Signal::reported(unsafe { batch[0].assume_init_ref() }.ssi_signo as i32)
    }

    /// Waits until something is there and reads it, at least one.
    pub async fn wait_and_read(&mut self, batch: &mut [MaybeUninit<Info>]) -> io::Result<usize> {
        let fd = self.register()?;
        loop {
            let mut ready = fd.readable().await?;
            match ready.try_io(|fd| read(fd.get_ref().as_fd(), batch)) {
                Ok(answer) => return answer,
                Err(_would_block) => continue,
            }
        }
    }

    #[allow(unsafe_code)]
    fn register(&mut self) -> io::Result<&AsyncFd<OwnedFd>> {
        if let Self::Open(_) = self
            && let Self::Open(fd) = std::mem::replace(self, Self::Lost)
        {
            // SAFETY: an OwnedFd is one open descriptor, and the AsyncFd keeps it until it is dropped.
            *self = Self::Registered(unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) }?);
        }
        match self {
            Self::Registered(fd) => Ok(fd),
            _ => Err(lost()),
        }
    }
}

fn lost() -> io::Error {
    io::Error::other("the signal descriptor could not be registered with the runtime")
}

#[allow(unsafe_code)]
fn read(fd: BorrowedFd<'_>, batch: &mut [MaybeUninit<Info>]) -> io::Result<usize> {
    // SAFETY: the kernel writes whole entries, and at most the bytes the batch has.
    let count = unsafe { libc::read(fd.as_raw_fd(), batch.as_mut_ptr().cast(), size_of_val(batch)) };
    match usize::try_from(count) {
        Ok(bytes) => Ok(bytes / size_of::<Info>()),
        Err(_negative) => Err(io::Error::last_os_error()),
    }
}
