//! Runs Python scripts beside the real binary: they start it, send it signals and look at
//! what its child sees, which takes a handful of lines there.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// No test takes longer, not on a slow machine either.
const PATIENCE: Duration = Duration::from_secs(120);

/// What every script begins with. `TIDEGATE` is the command line up to the child's.
const PRELUDE: &str = r#"
import os, sys, signal, subprocess, time, select, struct, ctypes
BINARY = os.environ.pop("TEST_TIDEGATE")
TIDEGATE = [BINARY, "run", "--listen", "off", "--"]
PID_1 = False
class apart:
    """Around what starts a process in another way than by subprocess: see AS_PID_1."""
    def __enter__(self): pass
    def __exit__(self, *why): pass
def fork(how=os.fork): return how()
PYTHON = [sys.executable, "-S", "-E", "-c"]
libc = ctypes.CDLL(None, use_errno=True)
# A shell without job control starts what it puts in the background with these ignored (POSIX 2.11), tests too.
for number in (signal.SIGINT, signal.SIGQUIT): signal.signal(number, signal.SIG_DFL)

def eventually(holds, what):
    """Looks until it holds; for what nobody tells us of."""
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end, "never: " + what
        time.sleep(0.005)

def status(pid):
    try:
        with open(f"/proc/{pid}/stat", "rb") as f:
            fields = f.read().rpartition(b")")[2].split()
        return fields[0].decode(), int(fields[1])
    except (FileNotFoundError, ProcessLookupError):
        return None

def children(parent):
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [pid for pid in pids if (status(pid) or (0, 0))[1] == parent]

def own_pid(pid):
    """What the process calls itself, in its own namespace. Pids begin anew when they are used up, so their order says
    nothing of age."""
    with open(f"/proc/{pid}/status") as f:
        return int(next(line for line in f if line.startswith("NSpid:")).split()[-1])

def start(*command, **how):
    how.setdefault("stdout", subprocess.PIPE)
    return subprocess.Popen(TIDEGATE + list(command), **how)

def line(process):
    return process.stdout.readline().decode().strip()
"#;

/// Makes every tidegate that a script starts PID 1 of a namespace of its own, with the `/proc` of that, as in a
/// container. The script stays outside and sees tidegate's pid there.
const AS_PID_1: &str = r#"
PID_1 = True
NEWNS, NEWPID, PRIVATE_BELOW = 0x20000, 0x20000000, 0x44000
HERE = os.open("/proc/self/ns/pid", os.O_RDONLY)
class apart:
    def __enter__(self): assert libc.unshare(NEWPID) == 0, os.strerror(ctypes.get_errno())
    def __exit__(self, *why): assert libc.setns(HERE, NEWPID) == 0, os.strerror(ctypes.get_errno())

def own_proc():
    assert libc.unshare(NEWNS) == 0
    assert libc.mount(b"none", b"/", None, PRIVATE_BELOW, None) == 0
    assert libc.mount(b"proc", b"/proc", b"proc", 0, None) == 0

def fork(how=os.fork):
    assert libc.unshare(NEWPID) == 0
    forked = how()
    pid = forked if how is os.fork else forked[0]
    if pid == 0: own_proc()
    else: assert libc.setns(HERE, NEWPID) == 0
    return forked

class Popen(subprocess.Popen):
    def __init__(self, command, **how):
        if BINARY not in command: return super().__init__(command, **how)
        before = how.pop("preexec_fn", None)
        def within():
            own_proc()
            if before: before()
        with apart(): super().__init__(command, preexec_fn=within, **how)
subprocess.Popen = Popen
"#;

/// Runs a script to its end; it has to end well. Returns what it printed.
pub fn script(text: &str) -> String {
    under(&[], text)
}

/// As [`script`], under a launcher such as `unshare`.
pub fn under(launcher: &[&str], text: &str) -> String {
    let words: Vec<&str> = launcher
        .iter()
        .copied()
        .chain(["python3", "-S", "-E", "-c"])
        .collect();
    let mut command = Command::new(words[0]);
    command
        .args(&words[1..])
        .arg(format!("{PRELUDE}\n{text}"))
        .env("TIDEGATE_ADMIN_SOCKET", "off")
        .env("TEST_TIDEGATE", env!("CARGO_BIN_EXE_tidegate"));
    let output = run(&mut command);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "the script ended with {}\nstdout: {said}\nstderr: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    said
}

/// `tidegate run --listen off -- CMD`
#[allow(dead_code, reason = "each test file compiles its own copy of this one")]
pub fn tidegate(command: &[&str]) -> Command {
    let mut tidegate = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    tidegate
        .args(["run", "--listen", "off", "--"])
        .args(command)
        .env("TIDEGATE_ADMIN_SOCKET", "off");
    tidegate
}

/// Runs a command to its end, with a bound.
pub fn run(command: &mut Command) -> Output {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap_or_else(|why| panic!("{command:?}: {why}"));
    let (stdout, stderr) = (gather(child.stdout.take()), gather(child.stderr.take()));
    let (sender, ended) = mpsc::channel();
    let pid = child.id();
    thread::spawn(move || sender.send(child.wait()));
    let status = match ended.recv_timeout(PATIENCE) {
        Ok(status) => status.expect("the status of our own child"),
        Err(_) => {
            let group = Pid::from_raw(pid.cast_signed());
            let _ = killpg(group, Signal::SIGKILL);
            panic!("{command:?} did not end within {PATIENCE:?}")
        }
    };
    let gathered = |bytes: mpsc::Receiver<Vec<u8>>| {
        bytes
            .recv_timeout(PATIENCE)
            .unwrap_or_else(|_| panic!("{command:?} left a process behind that holds its output open"))
    };
    Output {
        status,
        stdout: gathered(stdout),
        stderr: gathered(stderr),
    }
}

fn gather(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<Vec<u8>> {
    let (sender, bytes) = mpsc::channel();
    let mut pipe = pipe.expect("asked for");
    thread::spawn(move || {
        let mut all = Vec::new();
        let _ = pipe.read_to_end(&mut all);
        sender.send(all)
    });
    bytes
}

/// Words that make a launcher a new PID namespace with its own `/proc`, as root or not.
#[allow(dead_code, reason = "each test file compiles its own copy of this one")]
pub fn namespace() -> Vec<&'static str> {
    let mut words = vec!["unshare", "--fork", "--pid", "--mount-proc", "--kill-child"];
    if !is_root() {
        words.push("--map-root-user");
    }
    words
}

/// Runs a script in every surrounding that tidegate has in the field: as a plain process, as PID 1 of a namespace of
/// its own, and as a user without privileges.
#[allow(dead_code, reason = "each test file compiles its own copy of this one")]
pub fn everywhere(text: &str) {
    inside_pid_1(text);
    outside_pid_1(text);
}

/// Each tidegate of the script is PID 1.
#[allow(dead_code, reason = "each test file compiles its own copy of this one")]
pub fn inside_pid_1(text: &str) {
    let launcher: &[&str] = if is_root() {
        &[]
    } else {
        &["unshare", "--map-root-user"]
    };
    under(launcher, &format!("{AS_PID_1}\n{text}"));
}

/// The same without the namespace: for what PID 1 cannot do (be stopped), or only a real container's can (have the
/// terminal's session).
#[allow(dead_code, reason = "each test file compiles its own copy of this one")]
pub fn outside_pid_1(text: &str) {
    script(text);
    as_nobody(text);
}

/// As a user without privileges.
#[allow(dead_code, reason = "each test file compiles its own copy of this one")]
pub fn as_nobody(text: &str) {
    // A user without privileges may not enter where we were built.
    let nobody = r#"
import shutil, tempfile
directory = tempfile.TemporaryDirectory()
os.chmod(directory.name, 0o755)
BINARY = TIDEGATE[0] = shutil.copy(BINARY, directory.name)
os.chdir("/")
# Nor where others keep their programs.
os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
PYTHON[0] = shutil.which("python3") or PYTHON[0]
if os.getuid() == 0: TIDEGATE = [shutil.which("setpriv"), "--reuid", "65534", "--regid", "65534", "--clear-groups", "--no-new-privs"] + TIDEGATE
"#;
    script(&format!("{nobody}\n{text}"));
}

/// Whether the tests run as root.
#[allow(dead_code, reason = "each test file compiles its own copy of this one")]
pub fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}
