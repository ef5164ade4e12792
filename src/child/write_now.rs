//! A write that never waits, whatever the descriptor's own flags say.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Writes what can be written at once (pwritev2(2) with RWF_NOWAIT). Asking with poll(2) first is not the
/// same: somebody else may fill the pipe between the question and the write.
///
/// # Errors
/// [`io::ErrorKind::WouldBlock`] when nothing can; [`io::ErrorKind::Unsupported`] where the kernel has no such
/// call or this kind of file does not know how.
#[allow(unsafe_code)]
pub fn write_now(to: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    /// The file's own position, which a pipe has not.
    const NO_OFFSET: libc::c_long = -1;
    let vector = libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    };
    // SAFETY: one vector, whose bytes live through the call and are only read.
    let written = unsafe {
        libc::syscall(
            libc::SYS_pwritev2,
            to.as_raw_fd(),
            &raw const vector,
            1,
            NO_OFFSET,
            NO_OFFSET,
            libc::RWF_NOWAIT,
        )
    };
    if let Ok(written) = usize::try_from(written) {
        return Ok(written);
    }
    let why = io::Error::last_os_error();
    match why.raw_os_error() {
        Some(libc::ENOSYS | libc::EOPNOTSUPP | libc::EINVAL) => Err(io::ErrorKind::Unsupported.into()),
        _ => Err(why),
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn a_full_pipe_is_an_answer_and_no_wait() {
        // Blocking, as a standard error is.
        let (reader, writer) = std::io::pipe().expect("a pipe");
        let page = [b'x'; 4096];
        let mut written = 0;
        let full = loop {
            match write_now(writer.as_fd(), &page) {
                Ok(count) => written += count,
                Err(why) => break why,
            }
        };
        assert_eq!(full.kind(), io::ErrorKind::WouldBlock, "{full}");
        assert!(written >= page.len(), "{written}");
        drop(reader);
        let gone = write_now(writer.as_fd(), &page).expect_err("nobody reads");
        assert_eq!(gone.kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn a_file_that_does_not_know_how_says_so_or_is_written() {
        let null = std::fs::File::options()
            .write(true)
            .open("/dev/null")
            .expect("there");
        match write_now(null.as_fd(), b"x") {
            Ok(count) => assert_eq!(count, 1),
            Err(why) => assert_eq!(why.kind(), io::ErrorKind::Unsupported),
        }
    }
}
