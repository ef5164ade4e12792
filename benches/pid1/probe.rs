//! The measured program and the stopwatch around it, in one static binary without dependencies:
//! whatever it costs to start, it costs under every wrapper.
//!
//! | call | what it does |
//! | --- | --- |
//! | `probe run COMMAND…` | runs `COMMAND… probe stamp`; prints the nanoseconds from exec to the program's `main`, and from its exit to the command's |
//! | `probe stamp` | tells when its `main` began, and 5 ms later when it ends |
//! | `probe signals` | for each line `PID FD` read: sends SIGUSR1 to PID; prints the nanoseconds until the `catch` that writes to FD had it |
//! | `probe catch` | tells its start, then the clock at each SIGUSR1 |
//! | `probe orphans N` | makes N orphans end at once; prints the nanoseconds until none is left |
//!
//! Clocks are CLOCK_MONOTONIC, which all processes share.

use std::ffi::{CString, c_char, c_int, c_long, c_void};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: c_long,
}

unsafe extern "C" {
    fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int;
    fn execv(path: *const c_char, arguments: *const *const c_char) -> c_int;
    fn fork() -> c_int;
    fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn pipe(ends: *mut c_int) -> c_int;
    fn dup2(from: c_int, to: c_int) -> c_int;
    fn close(fd: c_int) -> c_int;
    fn read(fd: c_int, buffer: *mut c_void, count: usize) -> isize;
    fn write(fd: c_int, buffer: *const c_void, count: usize) -> isize;
    fn kill(pid: c_int, signal: c_int) -> c_int;
    fn sigprocmask(how: c_int, set: *const [u64; 16], old: *mut [u64; 16]) -> c_int;
    fn sigwait(set: *const [u64; 16], signal: *mut c_int) -> c_int;
    fn _exit(code: c_int) -> !;
}

const CLOCK_MONOTONIC: c_int = 1;
const SIG_BLOCK: c_int = 0;
const SIGUSR1: c_int = 10;

fn main() {
    let main_began = now();
    let arguments: Vec<CString> = std::env::args_os()
        .map(|argument| CString::new(argument.as_bytes()).expect("no argument has a zero byte"))
        .collect();
    match arguments.get(1).and_then(|word| word.to_str().ok()) {
        Some("run") => run(&arguments[2..]),
        Some("stamp") => {
            tell(main_began);
            // Until everyone above waits.
            std::thread::sleep(Duration::from_millis(5));
            tell(now());
            leave(0)
        }
        Some("signals") => signals(),
        Some("catch") => catch(),
        Some("orphans") => orphans(arguments[2].to_str().expect("a number").parse().expect("a number")),
        _ => panic!("see the top of this file"),
    }
}

/// Nanoseconds on the clock that all processes share.
fn now() -> u64 {
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: the struct is the C library's, and lives through the call.
    unsafe { clock_gettime(CLOCK_MONOTONIC, &mut time) };
    time.seconds as u64 * 1_000_000_000 + time.nanoseconds as u64
}

fn leave(code: c_int) -> ! {
    // SAFETY: it has no preconditions.
    unsafe { _exit(code) }
}

/// Writes a time to standard output, eight bytes.
fn tell(time: u64) {
    let bytes = time.to_ne_bytes();
    // SAFETY: the bytes live through the call.
    unsafe { write(1, bytes.as_ptr().cast(), bytes.len()) };
}

fn told(fd: c_int) -> u64 {
    let mut bytes = [0u8; 8];
    // SAFETY: the buffer has the size given; a pipe keeps eight bytes together.
    let count = unsafe { read(fd, bytes.as_mut_ptr().cast(), bytes.len()) };
    assert_eq!(count, 8, "the program under the command told no time");
    u64::from_ne_bytes(bytes)
}

fn new_pipe() -> [c_int; 2] {
    let mut ends = [0; 2];
    // SAFETY: room for two descriptors.
    assert_eq!(unsafe { pipe(ends.as_mut_ptr()) }, 0);
    ends
}

/// One run. Nobody reads the pipe before the command has ended, so that no reader is woken meanwhile.
fn run(command: &[CString]) {
    let mut words: Vec<*const c_char> = command.iter().map(|word| word.as_ptr()).collect();
    words.push(std::ptr::null());
    let [times, to_times] = new_pipe();
    // SAFETY: one thread, and only system calls until exec; `words` ends with a null.
    let pid = unsafe {
        match fork() {
            0 => {
                dup2(to_times, 1);
                tell(now());
                execv(words[0], words.as_ptr());
                _exit(127)
            }
            pid => pid,
        }
    };
    let mut status = 0;
    // SAFETY: `pid` is our child; the status lives through the call.
    unsafe { waitpid(pid, &mut status, 0) };
    let gone = now();
    assert_eq!(status, 0, "the command failed");
    let (exec, began, ended) = (told(times), told(times), told(times));
    println!("{} {}", began - exec, gone - ended);
}

/// The first 1024 bits of a glibc sigset_t: one word holds every signal.
fn usr1() -> [u64; 16] {
    let mut set = [0; 16];
    set[0] = 1 << (SIGUSR1 - 1);
    set
}

/// For each `PID FD` line: sends SIGUSR1 and prints how long it took to be caught by who writes to FD.
fn signals() {
    for line in std::io::stdin().lines() {
        let line = line.expect("a line");
        let (pid, fd) = line.split_once(' ').expect("PID FD");
        let (pid, fd) = (pid.parse().expect("a pid"), fd.parse().expect("a descriptor"));
        let sent = now();
        // SAFETY: a signal to a process that the caller started.
        assert_eq!(unsafe { kill(pid, SIGUSR1) }, 0);
        println!("{}", told(fd) - sent);
    }
}

fn catch() {
    let set = usr1();
    // SAFETY: the set is as large as the C library's and lives through the calls.
    unsafe { sigprocmask(SIG_BLOCK, &set, std::ptr::null_mut()) };
    tell(now());
    loop {
        let mut signal = 0;
        // SAFETY: as above.
        unsafe { sigwait(&set, &mut signal) };
        tell(now());
    }
}

/// `kill(-1, 0)` reaches everyone but PID 1 and ourselves, zombies too; in a PID namespace of our own
/// nobody is left when it reaches nobody.
fn orphans(count: usize) {
    const AT_ONCE: usize = 500;
    let mut spent = 0;
    for _ in 0..count.div_ceil(AT_ONCE) {
        let [gate, opener] = new_pipe();
        let [counted, counter] = new_pipe();
        // SAFETY: one thread; the children call nothing but system calls.
        unsafe {
            let middle = fork();
            if middle == 0 {
                close(opener);
                for _ in 0..AT_ONCE {
                    if fork() == 0 {
                        let mut byte = 0u8;
                        write(counter, (&raw const byte).cast(), 1);
                        read(gate, (&raw mut byte).cast(), 1);
                        _exit(0);
                    }
                }
                _exit(0);
            }
            waitpid(middle, std::ptr::null_mut(), 0);
            for _ in 0..AT_ONCE {
                let mut byte = 0u8;
                read(counted, (&raw mut byte).cast(), 1);
            }
            let begin = now();
            close(opener);
            while kill(-1, 0) == 0 {
                std::thread::sleep(Duration::from_micros(100));
            }
            spent += now() - begin;
            for fd in [gate, counted, counter] {
                close(fd);
            }
        }
    }
    println!("{spent}");
}
