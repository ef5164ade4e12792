//! Work that may block for as long as it likes, on a thread of its own: a name lookup, a read from a file system that hangs.
//!
//! tokio's `spawn_blocking` panics where the system gives it no thread (EAGAIN: the pod's pids limit, which the program
//! may have used up). That is no reason for a supervisor to end.

use std::io;
use std::thread;

use tokio::sync::oneshot;

/// Such work, under way. It goes on when this is dropped, and nobody hears what it came to.
#[derive(Debug)]
pub(crate) struct Aside<T>(oneshot::Receiver<T>);

impl<T: Send + 'static> Aside<T> {
    /// Begins it.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub(crate) fn begin(work: impl FnOnce() -> T + Send + 'static) -> io::Result<Self> {
        let (tell, told) = oneshot::channel();
        let work = move || {
            let _ = tell.send(work());
        };
        thread::Builder::new().spawn(work).map_err(|why| {
            io::Error::other(format!(
                "{why}, no thread could be made for it: raise the pod's pids limit, or RLIMIT_NPROC"
            ))
        })?;
        Ok(Self(told))
    }

    /// What it came to. Dropping the future loses nothing: ask again.
    ///
    /// # Errors
    /// It broke off.
    pub(crate) async fn done(&mut self) -> io::Result<T> {
        let Self(told) = self;
        told.await.map_err(io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_is_asked_until_it_is_done_and_its_end_is_no_panic() {
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let mut work = Aside::begin(move || wait.recv().is_ok()).expect("a thread");
        let hurried = tokio::time::timeout(std::time::Duration::ZERO, work.done()).await;
        assert!(hurried.is_err(), "it waits");
        go.send(()).expect("it waits");
        assert!(work.done().await.expect("done"));
        let mut broken = Aside::begin(|| std::panic::resume_unwind(Box::new(()))).expect("a thread");
        let end: io::Result<()> = broken.done().await;
        assert!(end.is_err());
    }
}
