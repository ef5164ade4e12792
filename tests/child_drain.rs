//! Signals that drain and signals that do not; what a drain's end makes of the exit code.

mod child_support;

use child_support::script;

/// `supervised(flags, child)` starts tidegate with the health port on; `serving` asks it.
const WITH_HEALTH: &str = r#"
import socket, http.client
def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
PORT = free_port()
def supervised(flags, *child, **how):
    how.setdefault("stdout", subprocess.PIPE)
    command = [TIDEGATE[0], "--listen", f"127.0.0.1:{PORT}"] + flags + ["--"] + list(child)
    return subprocess.Popen(command, **how)
def readyz():
    """The status of /readyz; none while nobody listens."""
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=60)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status
    except OSError:
        return None
    finally:
        connection.close()
"#;

fn with_health(text: &str) {
    script(&format!("{WITH_HEALTH}\n{text}"));
}

/// Programs send these to themselves (Go's preemption, urgent data) and terminals send WINCH.
#[test]
fn a_flood_of_urg_and_winch_starts_no_drain() {
    with_health(
        r#"
CHILD = """
import os, signal, sys
taken = [signal.SIGURG, signal.SIGWINCH, signal.SIGUSR2]
signal.pthread_sigmask(signal.SIG_BLOCK, taken)
os.write(1, b"ready\\n")
seen = set()
while signal.SIGUSR2 not in seen: seen.add(signal.sigwait(taken))
sys.exit(42 if len(seen) == 3 else 1)
"""
process = supervised([], *PYTHON, CHILD)
assert line(process) == "ready"
eventually(lambda: readyz() == 200, "it serves")
for _ in range(50_000):
    os.kill(process.pid, signal.SIGURG)
    os.kill(process.pid, signal.SIGWINCH)
assert readyz() == 200, "no drain has begun"
os.kill(process.pid, signal.SIGUSR2)
assert process.wait() == 42
"#,
    );
}

#[test]
fn tstp_reaches_a_child_that_traps_it() {
    with_health(
        r#"
process = supervised([], "bash", "-c", "trap 'echo TSTP' TSTP; trap 'exit 6' USR1; echo ready; while :; do read -t 0.05 <> <(:); done")
assert line(process) == "ready"
for _ in range(3):
    os.kill(process.pid, signal.SIGTSTP)
    assert line(process) == "TSTP"
eventually(lambda: readyz() == 200, "and it still serves")
os.kill(process.pid, signal.SIGUSR1)
assert process.wait() == 6
"#,
    );
}

#[test]
fn signals_go_to_the_group_only_if_asked_to() {
    with_health(
        r#"
CHILD = """
import os, signal, sys
both = [signal.SIGUSR1, signal.SIGTERM]
signal.pthread_sigmask(signal.SIG_BLOCK, both)
name = b"leader" if os.fork() else b"member"
os.write(1, name + b" ready\\n")
while True:
    number = signal.sigwait(both)
    os.write(1, name + b" %d\\n" % number)
    if number == signal.SIGTERM: break
if name == b"leader": os.wait()
sys.exit(5)
"""
def said(process, count):
    return sorted(line(process) for _ in range(count))
config = "{child: {signalGroup: true}, drain: {propagation: 0s, quiet: 0s}}"
process = supervised([], *PYTHON, CHILD, env=dict(os.environ, TIDEGATE_CONFIG=config))
assert said(process, 2) == ["leader ready", "member ready"]
os.kill(process.pid, signal.SIGUSR1)
assert said(process, 2) == ["leader 10", "member 10"]
os.kill(process.pid, signal.SIGTERM)
assert said(process, 2) == ["leader 15", "member 15"]
assert process.wait() == 5
process = supervised(["--propagation", "0s", "--quiet", "0s"], *PYTHON, CHILD)
assert said(process, 2) == ["leader ready", "member ready"]
os.kill(process.pid, signal.SIGUSR1)
os.kill(process.pid, signal.SIGTERM)
assert said(process, 2) == ["leader 10", "leader 15"]
# It waits for its member, which has heard nothing; the test ends it.
[leader] = children(process.pid)
[member] = children(leader)
os.kill(member, signal.SIGKILL)
assert process.wait() == 5
"#,
    );
}

#[test]
fn a_child_killed_by_the_deadline_is_137_and_we_say_so() {
    with_health(
        r#"
import json, tempfile
with tempfile.TemporaryDirectory() as directory:
    told = os.path.join(directory, "termination-log")
    open(told, "w").close()
    config = f"{{terminationGracePeriodSeconds: 3, drain: {{propagation: 0s, quiet: 0s}}, telemetry: {{terminationLog: '{told}'}}}}"
    process = supervised([], "sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.05; done", stderr=subprocess.PIPE,
        env=dict(os.environ, TIDEGATE_CONFIG=config))
    assert line(process) == "ready"
    begin = time.monotonic()
    os.kill(process.pid, signal.SIGTERM)
    said = process.communicate()[1].decode()
    assert process.returncode == 137, said
    assert time.monotonic() - begin < 3, "the kubelet would have been first"
    assert "still there near the deadline: SIGKILL" in said and "killed by SIGKILL (9)" in said, said
    report = json.load(open(told))
    assert report["exitCode"] == 137 and "SIGKILL" in report["message"], report
"#,
    );
}

#[test]
fn a_code_that_counts_as_success_is_0_and_others_stay() {
    with_health(
        r#"
config = dict(os.environ, TIDEGATE_CONFIG="{child: {successCodes: [143, 9]}, drain: {propagation: 0s, quiet: 0s}}")
process = supervised([], "sh", "-c", "echo ready; exec sleep 1000", env=config)
assert line(process) == "ready"
os.kill(process.pid, signal.SIGTERM)
assert process.wait() == 0
for code, told in [(0, 0), (9, 0), (10, 10), (137, 137)]:
    assert supervised([], "sh", "-c", f"exit {code}", env=config).wait() == told
"#,
    );
}

/// No wake-up at all: not one context switch, with the health port on.
#[test]
fn an_idle_supervisor_never_wakes_up() {
    with_health(
        r#"
process = supervised([], "sh", "-c", "echo ready; exec sleep 1000", stderr=subprocess.DEVNULL)
assert line(process) == "ready"
eventually(lambda: readyz() == 200, "it serves")
def switches():
    with open(f"/proc/{process.pid}/status") as f:
        return sum(int(l.split()[1]) for l in f if "ctxt_switches" in l)
# Until the connection above is forgotten.
def is_still():
    before = switches()
    time.sleep(1)
    return switches() == before
eventually(is_still, "it comes to rest")
before = switches()
time.sleep(10)
assert switches() == before, f"{switches() - before} context switches in 10 idle seconds"
process.kill()
process.wait()
"#,
    );
}
