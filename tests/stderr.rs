//! Logging never blocks and never kills: whatever standard error is, the drain goes on.

mod support;

use std::fs::File;
use std::io::{PipeReader, Write, pipe};
use std::os::fd::AsFd;
use std::process::Stdio;

use nix::fcntl::{FcntlArg, OFlag, fcntl};

use support::children::{TOLD, telling};
use support::config::ROOMY;
use support::grpc::{ServingStatus, Watch};
use support::metrics_endpoint::MetricsEndpoint;
use support::{Running, Signal, Tidegate};

#[test]
fn a_closed_stderr_changes_nothing() {
    let shell = ["/bin/sh", "-c", "exec \"$0\" \"$@\" 2>&-"];
    drains(|tidegate| tidegate.through(shell));
}

#[test]
fn a_closed_stdin_stdout_and_stderr_change_nothing() {
    // The next descriptors that are opened are 0, 1 and 2: a log line must not go into a socket.
    let calls = MetricsEndpoint::with_calls(0);
    let shell = ["/bin/sh", "-c", "exec \"$0\" \"$@\" <&- >&- 2>&-"];
    let mut tidegate = Tidegate::wrapping(["/bin/sleep", "60"])
        .config(ROOMY.measured(&calls))
        .through(shell)
        .start();
    let watch = Watch::open(tidegate.health(), "");
    watch.wait_for(ServingStatus::Serving);
    let trigger = tidegate.signal(Signal::SIGTERM);
    let exit = tidegate.wait();
    assert_eq!(exit.code(), 128 + Signal::SIGTERM as i32);
    assert!(exit.at >= trigger + ROOMY.propagation + ROOMY.quiet);
}

#[test]
fn a_full_pipe_that_nobody_reads_changes_nothing() {
    let (_reader, stderr) = full_pipe();
    drains(|tidegate| tidegate.stderr(stderr));
}

#[test]
fn a_pipe_whose_reader_is_gone_changes_nothing() {
    let (reader, writer) = pipe().expect("a pipe");
    drop(reader);
    drains(|tidegate| tidegate.stderr(writer));
}

#[test]
fn a_full_disk_changes_nothing() {
    let full = File::options()
        .write(true)
        .open("/dev/full")
        .expect("/dev/full is there");
    drains(|tidegate| tidegate.stderr(Stdio::from(full)));
}

#[test]
fn a_full_pipe_with_the_most_talkative_log_changes_nothing() {
    let (_reader, stderr) = full_pipe();
    drains(|tidegate| tidegate.stderr(stderr).argument("-v"));
}

#[test]
fn a_full_pipe_keeps_no_refusal_from_ending() {
    let refused = [
        (
            Tidegate::wrapping(["/bin/true"]).config("drain: {quiet: soon}\n"),
            125,
        ),
        (
            Tidegate::wrapping(["/no/such/program"]).config(ROOMY.unmeasured()),
            127,
        ),
    ];
    for (tidegate, code) in refused {
        let (_reader, stderr) = full_pipe();
        assert_eq!(tidegate.stderr(stderr).start().wait().code(), code);
    }
}

/// A whole drain, with whatever `so` does to standard error.
fn drains(so: impl FnOnce(Tidegate) -> Tidegate) {
    let calls = MetricsEndpoint::with_calls(1);
    let mut tidegate: Running = so(Tidegate::wrapping(telling(&[])).config(ROOMY.measured(&calls))).start();
    tidegate.child();
    let trigger = tidegate.signal(Signal::SIGTERM);
    calls.wait_for_polls_after(trigger + ROOMY.propagation, 2);
    let over = calls.set_calls(0);
    let stopped = tidegate.stdout.wait_for("signal SIGTERM").at;
    // Not by its deadline: by its own measure, on time.
    assert!(stopped >= over + ROOMY.quiet);
    let exit = tidegate.wait();
    assert_eq!(exit.code(), TOLD);
    assert!(exit.at < trigger + ROOMY.budget(), "the log held the drain up");
    assert_eq!(tidegate.termination().verdict(), "drained");
}

/// A pipe without room for one more byte, and a blocking end to write to it.
fn full_pipe() -> (PipeReader, std::io::PipeWriter) {
    let (reader, mut writer) = pipe().expect("a pipe");
    let set = |flags| fcntl(writer.as_fd(), FcntlArg::F_SETFL(flags)).expect("flags of a pipe");
    set(OFlag::O_NONBLOCK);
    let chunk = [b'x'; 4096];
    let mut filled = &chunk[..];
    while !filled.is_empty() {
        // Pages first, then single bytes: a page write fails as a whole while there is still room for less.
        if (&writer).write(filled).is_err() {
            filled = &filled[..filled.len() / 2];
        }
    }
    set(OFlag::empty());
    writer.flush().expect("nothing is buffered");
    (reader, writer)
}
