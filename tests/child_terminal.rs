//! On a terminal: the child is in front, one Ctrl-C is one SIGINT, the terminal is handed back.

mod child_support;

use child_support::{everywhere, outside_pid_1};

/// A pseudo-terminal with someone in front of it.
const PTY: &str = r#"
import pty, re, termios, tty
class Terminal:
    """What runs on a pseudo-terminal as its session's leader, and what it has said so far."""
    def __init__(self, *command):
        self.pid, self.fd = fork(pty.fork)
        if self.pid == 0: os.execvp(command[0], command)
        self.said = b""
    def until(self, word, count=1):
        """Reads until `word` was said `count` times since the last time."""
        end = time.monotonic() + 60
        while self.said.count(word.encode()) < count:
            ready, _, _ = select.select([self.fd], [], [], end - time.monotonic())
            assert ready, f"{word!r} was never said: {self.said!r}"
            try: chunk = os.read(self.fd, 4096)
            except OSError: chunk = b""
            assert chunk, f"the terminal was closed before {word!r}: {self.said!r}"
            self.said += chunk
        before, _, self.said = self.said.partition(word.encode())
        return before
    def keys(self, text):
        os.write(self.fd, text.encode())
    def front(self):
        return os.tcgetpgrp(self.fd)
    def end(self):
        """Reads the rest; the exit code."""
        while True:
            try: chunk = os.read(self.fd, 4096)
            except OSError: break
            if not chunk: break
            self.said += chunk
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
"#;

fn on_a_terminal(text: &str) {
    everywhere(&format!("{PTY}\n{text}"));
}

/// With a shell or a parent that tidegate shares its session with.
fn on_anothers_terminal(text: &str) {
    outside_pid_1(&format!("{PTY}\n{text}"));
}

#[test]
fn the_child_is_the_foreground_group() {
    on_a_terminal(
        r#"
terminal = Terminal(*TIDEGATE, *PYTHON, "import os; print('front', os.tcgetpgrp(0) == os.getpgrp() == os.getpid()); input(); os._exit(7)")
terminal.until("front True")
assert terminal.front() != terminal.pid
terminal.keys("\n")
assert terminal.end() == 7
"#,
    );
}

#[test]
fn one_ctrl_c_is_one_sigint() {
    on_a_terminal(
        r#"
CHILD = """
import os, select, signal, sys
# A byte for each signal, so that none comes between looking and waiting.
reader, writer = os.pipe()
os.set_blocking(writer, False)
signal.signal(signal.SIGINT, lambda *_: None)
signal.set_wakeup_fd(writer)
os.write(1, b"ready\\n")
while True:
    ready, _, _ = select.select([0, reader], [], [])
    if reader in ready:
        os.write(1, b"INT\\n" * len(os.read(reader, 100)))
        continue
    word = os.read(0, 100).strip()
    if word == b"end": sys.exit(7)
    os.write(1, b"<" + word + b">\\n")
"""
terminal = Terminal(*TIDEGATE, *PYTHON, CHILD)
terminal.until("ready")
for n in range(20):
    terminal.keys("\x03")
    terminal.until("INT")
    terminal.keys(f"{n}\n")
    assert b"INT" not in terminal.until(f"<{n}>")
terminal.keys("end\n")
assert terminal.end() == 7
assert b"INT" not in terminal.said
"#,
    );
}

/// Who leads a session and gives up its terminal (TIOCNOTTY) has the kernel send SIGHUP and SIGCONT to the group in front
/// (ioctl_tty(2)). We lead it in a container, and give up nothing.
#[test]
fn a_child_in_front_has_no_hangup_of_ours() {
    on_a_terminal(
        r#"
CHILD = """
import os, signal, sys
both = [signal.SIGHUP, signal.SIGCONT]
signal.pthread_sigmask(signal.SIG_BLOCK, both)
os.write(1, b"ready\\n")
sys.stdin.readline()
got = signal.sigtimedwait(both, 0)
sys.exit(7 if got is None else 1)
"""
# Blocked from the very start: what comes before the child looks is pending then.
LAUNCH = "import os, signal, sys; signal.pthread_sigmask(0, [1, 18]); os.execvp(sys.argv[1], sys.argv[1:])"
terminal = Terminal(*TIDEGATE, *PYTHON, LAUNCH, *PYTHON, CHILD)
terminal.until("ready")
assert os.getsid(terminal.pid) == terminal.pid
terminal.keys("end\n")
assert terminal.end() == 7
"#,
    );
}

#[test]
fn ctrl_c_ends_a_child_that_does_not_care() {
    on_a_terminal(
        r#"
terminal = Terminal(*TIDEGATE, "sh", "-c", "echo ready; exec sleep 1000")
terminal.until("ready")
terminal.keys("\x03")
assert terminal.end() == 130
"#,
    );
}

#[test]
fn a_shell_inside_has_job_control() {
    on_a_terminal(
        r#"
terminal = Terminal(*TIDEGATE, "bash", "--norc", "--noprofile", "--noediting", "-i")
terminal.keys("stty -echo; PS1=pro''mpt:\n")
terminal.until("prompt:")
terminal.keys("sh -c 'echo begun; exec sleep 1000'\n")
terminal.until("begun")
job = terminal.front()
terminal.keys("\x1a")
terminal.until("Stopped")
terminal.until("prompt:")
terminal.keys("fg\n")
# bash says so before it hands the terminal over.
terminal.until("exec sleep 1000")
eventually(lambda: terminal.front() == job, "the job is in front again")
terminal.keys("\x03")
terminal.until("prompt:")
terminal.keys("echo code=$?\n")
terminal.until("code=130")
terminal.keys("exit 9\n")
assert terminal.end() == 9
assert b"no job control" not in terminal.said
"#,
    );
}

/// A shell script that notes the terminal's settings around tidegate.
const AROUND: &str = r#"
AROUND = """
import os, subprocess, sys, termios
before = termios.tcgetattr(0), os.tcgetpgrp(0)
code = subprocess.call(sys.argv[1:])
after = termios.tcgetattr(0), os.tcgetpgrp(0)
print("same" if before == after else f"different {before} {after}", code, flush=True)
"""
"#;

#[test]
fn the_terminal_is_handed_back_as_it_was() {
    on_anothers_terminal(&format!(
        "{AROUND}{}",
        r#"
for command, code in [("stty raw -echo; exit 3", 3), ("stty raw -echo; kill -KILL $$", 137), ("exit 0", 0)]:
    terminal = Terminal(*PYTHON, AROUND, *TIDEGATE, "sh", "-c", command)
    terminal.until(f"same {code}")
    assert terminal.end() == 0
# Ended by a Ctrl-C.
terminal = Terminal(*PYTHON, AROUND, *TIDEGATE, "sh", "-c", "stty -echo -icanon; echo ready; exec sleep 1000")
terminal.until("ready")
terminal.keys("\x03")
terminal.until("same 130")
assert terminal.end() == 0
terminal = Terminal(*PYTHON, AROUND, *TIDEGATE, "no-such-program")
terminal.until("same 127")
assert terminal.end() == 0
# An interactive shell gives the terminal to its jobs, and is killed while one has it.
terminal = Terminal(*PYTHON, AROUND, *TIDEGATE, "bash", "--norc", "-ic", "sh -c 'stty raw -echo; kill -KILL $PPID; sleep 1000'; true")
terminal.until("same 137")
assert terminal.end() == 0
"#
    ));
}

#[test]
fn a_shell_around_us_can_stop_and_resume_us() {
    on_anothers_terminal(
        r#"
terminal = Terminal("bash", "--norc", "--noprofile", "-i")
terminal.keys("PS1=; stty -echo\n")
terminal.keys("echo rea''dy\n")
terminal.until("ready")
words = " ".join(TIDEGATE)
CHILD = "trap 'echo INT' INT; echo up; while read word; do echo \"<$word>\"; done; exit 5"
terminal.keys(f"{words} sh -c '{CHILD.replace(chr(39), chr(39) + chr(92) + chr(39) + chr(39))}'\n")
terminal.until("up")
for n in range(3):
    terminal.keys(f"a{n}\n")
    terminal.until(f"<a{n}>")
    terminal.keys("\x1a")
    terminal.until("Stopped")
    assert terminal.front() == terminal.pid, "the shell has the terminal"
    terminal.keys("echo she''ll\n")
    terminal.until("shell")
    if n == 1:
        # In the background it wants to read, and is stopped again for that.
        terminal.keys("bg\n")
        terminal.keys("while kill -0 %1 && ! jobs -s | grep -q Stopped; do sleep 0.05; done; echo again''stopped\n")
        terminal.until("againstopped")
    terminal.keys("fg\n")
    terminal.keys(f"b{n}\n")
    terminal.until(f"<b{n}>")
terminal.keys("\x04")
terminal.keys("echo code=$?\n")
terminal.until("code=5")
terminal.keys("exit\n")
assert terminal.end() == 0
"#,
    );
}

#[test]
fn ctrl_z_where_nobody_could_resume_us_is_discarded() {
    on_a_terminal(
        r#"
# The leader of the session, as in a container: without us the kernel would discard it as well.
terminal = Terminal(*TIDEGATE, "sh", "-c", "echo ready; read word; echo \"<$word>\"; exit 5")
terminal.until("ready")
terminal.keys("\x1a")
terminal.until("^Z")
terminal.keys("on\n")
terminal.until("<on>")
assert terminal.end() == 5
"#,
    );
}

#[test]
fn a_pager_beside_us_keeps_the_terminal() {
    on_a_terminal(
        r#"
PAGER = """
import sys
for text in sys.stdin: print("paged " + text.strip(), flush=True)
print("key " + open("/dev/tty").readline().strip(), flush=True)
"""
import shlex
line = shlex.join(TIDEGATE + ["sh", "-c", "echo one; echo two"]) + " | " + shlex.join(PYTHON + [PAGER])
terminal = Terminal("bash", "--norc", "--noprofile", "-ic", line)
terminal.until("paged two")
terminal.keys("q\n")
terminal.until("key q")
assert terminal.end() == 0
"#,
    );
}

#[test]
fn a_child_in_a_pipeline_gets_the_terminal_when_it_asks() {
    on_a_terminal(
        r#"
import shlex
line = shlex.join(TIDEGATE + ["sh", "-c", "echo ask; read word; echo \"<$word>\""]) + " | cat"
terminal = Terminal("bash", "--norc", "--noprofile", "-ic", line)
terminal.until("ask")
terminal.keys("yes\n")
terminal.until("<yes>")
assert terminal.end() == 0
"#,
    );
}

#[test]
fn a_hangup_reaches_the_child() {
    on_anothers_terminal(
        r#"
reader, writer = os.pipe()
os.set_inheritable(writer, True)
terminal = Terminal(*TIDEGATE, *PYTHON, f"""
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])
print("ready", flush=True)
signal.sigwait([signal.SIGHUP])
os.write({writer}, b"HUP")
""")
os.close(writer)
terminal.until("ready")
os.close(terminal.fd)
assert os.read(reader, 100) == b"HUP"
assert os.waitstatus_to_exitcode(os.waitpid(terminal.pid, 0)[1]) == 0
assert os.read(reader, 100) == b""
"#,
    );
}
