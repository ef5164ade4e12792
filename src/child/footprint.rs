//! The memory of an idle supervisor: the code that only the start needed is given back.
//!
//! The kernel maps a file's pages sixteen around each one touched (`fault_around_bytes`), so a
//! start that runs through parsers and formatters leaves most of the binary mapped. One
//! madvise(2) unmaps it all; what is still needed comes back from the page cache.

use std::ffi::{c_char, c_void};

#[allow(unsafe_code)]
unsafe extern "C" {
    /// The image's first byte, by the linker (GNU ld, lld).
    static __executable_start: c_char;
    /// Just past its code, by the linker (end(3)).
    static etext: c_char;
}

/// Unmaps the constants and the code of this program. They are read from its file again when
/// next used: they were never written to, which is why this loses nothing.
#[allow(unsafe_code)]
pub fn forget_the_start() {
    // SAFETY: sysconf(3) takes a number; only the addresses of the linker's symbols are used.
    let (page, start, end) = unsafe {
        (
            libc::sysconf(libc::_SC_PAGESIZE),
            (&raw const __executable_start).addr(),
            (&raw const etext).addr(),
        )
    };
    let Ok(page) = usize::try_from(page) else { return };
    // What follows the code may be data that relocation has changed: its page stays.
    let (start, end) = (start - start % page, end - end % page);
    let Some(length) = end.checked_sub(start) else {
        return;
    };
    // SAFETY: from the image's start to the end of its code lie the headers, constants and code: private
    // mappings of its file, without a page that was ever written, so that MADV_DONTNEED (madvise(2)) makes
    // the next access read the same bytes. It may be refused, which changes nothing.
    unsafe { libc::madvise(start as *mut c_void, length, libc::MADV_DONTNEED) };
}
