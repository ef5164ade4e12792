//! The first milliseconds: a SIGTERM is never lost once our mask is set, never hangs, never
//! leaves an orphan.

mod child_support;

use child_support::{as_nobody, everywhere, inside_pid_1, outside_pid_1, script};

/// Before our mask is set the default action ends us, as it would the program without us; PID 1 has none, and the kernel
/// drops the signal (signal(7)). Whether it was set when the signal was sent is what the kernel says just before (`SigBlk`
/// in proc(5)).
const TERM_AT_ANY_POINT: &str = r#"
SPAN = 0.010
DRAIN = TIDEGATE[:-1] + ["--propagation", "0s", "--quiet", "0s", "--"]
TERM = 1 << (signal.SIGTERM - 1)

def masked(pid):
    """Whether it runs as tidegate and has TERM blocked."""
    try:
        with open(f"/proc/{pid}/status") as f: fields = dict(l.split(":", 1) for l in f)
    except (FileNotFoundError, ProcessLookupError):
        return False
    return bool(int(fields["SigBlk"], 16) & TERM)

ends = {"before the mask": 0, "after": 0}
null = os.open("/dev/null", os.O_WRONLY)
for n in range(ROUNDS):
    reader, writer = os.pipe()
    # The child holds the pipe: it is closed when tidegate and everything it started is gone.
    actions = [(os.POSIX_SPAWN_DUP2, writer, 1), (os.POSIX_SPAWN_DUP2, null, 2)]
    begin = time.monotonic()
    with apart(): pid = os.posix_spawn(DRAIN[0], DRAIN + ["sleep", "1000"], os.environ, file_actions=actions)
    os.close(writer)
    while time.monotonic() - begin < SPAN * n / ROUNDS: pass
    was_masked = masked(pid)
    os.kill(pid, signal.SIGTERM)
    if PID_1 and not was_masked:
        eventually(lambda: masked(pid), "the mask")
        os.kill(pid, signal.SIGTERM)
    ready, _, _ = select.select([reader], [], [], 60)
    assert ready and os.read(reader, 100) == b"", f"round {n}: it hangs, or has left someone"
    os.close(reader)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code == -signal.SIGTERM:
        assert not was_masked, f"round {n}: the default action, with TERM blocked"
        ends["before the mask"] += 1
    else:
        # The child's own end by TERM, told by us.
        assert code == 143, f"round {n}: {code}"
        ends["after"] += 1
assert ends["after"] > ROUNDS // 10, ends
"#;

#[test]
fn a_term_at_any_point_of_the_start_ends_the_run() {
    script(&format!("ROUNDS = 500\n{TERM_AT_ANY_POINT}"));
}

#[test]
fn a_term_at_any_point_of_the_start_ends_pid_1() {
    inside_pid_1(&format!("ROUNDS = 200\n{TERM_AT_ANY_POINT}"));
}

#[test]
fn a_term_at_any_point_of_the_start_ends_the_run_of_nobody() {
    as_nobody(&format!("ROUNDS = 200\n{TERM_AT_ANY_POINT}"));
}

/// The child is up before the runtime that serves everything else. Its first act is to stop us, and to look at what we
/// have open: a runtime would have its epoll there. On a slow machine that look may come late; it comes in time once.
#[test]
fn the_program_is_up_before_the_runtime() {
    // Nobody inside stops PID 1 (signal(7)).
    outside_pid_1(
        r#"
LOOK = "kill -STOP $PPID; for fd in /proc/$PPID/fd/*; do readlink $fd; done; kill -CONT $PPID"
# All of 127/8 is this machine: an address of our own.
address = "127.99.%d.%d:9095" % (os.getpid() >> 8 & 255, os.getpid() & 255)
SERVING = [address if word == "off" else word for word in TIDEGATE]
def seen():
    said = subprocess.run(SERVING + ["busybox", "sh", "-c", LOOK], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert said.returncode == 0 and b"socket:" in said.stdout, said
    return said.stdout
eventually(lambda: b"eventpoll" not in seen(), "a child that is quicker than the runtime")
"#,
    );
}

/// Blocked in the launcher, so that it is pending before tidegate runs; the child inherits the mask
/// and waits for the signal.
const LAUNCH: &str = r#"
def launched(sent, *options):
    """Tidegate, and a child that takes a TERM or an INT, with `sent` pending from before."""
    child = "import signal, sys; sys.exit(int(signal.sigwait([2, 15])))"
    launch = f"""
import os, signal, sys
signal.pthread_sigmask(0, [2, 15])
for number in {sent}: os.kill(os.getpid(), number)
os.execvp(sys.argv[1], sys.argv[1:])
"""
    return subprocess.Popen(PYTHON + [launch] + TIDEGATE[:-1] + list(options) + ["--"] + PYTHON + [child], stderr=subprocess.PIPE)
LONG = ["--grace-period", "400s", "--propagation", "200s"]
"#;

#[test]
fn a_term_before_the_child_is_up_skips_the_waits() {
    everywhere(&format!(
        "{LAUNCH}{}",
        r#"
begin = time.monotonic()
process = launched([15], *LONG)
said = process.communicate(timeout=100)[1].decode()
assert process.returncode == 15, (process.returncode, said)
assert time.monotonic() - begin < 100, "it waited for the propagation window"
"#
    ));
}

/// Before and after: one stop signal, not two.
#[test]
fn a_term_from_before_is_delivered_once() {
    everywhere(
        r#"
CHILD = """
import os, signal, sys, time
signal.pthread_sigmask(signal.SIG_BLOCK, [15])
first = signal.sigwait([15])
os.write(1, b"had one\\n")
second = signal.sigtimedwait([15], 0.3)
sys.exit(42 if second is None else 1)
"""
LAUNCH = "import os, signal, sys; signal.pthread_sigmask(0, [15]); [os.kill(os.getpid(), 15) for _ in range(3)]; os.execvp(sys.argv[1], sys.argv[1:])"
process = subprocess.Popen(PYTHON + [LAUNCH] + TIDEGATE + PYTHON + [CHILD], stdout=subprocess.PIPE)
assert line(process) == "had one"
os.kill(process.pid, 15)
assert process.wait() == 42
"#,
    );
}

/// A shell without job control starts what it puts in the background with SIGINT and SIGQUIT
/// ignored (POSIX 2.11): a Ctrl-C for what is in front is none of ours.
#[test]
fn an_int_that_was_ignored_at_the_start_is_forwarded_and_starts_no_drain() {
    everywhere(
        r#"
CHILD = """
import os, signal, sys
assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
signal.pthread_sigmask(signal.SIG_BLOCK, [2, 15])
os.write(1, b"ready\\n")
while True:
    number = signal.sigwait([2, 15])
    os.write(1, b"%d\\n" % number)
    if number == 15: sys.exit(7)
"""
LAUNCH = "import os, signal, sys; signal.signal(2, signal.SIG_IGN); os.execvp(sys.argv[1], sys.argv[1:])"
quick = TIDEGATE[:-1] + ["--propagation", "0s", "--quiet", "0s", "--"]
process = subprocess.Popen(PYTHON + [LAUNCH] + quick + PYTHON + [CHILD], stdout=subprocess.PIPE)
assert line(process) == "ready"
for _ in range(2):
    os.kill(process.pid, signal.SIGINT)
    assert line(process) == "2", "as it came, not as a stop signal"
os.kill(process.pid, signal.SIGTERM)
assert line(process) == "15"
assert process.wait() == 7
"#,
    );
}

/// A FIFO that nobody writes to, one whose writer never ends, and one that is written in its own time.
#[test]
fn a_term_ends_the_wait_for_a_config_that_never_comes() {
    script(
        r##"
import tempfile
with tempfile.TemporaryDirectory() as directory:
    fifo = os.path.join(directory, "config")
    os.mkfifo(fifo)
    def waiting():
        process = subprocess.Popen(TIDEGATE[:2] + ["--config", fifo, "--", "sh", "-c", "exit 7"], stderr=subprocess.PIPE)
        def sleeps():
            fields = dict(l.split(":", 1) for l in open(f"/proc/{process.pid}/status"))
            return fields["State"].strip()[0] == "S" and int(fields["SigBlk"], 16) & 1 << 14
        eventually(sleeps, "it waits for its config")
        return process
    for begun in (b"", b"health: {listen: "):
        process = waiting()
        writer = os.open(fifo, os.O_WRONLY) if begun else None
        if begun: os.write(writer, begun)
        process.terminate()
        said = process.communicate(timeout=60)[1].decode()
        assert process.returncode == 125 and said.count("\n") == 1, (process.returncode, said)
        assert "SIGTERM came before its end" in said, said
        if begun: os.close(writer)
    process = waiting()
    with open(fifo, "w") as f: f.write("health: {listen: off}\n")
    said = process.communicate(timeout=60)[1].decode()
    assert process.returncode == 7, said
"##,
    );
}

/// Whatever the limit, either the run comes to its end or one line says which limit it was.
#[test]
fn a_full_table_of_descriptors_is_one_line_that_names_the_limit() {
    script(
        r##"
import resource, socket
with socket.socket() as listener:
    listener.bind(("127.0.0.1", 0))
    address = "127.0.0.1:%d" % listener.getsockname()[1]
refused = 0
for most in range(5, 40):
    def few(): resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    process = subprocess.run(TIDEGATE[:2] + ["--listen", address, "--", "/bin/sh", "-c", ":"],
        preexec_fn=few, stderr=subprocess.PIPE, close_fds=True)
    said = process.stderr.decode()
    assert "internal error" not in said, (most, said)
    if process.returncode == 125:
        [told] = [l for l in said.splitlines() if l.startswith("tidegate: ")]
        assert "RLIMIT_NOFILE" in told, (most, said)
        refused += 1
assert 3 < refused < 30, refused
"##,
    );
}
