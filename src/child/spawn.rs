//! Starting a program: clone and exec, as fast as vfork and as exact as the kernel allows.
//!
//! The new process shares tidegate's memory until it has called execve (`CLONE_VM |
//! CLONE_VFORK`, as glibc's posix_spawn does), so no page table is copied; tidegate sleeps
//! meanwhile. Between clone and exec only system calls are made: no allocation, no lock, no
//! panic. When the clone returns, the new process is already a process group of its own, so
//! the usual second `setpgid` in the parent is not needed.
//!
//! An errno comes back through a pipe that closes at exec. Shared memory could carry it too,
//! but emulators turn a vfork into a fork, and the pipe works there as well.

use std::ffi::{CString, OsStr, c_char, c_int, c_void};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use super::command::{Prepared, Stdio};
use super::inherited::open_null;
use super::terminal::Terminal;
use super::{Command, Inherited, Role, SpawnError};

/// Enough for the few frames between clone and exec, unoptimised ones included.
const STACK_SIZE: usize = 16 * 1024;

/// A program that has begun to run.
pub(super) struct Started {
    pub pid: libc::pid_t,
    /// Our ends of the pipes asked for, descriptors 0 to 2.
    pub pipes: [Option<OwnedFd>; 3],
}

/// Starts `command`. The caller makes sure that nobody reaps before this returns.
pub(super) fn start(
    command: &Command,
    inherited: &Inherited,
    role: &Role,
    terminal: Option<&Terminal>,
) -> Result<Started, SpawnError> {
    let prepared = command
        .prepare(std::env::var_os("PATH"))
        .map_err(|_| SpawnError::ZeroByte(command.program.clone()))?;
    let no_process = |why| SpawnError::NoProcess {
        program: command.program.clone(),
        why,
    };
    let wires = Wires::lay(command).map_err(no_process)?;
    let (reader, writer) = pipe().map_err(no_process)?;
    let candidates = pointers(&prepared.candidates);
    let arguments = pointers(&prepared.arguments);
    let environment = (!prepared.environment.is_empty()).then(|| with_ours(&prepared.environment));
    let orders = Orders {
        candidates: &candidates,
        arguments: arguments.as_ptr(),
        environment: environment.as_deref().map_or_else(ours, <[_]>::as_ptr),
        inherited,
        wires: wires
            .theirs
            .each_ref()
            .map(|end| end.as_ref().map(OwnedFd::as_raw_fd)),
        terminal: terminal.map(Terminal::descriptor),
        parent: match role {
            Role::Pid1 => None,
            Role::Subreaper | Role::Parent(_) => Some(own_pid()),
        },
        report: writer.as_raw_fd(),
    };
    let pid = clone(&orders).map_err(no_process)?;
    drop(writer);
    match refusal(reader) {
        None => Ok(Started {
            pid,
            pipes: wires.ours,
        }),
        Some(refusal) => {
            bury(pid);
            Err(said(&command.program, &prepared, refusal))
        }
    }
}

fn said(program: &OsStr, prepared: &Prepared, refusal: Refusal) -> SpawnError {
    SpawnError::of_exec(program, prepared, refusal.errno, refusal.tried)
}

/// What the new process needs to know, made before it exists.
struct Orders<'a> {
    /// Paths as C strings, a null at the end.
    candidates: &'a [*const c_char],
    arguments: *const *const c_char,
    environment: *const *const c_char,
    inherited: &'a Inherited,
    wires: [Option<RawFd>; 3],
    terminal: Option<RawFd>,
    /// Our pid, when the child is to die with us. PID 1 takes everyone along anyway.
    parent: Option<libc::pid_t>,
    report: RawFd,
}

/// Why execve did not happen, as it travels through the pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Refusal {
    errno: c_int,
    /// The candidate that failed; past the last one when none was there.
    tried: usize,
}

impl Refusal {
    const SIZE: usize = 8;

    fn to_bytes(self) -> [u8; Self::SIZE] {
        // Both fit 32 bits: an errno is small, and PATH has fewer entries than bytes.
        ((self.tried as u64) << 32 | self.errno as u64).to_ne_bytes()
    }

    fn from_bytes(bytes: [u8; Self::SIZE]) -> Self {
        let both = u64::from_ne_bytes(bytes);
        Self {
            errno: both as u32 as c_int,
            tried: (both >> 32) as usize,
        }
    }
}

/// Pointers as execve(2) wants them, a null at the end.
fn pointers(strings: &[CString]) -> Vec<*const c_char> {
    strings
        .iter()
        .map(|string| string.as_ptr())
        .chain([ptr::null()])
        .collect()
}

/// What the pipe says: nothing once exec has closed it.
fn refusal(reader: OwnedFd) -> Option<Refusal> {
    let mut bytes = [0; Refusal::SIZE];
    File::from(reader).read_exact(&mut bytes).ok()?;
    Some(Refusal::from_bytes(bytes))
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC)?)
}

#[allow(unsafe_code)]
fn own_pid() -> libc::pid_t {
    // SAFETY: getpid(2) cannot fail.
    unsafe { libc::getpid() }
}

/// Takes the exit status of a process that never became a program.
#[allow(unsafe_code)]
fn bury(pid: libc::pid_t) {
    // SAFETY: `pid` is a child of ours that nobody else waits for; a null status is allowed.
    unsafe { libc::waitpid(pid, ptr::null_mut(), 0) };
}

/// The new process, once it has exec'd or failed to.
#[allow(unsafe_code)]
fn clone(orders: &Orders<'_>) -> io::Result<libc::pid_t> {
    // 16 bytes is what the ABIs ask a stack to be aligned to.
    let mut stack = Box::<[u128]>::new_uninit_slice(STACK_SIZE / size_of::<u128>());
    let top = stack.as_mut_ptr_range().end.cast::<c_void>();
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    let orders = ptr::from_ref(orders).cast_mut().cast::<c_void>();
    // SAFETY: CLONE_VFORK suspends this thread until the child has exec'd or exited, so the
    // stack and the orders outlive their use. All signals are blocked and no handler is
    // installed, so none of our code runs in the child but `become_program`.
    match unsafe { libc::clone(become_program, top, flags, orders) } {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok(pid),
    }
}

/// The child's life before exec. Nothing here may fail but exec itself.
#[allow(unsafe_code)]
extern "C" fn become_program(orders: *mut c_void) -> c_int {
    // SAFETY: `clone` passes a live Orders and stays suspended. The pointers in it are valid
    // C strings and null-terminated arrays of them. All that is called here is a bare system
    // call; what it changes (group, mask, dispositions, descriptors) is this process's own,
    // because neither CLONE_SIGHAND nor CLONE_FILES was asked for.
    unsafe {
        let orders = &*orders.cast::<Orders<'_>>();
        libc::setpgid(0, 0);
        for (target, wire) in (0..).zip(orders.wires) {
            if let Some(wire) = wire {
                libc::dup2(wire, target);
            }
        }
        if let Some(terminal) = orders.terminal {
            // SIGTTOU is still blocked, or this would stop us (tcsetpgrp(3)).
            libc::tcsetpgrp(terminal, libc::getpid());
        }
        if let Some(parent) = orders.parent {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            // It may have died before that call; 0 is a parent in another PID namespace.
            if !matches!(libc::getppid(), alive if alive == parent || alive == 0) {
                libc::_exit(128 + libc::SIGKILL);
            }
        }
        orders.inherited.restore();
        let refusal = execute(orders).to_bytes();
        libc::write(orders.report, refusal.as_ptr().cast(), refusal.len());
        libc::_exit(127)
    }
}

/// Tries each candidate as execvp(3) does: absent ones are passed over, a forbidden one is
/// remembered, anything else ends the search. Returns only to say why not.
///
/// # Safety
/// As for [`become_program`].
#[allow(unsafe_code)]
unsafe fn execute(orders: &Orders<'_>) -> Refusal {
    let mut refusal = Refusal {
        errno: libc::ENOENT,
        tried: orders.candidates.len(),
    };
    for (tried, candidate) in orders.candidates.iter().enumerate() {
        if candidate.is_null() {
            break;
        }
        // SAFETY: the caller vouches for the pointers.
        let errno = unsafe {
            libc::execve(*candidate, orders.arguments, orders.environment);
            *libc::__errno_location()
        };
        match errno {
            libc::ENOENT | libc::ENOTDIR | libc::ENODEV | libc::ESTALE | libc::ETIMEDOUT => {}
            libc::EACCES => {
                if refusal.errno != libc::EACCES {
                    refusal = Refusal { errno, tried };
                }
            }
            _ => return Refusal { errno, tried },
        }
    }
    refusal
}

/// Our environment block, which exec gave us.
#[allow(unsafe_code)]
fn ours() -> *const *const c_char {
    // SAFETY: nothing in tidegate changes it.
    unsafe { environ }
}

/// Our environment block with `more` in front, null-terminated.
#[allow(unsafe_code)]
fn with_ours(more: &[CString]) -> Vec<*const c_char> {
    let mut block: Vec<*const c_char> = more.iter().map(|variable| variable.as_ptr()).collect();
    let mut next = ours();
    // SAFETY: environ(7) is null, or an array of pointers that a null pointer ends.
    unsafe {
        while !next.is_null() && !(*next).is_null() {
            block.push(*next);
            next = next.add(1);
        }
    }
    block.push(ptr::null());
    block
}

#[allow(unsafe_code)]
unsafe extern "C" {
    /// environ(7): the environment block, byte for byte.
    static environ: *const *const c_char;
}

/// The two ends of what a command's standard descriptors are wired to.
#[derive(Default)]
struct Wires {
    ours: [Option<OwnedFd>; 3],
    theirs: [Option<OwnedFd>; 3],
}

impl Wires {
    fn lay(command: &Command) -> io::Result<Self> {
        let wiring = command.wiring;
        let mut wires = Self::default();
        for (fd, stdio) in [wiring.stdin, wiring.stdout, wiring.stderr]
            .into_iter()
            .enumerate()
        {
            match stdio {
                Stdio::Inherit => {}
                Stdio::Null => wires.theirs[fd] = Some(null()?),
                Stdio::Pipe => {
                    let (reader, writer) = pipe()?;
                    let (ours, theirs) = match fd {
                        0 => (writer, reader),
                        _ => (reader, writer),
                    };
                    nix::fcntl::fcntl(&ours, nix::fcntl::F_SETFL(nix::fcntl::OFlag::O_NONBLOCK))?;
                    (wires.ours[fd], wires.theirs[fd]) = (Some(ours), Some(theirs));
                }
            }
        }
        Ok(wires)
    }
}

#[allow(unsafe_code)]
fn null() -> io::Result<OwnedFd> {
    match open_null() {
        fd if fd < 0 => Err(io::Error::last_os_error()),
        // SAFETY: just opened, and nobody else knows it.
        fd => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_survives_the_pipe() {
        for refusal in [
            Refusal { errno: 2, tried: 0 },
            Refusal {
                errno: 133,
                tried: 70_000,
            },
        ] {
            assert_eq!(Refusal::from_bytes(refusal.to_bytes()), refusal);
        }
    }
}
