//! The child gets what tidegate was given, and its exit code is tidegate's.

mod child_support;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use child_support::{everywhere, run, script, tidegate};

#[test]
fn every_exit_code_is_passed_on() {
    for code in 0..=255 {
        let output = run(&mut tidegate(&["sh", "-c", &format!("exit {code}")]));
        assert_eq!(output.status.code(), Some(code));
    }
}

#[test]
fn a_death_by_signal_is_128_and_its_number() {
    for signal in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 24, 31, 34, 64] {
        let text = format!(
            "import os, resource, signal\n\
             resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n\
             if {signal} != 9: signal.signal({signal}, signal.SIG_DFL)\n\
             os.kill(os.getpid(), {signal})"
        );
        let output = run(&mut tidegate(&["python3", "-S", "-E", "-c", &text]));
        assert_eq!(output.status.code(), Some(128 + signal));
    }
}

#[test]
fn codes_are_the_same_everywhere() {
    everywhere(
        r##"
def code(*command): return subprocess.run(TIDEGATE + list(command), stderr=subprocess.DEVNULL).returncode
for wanted in (0, 1, 42, 125, 126, 127, 128, 255): assert code("sh", "-c", f"exit {wanted}") == wanted
for number in (1, 2, 9, 13, 15, 34):
    end = f"import os, signal; signal.signal({number}, signal.SIG_DFL) if {number} != 9 else None; os.kill(os.getpid(), {number})"
    assert code(*PYTHON, end) == 128 + number, number
assert code("no-such-program") == code("/no/such/program") == 127
assert code("/") == code("/etc/passwd") == 126
"##,
    );
}

/// What is refused, with its exit code and words of the line that says so.
#[test]
fn a_program_that_cannot_run_is_refused_with_a_reason() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, mode: u32, content: &[u8]| {
        let path = directory.path().join(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let mut elf = fs::read("/proc/self/exe").unwrap();
    let loader = b"/lib64/ld-linux-x86-64.so.2";
    if let Some(at) = elf.windows(loader.len()).position(|bytes| bytes == loader) {
        elf[at..at + loader.len()].copy_from_slice(b"/lib64/ld-gone-x86-64.so.99");
    }
    let text = file("text", 0o644, b"hello");
    let script = file("script", 0o755, b"#!/no/such/interpreter -x\n");
    let windows = file("windows", 0o755, b"#!/bin/sh\r\necho hello\r\n");
    let chain = file("chain", 0o755, format!("#!{script}\n").as_bytes());
    let garbage = file("garbage", 0o755, b"hello");
    let unrunnable = file("unrunnable", 0o755, format!("#!{text}\n").as_bytes());
    let loaderless = file("loaderless", 0o755, &elf);
    let below = format!("{text}/below");
    let folder = directory.path().to_str().unwrap();
    for (program, code, words) in [
        (
            "no-such-program",
            127,
            vec!["\"no-such-program\" was not found in PATH"],
        ),
        ("", 127, vec!["\"\" was not found"]),
        (
            "/no/such/program",
            127,
            vec!["/no/such/program", "does not exist"],
        ),
        (&below, 127, vec!["does not exist"]),
        (
            &script,
            127,
            vec![&script, "\"/no/such/interpreter\"", "#! line", "missing"],
        ),
        (&chain, 127, vec![&chain, "\"/no/such/interpreter\""]),
        (&windows, 127, vec!["\"/bin/sh\\r\"", "Unix line endings"]),
        (&loaderless, 127, vec!["ld-gone-x86-64.so.99", "loader", "libc"]),
        (&text, 126, vec![&text, "not executable", "chmod +x"]),
        (&unrunnable, 126, vec![&unrunnable, &text, "not executable"]),
        (folder, 126, vec![folder, "is a directory"]),
        (&garbage, 126, vec![&garbage, "exec format error"]),
    ] {
        let output = run(&mut tidegate(&[program]));
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{program}: {said}");
        let reason = said.lines().last().unwrap_or_default();
        for word in words {
            assert!(reason.contains(word), "{program}: {word:?} is not in {reason:?}");
        }
    }
}

#[test]
fn path_is_searched_as_execvp_does() {
    everywhere(
        r##"
import tempfile
with tempfile.TemporaryDirectory() as here:
    os.chmod(here, 0o755)
    def put(name, mode, text):
        path = os.path.join(here, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f: f.write(text)
        os.chmod(path, mode)
    put("a/forbidden", 0o644, "#!/bin/sh\nexit 3\n")
    put("a/both", 0o644, "#!/bin/sh\nexit 3\n")
    put("b/both", 0o755, "#!/bin/sh\nexit 4\n")
    put("here", 0o755, "#!/bin/sh\nexit 5\n")
    os.makedirs(here + "/a/directory")
    put("b/directory", 0o755, "#!/bin/sh\nexit 6\n")
    def code(name, path):
        env = dict(os.environ, PATH=path)
        return subprocess.run(TIDEGATE + [name], env=env, cwd=here, stderr=subprocess.PIPE).returncode
    both = here + "/a:/nowhere:" + here + "/b"
    assert code("both", both) == 4, "a file without x is passed over"
    assert code("directory", both) == 6, "a directory is passed over"
    assert code("forbidden", both) == 126, "and remembered when there is no other"
    assert code("here", both) == 127
    assert code("here", both + ":") == 5, "an empty entry is the current directory"
    assert code("./here", "/nowhere") == 5
    env = {name: value for name, value in os.environ.items() if name != "PATH"}
    assert subprocess.run(TIDEGATE + ["sh", "-c", "exit 7"], env=env).returncode == 7, "PATH has a default"
"##,
    );
}

/// Mask and dispositions are compared with what the same program sees without tidegate.
#[test]
fn the_child_has_the_mask_and_dispositions_we_were_given() {
    everywhere(
        r##"
LAUNCH = """
import os, signal, sys
blocked, ignored = eval(sys.argv[1])
for s in set(range(1, 65)) - {9, 19, 32, 33}:
    signal.signal(s, signal.SIG_IGN if s in ignored else signal.SIG_DFL)
signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
os.execvp(sys.argv[2], sys.argv[2:])
"""
every = [s for s in range(1, 65) if s not in (9, 19, 32, 33)]
def seen(case, command):
    output = subprocess.run(PYTHON + [LAUNCH, repr(case)] + command, stdout=subprocess.PIPE, check=True).stdout
    return [l for l in output.decode().splitlines() if l.startswith(("SigBlk", "SigIgn", "SigPnd", "ShdPnd"))]
LOOK = ["cat", "/proc/self/status"]
for case in [([], []), ([], [17]), ([], [1, 13]), ([1, 15], [2, 3]), (every, []), ([], every), (every, every), ([34, 64], [35, 63])]:
    direct, through = seen(case, LOOK), seen(case, TIDEGATE + LOOK)
    assert len(direct) == 4 and direct == through, (case, direct, through)
"##,
    );
}

#[test]
fn an_ignored_sigchld_costs_no_exit_code() {
    everywhere(
        r##"
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
with apart(): pid = os.spawnvp(os.P_NOWAIT, TIDEGATE[0], TIDEGATE + ["sh", "-c", "exit 9"])
signal.signal(signal.SIGCHLD, signal.SIG_DFL)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9
"##,
    );
}

#[test]
fn arguments_and_environment_are_passed_byte_for_byte() {
    everywhere(
        r##"
def array(items):
    return (ctypes.c_char_p * (len(items) + 1))(*items, None)
odd = [b"A=1", b"A=2", b"no equals sign", b"=", b"\xff\xfe=\x01\x80", b"EMPTY=", b"PATH=/usr/bin:/bin", b"RUST_BACKTRACE=1"]
command = [b"cat", b"/proc/self/environ", b"/proc/self/cmdline", b"\xff\xfe", b"", b"--", b"--help", b" a\tb\n"]
reader, writer = os.pipe()
pid = fork()
if pid == 0:
    os.dup2(writer, 1)
    look = [word.encode() for word in TIDEGATE] + command
    # cat complains of the odd arguments, which are no files.
    os.close(2)
    libc.execve(look[0], array(look), array(odd))
    os._exit(99)
os.close(writer)
said = b""
while chunk := os.read(reader, 65536): said += chunk
expected = b"\0".join(odd + command) + b"\0"
assert said == expected, (said, expected)
"##,
    );
}

/// Which descriptors the child has open is compared with what it has without tidegate.
#[test]
fn the_child_has_our_descriptors_and_none_we_opened() {
    everywhere(
        r##"
import tempfile
LAUNCH = """
import os, sys
closed, opened = eval(sys.argv[1])
file = os.open("/etc/passwd", os.O_RDONLY)
os.dup2(file, 100, inheritable=False)
os.close(file)
for fd in opened: os.dup2(100, fd)
for fd in closed: os.close(fd)
os.execvp(sys.argv[2], sys.argv[2:])
"""
LOOK = """
import os, sys
links = {}
for fd in range(0, 256):
    try: links[fd] = os.readlink(f"/proc/self/fd/{fd}")
    except OSError: pass
with open(sys.argv[1], "w") as f: f.write(repr(links))
"""
def seen(case, before):
    with tempfile.NamedTemporaryFile() as out:
        os.chmod(out.name, 0o666)
        subprocess.run(PYTHON + [LAUNCH, repr(case)] + before + PYTHON + [LOOK, out.name], check=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return eval(out.read())
for case in [([], []), ([], [7]), ([], [3, 4, 5, 200]), ([0], []), ([2], [7]), ([0, 2], []), ([1, 2], [9]), ([0, 1, 2], [])]:
    direct, through = seen(case, []), seen(case, TIDEGATE)
    assert direct == through, (case, direct, through)
    assert all(fd not in through for fd in case[0]) and all(fd in through for fd in case[1]), (case, through)
"##,
    );
}

#[test]
fn the_child_dies_with_us() {
    script(
        r##"
tidegate = start("sh", "-c", "echo $$; exec sleep 1000")
child = int(line(tidegate))
tidegate.kill()
tidegate.wait()
assert tidegate.stdout.read() == b"", "the child is gone, so its end of the pipe is closed"
"##,
    );
}

#[test]
fn the_child_leads_a_group_of_its_own_in_our_session() {
    script(
        r##"
tidegate = start(*PYTHON, "import os; print(os.getpid(), os.getpgrp(), os.getsid(0), os.getppid())")
pid, group, session, parent = map(int, line(tidegate).split())
assert pid == group and session == os.getsid(0) and parent == tidegate.pid
assert tidegate.wait() == 0
"##,
    );
}
