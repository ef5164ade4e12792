//! As PID 1 of a namespace of its own, as in a container.

mod child_support;

use child_support::{namespace, under};

/// Runs tidegate as PID 1 around a Python child; the child's exit code is the verdict.
fn as_pid_1(child: &str) {
    let child = format!("import os, signal, subprocess, sys, time\nassert os.getppid() == 1\n{child}");
    under(
        &namespace(),
        &format!("os.execv(TIDEGATE[0], TIDEGATE + PYTHON + [{child:?}])"),
    );
}

#[test]
fn the_exit_code_is_the_childs() {
    as_pid_1("sys.exit(0)");
}

#[test]
fn signals_from_inside_the_container_are_forwarded() {
    as_pid_1(
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, 40])\n\
         os.kill(1, signal.SIGUSR1)\nos.kill(1, 40)\n\
         got = {int(signal.sigwait([signal.SIGUSR1, 40])) for _ in range(2)}\n\
         sys.exit(0 if got == {int(signal.SIGUSR1), 40} else 1)",
    );
}

#[test]
fn everyone_in_the_namespace_ends_with_us() {
    let text = r#"
# The pipe's other end is outside; when the namespace is gone nobody holds it.
CHILD = "import os, signal, sys\nif os.fork() == 0:\n os.setsid()\n signal.signal(signal.SIGTERM, signal.SIG_IGN)\n os.write(1, b'ready\\n')\n while True: signal.pause()\nsys.stdin.readline()\nsys.exit(4)"
process = subprocess.Popen(LAUNCHER + TIDEGATE + PYTHON + [CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
assert line(process) == "ready"
process.stdin.close()
assert process.wait() == 4
os.set_blocking(process.stdout.fileno(), False)
assert os.read(process.stdout.fileno(), 100) == b""
"#;
    child_support::script(&format!("LAUNCHER = {:?}\n{text}", namespace()));
}
