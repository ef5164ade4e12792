//! Where little is allowed: few descriptors, no privileges, no /proc, nothing writable.

mod child_support;

use child_support::{is_root, script};

/// Runs what follows in a mount namespace that `prepare` has changed.
fn mounted(prepare: &str, text: &str) {
    let user = if is_root() { "" } else { "--map-root-user" };
    script(&format!(
        r##"
LAUNCHER = ["unshare", "--mount"] + "{user}".split() + ["sh", "-c", {prepare:?} + ' && exec "$@"', "sh"]
{text}
"##
    ));
}

#[test]
fn sixty_four_descriptors_are_enough() {
    script(
        r##"
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
assert start("sh", "-c", 'test "$(ulimit -n)" = 64 && exit 8').wait() == 8
"##,
    );
}

#[test]
fn an_unprivileged_user_is_enough() {
    let text = r##"
launcher = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--no-new-privs"] if os.getuid() == 0 else []
import shutil, tempfile
with tempfile.TemporaryDirectory() as directory:
    os.chmod(directory, 0o755)
    copy = shutil.copy(TIDEGATE[0], directory)
    process = subprocess.run(launcher + [copy] + TIDEGATE[1:] + ["sh", "-c", "sleep 1000 & exit 8"], cwd="/")
    assert process.returncode == 8, process
"##;
    script(text);
}

#[test]
fn a_refusal_is_explained_without_proc() {
    mounted(
        "mount -t tmpfs none /proc",
        r##"
import tempfile
with tempfile.NamedTemporaryFile("w", suffix=".sh", delete=False) as f: f.write("#!/no/such/thing\n")
os.chmod(f.name, 0o755)
process = subprocess.run(LAUNCHER + TIDEGATE + [f.name], stderr=subprocess.PIPE)
os.unlink(f.name)
assert process.returncode == 127 and b'"/no/such/thing"' in process.stderr, process
assert subprocess.run(LAUNCHER + TIDEGATE + ["sh", "-c", "exit 8"]).returncode == 8
"##,
    );
}

#[test]
fn a_read_only_root_is_enough() {
    mounted(
        "mount -o remount,bind,ro /",
        r##"assert subprocess.run(LAUNCHER + TIDEGATE + ["sh", "-c", "! touch /etc/x 2>/dev/null && exit 8"]).returncode == 8"##,
    );
}

#[test]
fn a_noexec_mount_is_named() {
    mounted(
        "mount -t tmpfs -o noexec none /mnt && cp /bin/true /mnt/true",
        r##"
process = subprocess.run(LAUNCHER + TIDEGATE + ["/mnt/true"], stderr=subprocess.PIPE)
assert process.returncode == 126 and b"noexec" in process.stderr, process
"##,
    );
}

#[test]
fn the_process_limit_is_ours_to_explain() {
    // Limits do not hold for root, so root steps down first.
    script(
        r##"
import resource, shutil, tempfile
with tempfile.TemporaryDirectory() as directory:
    os.chmod(directory, 0o755)
    copy = shutil.copy(TIDEGATE[0], directory)
    def alone():
        if os.getuid() == 0:
            os.setgid(64321); os.setuid(64321)
        resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
    process = subprocess.run([copy] + TIDEGATE[1:] + ["true"], preexec_fn=alone, stderr=subprocess.PIPE, cwd="/")
    assert process.returncode == 125 and b"RLIMIT_NPROC" in process.stderr, process

    # The program has used up what there is: a lookup and a read fail for want of a thread, and nothing else does.
    def full():
        if os.getuid() == 0:
            os.setgid(64322); os.setuid(64322)
        resource.setrlimit(resource.RLIMIT_NPROC, (2, 2))
    config = """
terminationGracePeriodSeconds: 4
drain: {propagation: 100ms, quiet: 100ms, pollInterval: 50ms}
child: {stopTimeout: 500ms, killWait: 500ms}
health: {listen: off, checks: [{name: db, tcp: "db.invalid:1", interval: 100ms}]}
inflight: [{file: {path: /etc/hostname}}]
"""
    process = subprocess.Popen([copy] + TIDEGATE[1:] + ["sleep", "600"], preexec_fn=full, stderr=subprocess.PIPE, cwd="/",
                               env=dict(os.environ, TIDEGATE_CONFIG=config))
    said = b""
    while b"check db failed" not in said:
        line = process.stderr.readline()
        assert line, said
        said += line
    process.terminate()
    said += process.stderr.read()
    assert process.wait() == 143, (process.returncode, said)
    assert b"no thread could be made for it" in said and b"/etc/hostname: it could not be read" in said, said
    assert b"internal error" not in said and b"verdict=deadline" in said, said
"##,
    );
}
