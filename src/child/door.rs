//! The way in: before anything else, signals.
//!
//! Rust's own runtime sets SIGPIPE to be ignored, installs handlers for stack overflows and
//! opens `/dev/null` on closed standard descriptors, all of which a child would inherit or
//! a supervisor has to undo. So the binary has a C `main` of its own, and nothing runs
//! before the signals are blocked.

use std::ffi::{CStr, OsStr, OsString, c_char, c_int};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;

use super::Inherited;

/// Exit code for a failure of tidegate's own.
const OWN_FAILURE: c_int = 125;

/// The `main` of a `#![no_main]` binary: blocks signals, then calls a
/// `fn(Inherited) -> u8` and exits with what it returns.
///
/// ```ignore
/// #![cfg_attr(not(test), no_main)]
/// tidegate::child::door!(run);
/// ```
#[macro_export]
macro_rules! door {
    ($run:path) => {
        #[cfg(not(test))]
        #[allow(unsafe_code)]
        const _: () = {
            // SAFETY: the only `main` of a `#![no_main]` binary, with C's signature.
            #[unsafe(no_mangle)]
            extern "C" fn main(
                argc: ::core::ffi::c_int,
                argv: *const *const ::core::ffi::c_char,
            ) -> ::core::ffi::c_int {
                // SAFETY: the C runtime calls main once, with its own argc and argv.
                unsafe { $crate::child::enter(argc, argv, $run) }
            }
        };

        // The test harness brings a `main` of its own.
        #[cfg(test)]
        const _: fn($crate::child::Inherited) -> u8 = $run;
    };
}

/// What [`door!`](crate::door) calls. It does not return.
///
/// # Safety
/// `argv` has `argc` valid C strings that are never freed, and this is called once, by
/// `main`, before there is a second thread.
#[doc(hidden)]
#[allow(unsafe_code)]
pub unsafe fn enter(argc: c_int, argv: *const *const c_char, run: fn(Inherited) -> u8) -> ! {
    let inherited = Inherited::take(|| {
        (0..argc.max(0) as usize)
            .map(|index| {
                // SAFETY: the caller vouches for argc strings at argv.
                let argument = unsafe { CStr::from_ptr(*argv.add(index)) };
                OsStr::from_bytes(argument.to_bytes()).to_owned()
            })
            .collect::<Vec<OsString>>()
    });
    std::panic::set_hook(Box::new(say_in_one_line));
    let code = run(inherited);
    // What exit(3) would run besides is nothing of ours, and whoever waits for us waits for it too.
    let _ = std::io::stdout().flush();
    leave(code.into())
}

/// A panic is a bug of ours: one line, and the exit code of tidegate's own failures. A
/// container's log is read by line, and the child's `RUST_BACKTRACE` is not meant for us.
fn say_in_one_line(panic: &std::panic::PanicHookInfo<'_>) {
    let said = panic.payload();
    let what = said
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| said.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no reason given")
        .replace('\n', " ");
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    let line =
        format!("tidegate: internal error at {place}: {what}; this is a bug in tidegate, please report it\n");
    // Not eprintln!, which panics itself when stderr is gone.
    let _ = std::io::stderr().write_all(line.as_bytes());
    leave(OWN_FAILURE)
}

/// Ends the process without running anything more of it.
#[allow(unsafe_code)]
fn leave(code: c_int) -> ! {
    // SAFETY: _exit(2) has no preconditions.
    unsafe { libc::_exit(code) }
}
