//! A whole drain, from SIGTERM to the exit, where little is allowed.

mod child_support;

use child_support::{is_root, namespace, script};

/// `drains(launcher, prepare)` runs one under a launcher, with `prepare` called in the new process.
const DRAINS: &str = r#"
import http.client, shutil, socket, tempfile
def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
def readyz(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status
    except OSError:
        return None
    finally:
        connection.close()
# The child leaves a process behind, which has to be gone as well.
CHILD = "trap 'exit 3' TERM; sleep 1000 & echo ready; while :; do sleep 0.02; done"
def drains(launcher=[], prepare=None):
    with tempfile.TemporaryDirectory() as directory:
        # A user without privileges may not enter where we were built.
        os.chmod(directory, 0o755)
        binary = shutil.copy(TIDEGATE[0], directory)
        port = free_port()
        flags = ["--listen", f"127.0.0.1:{port}", "--grace-period", "30s", "--propagation", "500ms"]
        process = subprocess.Popen(launcher + [binary] + flags + ["--", "sh", "-c", CHILD], preexec_fn=prepare, cwd="/",
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if line(process) != "ready":
            process.kill()
            raise AssertionError(process.stderr.read().decode())
        eventually(lambda: readyz(port) == 200, "it serves")
        begin = time.monotonic()
        os.kill(process.pid, signal.SIGTERM)
        eventually(lambda: readyz(port) == 503, "it says that it leaves")
        assert process.poll() is None
        # The output is closed only when the leftovers are gone.
        rest, said = process.communicate(timeout=60)
        took = time.monotonic() - begin
        assert process.returncode == 3 and rest == b"", (process.returncode, rest, said.decode())
        assert 0.5 <= took < 24, (took, said.decode())
        return said.decode()
NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"] if os.getuid() == 0 else ["setpriv"]
BARE = NOBODY + ["--no-new-privs", "--inh-caps", "-all", "--ambient-caps", "-all"] + (["--bounding-set", "-all"] if os.getuid() == 0 else [])
NO_PROC = "mount -t tmpfs none /proc"
READ_ONLY = "mount -o remount,bind,ro /"
def mounted(*commands):
    """A mount namespace that the commands have changed."""
    user = [] if os.getuid() == 0 else ["--map-root-user"]
    return ["unshare", "--mount"] + user + ["sh", "-c", " && ".join(commands + ('exec "$@"',)), "sh"]
def few_descriptors():
    import resource
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

PIDFD_AND_THE_LIKE = [424, 434, 438, 436, 435]
def deny(numbers=PIDFD_AND_THE_LIKE, errno=38):
    """Answers ENOSYS to the calls (or another errno), as an old kernel or a strict seccomp profile does: without another word to
    the pidfd calls, close_range and clone3, whose numbers all architectures share (since 5.0)."""
    ALLOW, ERRNO = 0x7FFF0000, 0x00050000
    LOAD_NUMBER, EQUAL, RETURN = 0x20, 0x15, 0x06
    program = [(LOAD_NUMBER, 0, 0, 0)]
    for left, number in reversed(list(enumerate(reversed(numbers)))):
        program.append((EQUAL, left + 1, 0, number))
    program += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, ERRNO | errno)]
    code = b"".join(struct.pack("HBBI", *step) for step in program)
    held = ctypes.create_string_buffer(code)
    filter = struct.pack("HxxxxxxQ", len(program), ctypes.addressof(held))
    PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, MODE_FILTER = 38, 22, 2
    assert libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    assert libc.prctl(PR_SET_SECCOMP, MODE_FILTER, ctypes.c_char_p(filter), 0, 0) == 0
    assert libc.syscall(numbers[0], -1, -1, -1, -1) == -1 and ctypes.get_errno() == errno
"#;

fn hostile(text: &str) {
    script(&format!("{DRAINS}\n{text}"));
}

#[test]
fn a_read_only_root_drains() {
    hostile("drains(mounted(READ_ONLY))");
}

#[test]
fn no_proc_drains() {
    hostile("drains(mounted(NO_PROC))");
}

#[test]
fn nobody_without_privileges_and_capabilities_drains() {
    hostile("drains(BARE)");
}

#[test]
fn an_old_kernels_calls_are_enough() {
    hostile("drains(prepare=deny)");
}

#[test]
fn a_refused_subreaper_is_said_and_not_fatal() {
    hostile(
        r#"
PRCTL = {"x86_64": 157, "aarch64": 167}[os.uname().machine]
process = subprocess.Popen(TIDEGATE + ["sh", "-c", "exit 3"], preexec_fn=lambda: deny([PRCTL]), stderr=subprocess.PIPE)
said = process.communicate(timeout=60)[1].decode()
assert process.returncode == 3, (process.returncode, said)
assert "refused the role of a subreaper" in said and "Function not implemented" in said, said
"#,
    );
}

#[test]
fn sixty_four_descriptors_drain() {
    hostile("drains(prepare=few_descriptors)");
}

#[test]
fn all_of_it_at_once_drains() {
    hostile(
        r#"
# Without privileges of its own the user namespace has taken them already.
bare = BARE if os.getuid() == 0 else []
def prepare():
    few_descriptors()
    if os.getuid() == 0: deny()
drains(mounted(NO_PROC, READ_ONLY) + bare, prepare)
"#,
    );
}

/// A child that has become another user cannot be signalled by an unprivileged tidegate. In a container
/// it ends with PID 1.
#[test]
fn a_child_of_another_user_is_said_and_not_fatal() {
    // Without root the kernel's answer is made by seccomp: a_signal_that_is_refused_is_said_and_not_fatal.
    assert!(
        is_root(),
        "a program that becomes another user takes root to make: run this test as root"
    );
    hostile(
        r#"
with tempfile.TemporaryDirectory() as directory:
    os.chmod(directory, 0o755)
    binary = shutil.copy(TIDEGATE[0], directory)
    become = shutil.copy(shutil.which("setpriv"), directory)
    os.chown(become, 0, 0)
    os.chmod(become, 0o4755)
    CHILD = ["sh", "-c", "echo ready; exec sleep 1000"]
    pid_1 = ["unshare", "--fork", "--pid", "--mount-proc", "--kill-child"]
    flags = ["--listen", "off", "--grace-period", "3s", "--propagation", "0s", "--quiet", "0s"]
    process = subprocess.Popen(pid_1 + NOBODY + [binary] + flags + ["--", become, "--ruid", "0", "--euid", "0"] + CHILD,
        cwd="/", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert line(process) == "ready"
    [tidegate] = children(process.pid)
    os.kill(tidegate, signal.SIGUSR1)
    time.sleep(0.1)
    assert process.poll() is None, "a refusal ends nothing"
    begin = time.monotonic()
    os.kill(tidegate, signal.SIGTERM)
    said = process.communicate(timeout=60)[1].decode()
    assert process.returncode == 137, (process.returncode, said)
    assert time.monotonic() - begin < 3, said
    for name in ("SIGUSR1", "SIGTERM", "SIGKILL"):
        assert f"{name} was refused by process" in said and "CAP_KILL" in said, said
    assert "the program could not be ended" in said, said
"#,
    );
}

/// As PID 1, so that the child ends with us. Needs no root.
#[test]
fn a_signal_that_is_refused_is_said_and_not_fatal() {
    let namespace = namespace();
    hostile(&format!(
        r#"
PID_1 = {namespace:?}
def deny_signals():
    """EPERM to kill and rt_sigqueueinfo, as those get it who lack CAP_KILL."""
    deny({{"x86_64": [62, 129], "aarch64": [129, 138]}}[os.uname().machine], errno=1)
CHILD = ["sh", "-c", "echo ready; exec sleep 1000"]
FLAGS = ["--listen", "off", "--grace-period", "3s", "--propagation", "0s", "--quiet", "0s"]
process = subprocess.Popen(PID_1 + TIDEGATE[:1] + FLAGS + ["--"] + CHILD, preexec_fn=deny_signals,
    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
assert line(process) == "ready"
[tidegate] = children(process.pid)
os.kill(tidegate, signal.SIGUSR1)
os.kill(tidegate, signal.SIGTERM)
said = process.communicate(timeout=60)[1].decode()
assert process.returncode == 137, (process.returncode, said)
for name in ("SIGUSR1", "SIGTERM", "SIGKILL"):
    assert f"{{name}} was refused by process" in said and "CAP_KILL" in said, said
"#
    ));
}
