//! One reaper: no zombie stays, no leftover outlives us, no end is lost.

mod child_support;

use child_support::{everywhere, inside_pid_1, namespace, script, under};

/// A child that leaves 10 000 orphans behind, 100 at a time, and looks for zombies.
const ORPHANS: &str = r#"
CHILD = """
import os, sys, time
parent = os.getppid()
def orphans():
    # Those that live, and those that are dead and not reaped.
    found = {"living": 0, "zombies": 0}
    for name in os.listdir("/proc"):
        if not name.isdigit(): continue
        try: fields = open(f"/proc/{name}/stat", "rb").read().rpartition(b")")[2].split()
        except OSError: continue
        if int(fields[1]) != parent or int(name) == os.getpid(): continue
        found["zombies" if fields[0] == b"Z" else "living"] += 1
    return found
for _ in range(100):
    reader, writer = os.pipe()
    middle = os.fork()
    if middle == 0:
        os.close(writer)
        for _ in range(100):
            if os.fork() == 0:
                os.read(reader, 1)
                os._exit(0)
        os._exit(0)
    os.waitpid(middle, 0)
    os.close(writer)
    os.close(reader)
# A second from the last one's end.
last_seen = time.monotonic()
while any((now := orphans()).values()):
    if now["living"]: last_seen = time.monotonic()
    elif time.monotonic() > last_seen + 1: sys.exit(1)
    time.sleep(0.01)
sys.exit(42)
"""
process = start(*PYTHON, CHILD)
assert process.wait() == 42
"#;

#[test]
fn ten_thousand_orphans_leave_no_zombie() {
    script(ORPHANS);
}

#[test]
fn ten_thousand_orphans_leave_no_zombie_of_pid_1() {
    // The script is PID 1 and steps aside by exec, so that tidegate is.
    under(
        &namespace(),
        &ORPHANS
            .replace("process = start(*PYTHON, CHILD)", "os.execv(TIDEGATE[0], TIDEGATE + PYTHON + [CHILD.replace('sys.exit(42)', 'sys.exit(0 if parent == 1 else 2)')])")
            .replace("assert process.wait() == 42", ""),
    );
}

#[test]
fn orphans_are_ours_outside_pid_1_too() {
    script(
        r#"
CHILD = """
import os, time
reader, writer = os.pipe()
if os.fork() == 0:
    middle = os.getpid()
    if os.fork() == 0:
        os.setsid()
        os.read(reader, 1)
        while os.getppid() == middle: time.sleep(0.001)
        os.write(1, f"{os.getppid()}\\n".encode())
        os._exit(0)
    os._exit(0)
os.wait()
os.write(writer, b"x")
import signal
signal.pause()
"""
process = start(*PYTHON, CHILD)
assert int(line(process)) == process.pid
os.kill(process.pid, signal.SIGUSR1)
assert process.wait() == 128 + signal.SIGUSR1
"#,
    );
}

/// SIGCHLD is never pending twice: three hundred ends, the child's among them, come as one.
#[test]
fn an_end_among_hundreds_is_not_lost() {
    everywhere(
        r#"
CHILD = """
import os, sys
middle = os.fork()
if middle == 0:
    for _ in range(300):
        if os.fork() == 0:
            sys.stdin.read(1)
            os._exit(0)
    os._exit(0)
os.waitpid(middle, 0)
print(os.getpid(), flush=True)
sys.stdin.read(1)
os._exit(42)
"""
for with_the_child in (True, False):
    process = start(*PYTHON, CHILD, stdin=subprocess.PIPE)
    main = int(line(process))
    eventually(lambda: len(children(process.pid)) == 301, "the orphans are its")
    orphans = [pid for pid in children(process.pid) if own_pid(pid) != main]
    assert len(orphans) == 300
    os.kill(process.pid, signal.SIGSTOP)
    if with_the_child: process.stdin.close()
    else:
        for pid in orphans: os.kill(pid, signal.SIGKILL)
    eventually(lambda: all((status(pid) or "Z")[0] == "Z" for pid in orphans), "all of them have ended")
    assert len(children(process.pid)) == 301
    os.kill(process.pid, signal.SIGCONT)
    if not with_the_child:
        eventually(lambda: len(children(process.pid)) == 1, "none is left unreaped")
        process.stdin.close()
    assert process.wait() == 42
"#,
    );
}

/// The child's pid is given to another process once the child was reaped. What is sent to us then is for nobody.
#[test]
fn a_pid_that_is_used_again_is_nobody_we_know() {
    inside_pid_1(
        r#"
CHILD = """
import os, signal, sys, time
main = os.getpid()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1])
if os.fork() == 0:
    os.setsid()
    while os.getppid() == main: time.sleep(0.001)
    while True:
        with open("/proc/sys/kernel/ns_last_pid", "w") as last: last.write(str(main - 1))
        pid = os.fork()
        if pid == 0 and os.getpid() == main: break
        if pid == 0: os._exit(0)
        # The one that has the pid stays, and so do we.
        if pid == main: os.waitpid(pid, 0)
        os.waitpid(pid, 0)
    os.write(1, b"used again\\n")
    signal.sigwait([signal.SIGUSR1])
    os.write(1, b"hit\\n")
    os._exit(0)
os._exit(42)
"""
os.environ["TIDEGATE_CHILD_KILL_WAIT"] = "3s"
process = start(*PYTHON, CHILD)
assert line(process) == "used again"
for _ in range(10): os.kill(process.pid, signal.SIGUSR1)
assert process.wait() == 42
assert process.stdout.read() == b""
"#,
    );
}

/// The child leaves processes that hold a pipe open. All are gone when we are.
const LEFTOVERS: &str = r#"
CHILD = """
import os, signal, sys, time
def leave(how):
    if os.fork() == 0:
        how()
        os.write(1, b"ready\\n")
        while True: signal.pause()
def daemon():
    os.setsid()
    if os.fork(): os._exit(0)
leave(lambda: None)
leave(os.setsid)
leave(daemon)
leave(lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN))
leave(lambda: (os.setsid(), signal.signal(signal.SIGTERM, signal.SIG_IGN), signal.signal(signal.SIGHUP, signal.SIG_IGN)))
leave(lambda: (os.write(1, b"ready\\n"), os.kill(os.getpid(), signal.SIGSTOP)))
sys.stdin.readline()
sys.exit(3)
"""
process = start(*PYTHON, CHILD, stdin=subprocess.PIPE)
for _ in range(6): assert line(process) == "ready"
process.stdin.write(b"x\n"); process.stdin.close()
assert process.wait() == 3
os.set_blocking(process.stdout.fileno(), False)
rest = os.read(process.stdout.fileno(), 100)
assert rest in (b"", b"ready\n"), rest
if rest: assert os.read(process.stdout.fileno(), 100) == b""
"#;

#[test]
fn nobody_outlives_us() {
    script(LEFTOVERS);
}

#[test]
fn nobody_outlives_us_without_proc_but_those_who_left_the_group() {
    script(
        r#"
# Seen by a mount namespace of our own, with an empty directory in place of /proc.
launcher = ["unshare", "--mount"] + ([] if os.getuid() == 0 else ["--map-root-user"])
CHILD = "trap '' TERM; (trap '' TERM; while :; do sleep 1; done) & echo ready; exit 3"
command = launcher + ["sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"] + TIDEGATE + ["sh", "-c", CHILD]
process = subprocess.Popen(command, stdout=subprocess.PIPE)
assert line(process) == "ready"
assert process.wait() == 3
os.set_blocking(process.stdout.fileno(), False)
assert os.read(process.stdout.fileno(), 100) == b""
"#,
    );
}

#[test]
fn leftovers_that_keep_forking_are_ended() {
    script(
        r#"
CHILD = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    os.write(1, b"ready\\n")
    # Always one alive, never the same, and faster than /proc is read: only the kernel reaches all of its
    # group at once. Should it get away it ends by itself.
    until = time.monotonic() + 30
    while time.monotonic() < until:
        if os.fork(): os._exit(0)
sys.stdin.readline()
"""
process = start(*PYTHON, CHILD, stdin=subprocess.PIPE)
assert line(process) == "ready"
process.stdin.close()
assert process.wait() == 0
os.set_blocking(process.stdout.fileno(), False)
assert os.read(process.stdout.fileno(), 100) == b""
"#,
    );
}

#[test]
fn processes_that_are_not_ours_are_left_alone() {
    script(
        r#"
stranger = subprocess.Popen(["sleep", "1000"])
process = start("sh", "-c", "sleep 1000 & exit 0")
assert process.wait() == 0
assert stranger.poll() is None
stranger.kill()
stranger.wait()
"#,
    );
}
