//! The admin socket: for its owner alone, never stolen, never fatal, and not moved by what clients send.

mod support;

use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use support::children::{ASKED, TOLD, telling};
use support::client::{Client, SOCKET};
use support::config::ROOMY;
use support::patience::eventually;
use support::processes::peak_memory_kib;
use support::{Running, Signal, Tidegate};

/// Somebody who is neither us nor root.
const STRANGER: u32 = 65534;

fn wrapping() -> Tidegate {
    Tidegate::wrapping(telling(&[])).config(ROOMY.unmeasured())
}

fn at(socket: impl AsRef<Path>) -> Tidegate {
    wrapping().env(SOCKET, socket.as_ref())
}

/// Runs it to its end; without a socket everything else is as ever.
fn goes_on_without(mut tidegate: Running, reason: &str) {
    tidegate.child();
    let line = tidegate.stderr.wait_for("no admin socket");
    assert!(line.text.contains(reason), "{}", line.text);
    assert!(line.text.contains("admin.socket"), "the mend: {}", line.text);
    tidegate.signal(Signal::SIGTERM);
    assert_eq!(tidegate.wait().code(), TOLD);
    assert_eq!(tidegate.stderr.with("no admin socket").len(), 1);
}

/// Other users can be had by root only.
fn are_we_root() -> bool {
    let root = nix::unistd::geteuid().is_root();
    if !root {
        eprintln!("not run: it takes root to be somebody else");
    }
    root
}

fn as_stranger(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("setpriv");
    let stranger = STRANGER.to_string();
    command
        .args([
            "--reuid",
            &stranger,
            "--regid",
            &stranger,
            "--clear-groups",
            program,
        ])
        .args(arguments);
    command
}

/// As [`telling`], for a user who may not read our files.
fn plain() -> [&'static str; 3] {
    [
        "sh",
        "-c",
        "trap 'exit 3' TERM; echo ready $$; while :; do sleep 0.1; done",
    ]
}

fn open_to_all(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("our own file");
}

#[test]
fn it_is_its_owners_alone_and_gone_at_the_end() {
    let mut tidegate = wrapping().start();
    tidegate.child();
    tidegate.status();
    let socket = tidegate.socket();
    let mode = socket.metadata().expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    tidegate.signal(Signal::SIGTERM);
    assert_eq!(tidegate.wait().code(), TOLD);
    assert!(!socket.exists());
}

#[test]
fn off_is_off() {
    let mut tidegate = at("off").start();
    tidegate.child();
    tidegate.signal(Signal::SIGTERM);
    assert_eq!(tidegate.wait().code(), TOLD);
    assert_eq!(tidegate.stderr.with("admin").len(), 0);
}

#[test]
fn a_live_one_is_not_stolen() {
    let first = wrapping().start();
    first.child();
    let pid = first.status()["child"]["pid"].clone();
    goes_on_without(at(first.socket()).start(), "another tidegate answers there");
    assert_eq!(first.status()["child"]["pid"], pid, "the first still answers");
}

#[test]
fn a_stale_one_is_replaced() {
    let room = tempfile::tempdir().expect("a directory");
    let socket = room.path().join("admin.sock");
    let mut killed = at(&socket).start();
    killed.child();
    eventually("the socket", || socket.exists().then_some(()));
    killed.signal(Signal::SIGKILL);
    killed.wait();
    assert!(socket.exists(), "nobody was there to remove it");
    let second = at(&socket).start();
    let child = second.child();
    let ended = Client::at(&socket, &["status", "-o", "json"]).end();
    assert!(ended.stdout.contains(&format!("\"pid\":{child}")), "{ended:?}");
}

#[test]
fn what_is_in_the_way_is_left_alone() {
    let room = tempfile::tempdir().expect("a directory");
    let file = room.path().join("admin.sock");
    std::fs::write(&file, "precious").expect("written");
    goes_on_without(at(&file).start(), "a file that is not a socket");
    assert_eq!(std::fs::read(&file).expect("there"), b"precious");
    goes_on_without(at(room.path().join("a/b")).start(), "No such file or directory");
    let long = room.path().join("x".repeat(120));
    goes_on_without(at(long).start(), "File name too long");
}

#[test]
fn an_unwritable_place_is_said_and_not_fatal() {
    if !are_we_root() {
        return;
    }
    let room = tempfile::tempdir().expect("a directory");
    open_to_all(room.path(), 0o755);
    let stranger = STRANGER.to_string();
    let tidegate = Tidegate::wrapping(plain())
        .through(["setpriv", "--reuid", &stranger, "--clear-groups"])
        .argument("--listen=off")
        .argument("--propagation=100ms")
        .env(SOCKET, room.path().join("admin.sock"))
        .start();
    goes_on_without(tidegate, "Permission denied");
}

/// A mount namespace of its own, in which the script sets the stage.
fn on_stage(stage: &str) -> [String; 6] {
    let script = format!("set -e; mount --make-rprivate /; {stage}; exec \"$@\"");
    ["unshare", "-m", "sh", "-c", &script, "sh"].map(str::to_owned)
}

#[test]
fn a_read_only_root_is_said_and_not_fatal() {
    if !are_we_root() {
        return;
    }
    let stage = "for d in / /run /tmp; do mount --bind $d $d; mount -o remount,bind,ro $d; done";
    let tidegate = wrapping().through(on_stage(stage)).env(SOCKET, "auto").start();
    goes_on_without(tidegate, "Read-only file system");
}

#[test]
fn auto_is_run_where_it_can_be_and_both_sides_find_it() {
    if !are_we_root() {
        return;
    }
    let tidegate = wrapping()
        .through(on_stage("mount -t tmpfs tmpfs /run"))
        .env(SOCKET, "auto")
        .start();
    let child = tidegate.child();
    let inside = |command: &[&str]| {
        let pid = tidegate.pid().to_string();
        let mut nsenter = Command::new("nsenter");
        nsenter.args(["-t", &pid, "-m"]).args(command).env(SOCKET, "");
        Client::start(nsenter).end()
    };
    eventually("the socket", || {
        inside(&["test", "-S", "/run/tidegate/admin.sock"])
            .status
            .success()
            .then_some(())
    });
    let said = inside(&[env!("CARGO_BIN_EXE_tidegate"), "status", "-o", "json"]);
    assert!(said.stdout.contains(&format!("\"pid\":{child}")), "{said:?}");
    let mode = inside(&["stat", "-c", "%a", "/run/tidegate", "/run/tidegate/admin.sock"]);
    assert_eq!(mode.stdout, "700\n600\n");
}

#[test]
fn auto_is_a_directory_of_our_own_under_tmp_where_run_is_not_ours() {
    if !are_we_root() {
        return;
    }
    let stranger = STRANGER.to_string();
    let stage = "mount -t tmpfs -o ro tmpfs /run; [ ! -e /tmp/tidegate-65534 ] || mount -t tmpfs -o mode=700,uid=65534 tmpfs /tmp/tidegate-65534";
    let launcher = on_stage(stage);
    let launcher = launcher.iter().map(String::as_str).chain([
        "setpriv",
        "--reuid",
        &stranger,
        "--regid",
        &stranger,
        "--clear-groups",
    ]);
    let mut tidegate = Tidegate::wrapping(plain())
        .through(launcher)
        .argument("--listen=off")
        .argument("--propagation=100ms")
        .env(SOCKET, "auto")
        .start();
    let child = tidegate.child();
    let found = eventually("an answer", || {
        let pid = tidegate.pid().to_string();
        let mut client = Command::new("nsenter");
        client
            .args([
                "-t",
                &pid,
                "-m",
                "setpriv",
                "--reuid",
                &stranger,
                "--clear-groups",
            ])
            .args([env!("CARGO_BIN_EXE_tidegate"), "status", "-o", "json"])
            .env_remove(SOCKET);
        let ended = Client::start(client).end();
        ended.status.success().then_some(ended.stdout)
    });
    assert!(found.contains(&format!("\"pid\":{child}")), "{found}");
    tidegate.signal(Signal::SIGTERM);
    assert_eq!(tidegate.wait().code(), TOLD);
    let _ = std::fs::remove_dir("/tmp/tidegate-65534");
}

#[test]
fn a_stranger_is_refused_even_where_the_file_lets_everyone_in() {
    if !are_we_root() {
        return;
    }
    let tidegate = wrapping().start();
    tidegate.child();
    tidegate.status();
    open_to_all(tidegate.directory(), 0o755);
    let ask = || {
        let mut command = as_stranger(env!("CARGO_BIN_EXE_tidegate"), &["drain"]);
        command.env(SOCKET, tidegate.socket());
        Client::start(command).end()
    };
    let ended = ask();
    assert_eq!(ended.code(), 125, "{ended:?}");
    assert!(ended.stderr.contains("not permitted"), "{ended:?}");

    open_to_all(&tidegate.socket(), 0o666);
    let ended = ask();
    assert_eq!(ended.code(), 1, "{ended:?}");
    assert_eq!(
        ended.stderr,
        "tidegate: drain: only user 0 and root may talk to this tidegate\n"
    );
    assert_eq!(tidegate.status()["phase"], "serving");
}

#[test]
fn a_strangers_socket_is_not_asked() {
    if !are_we_root() {
        return;
    }
    // Root believes everyone, so the one who asks is somebody; who listens is somebody else.
    let room = tempfile::tempdir().expect("a directory");
    open_to_all(room.path(), 0o777);
    let socket = room.path().join("admin.sock");
    let listen = "import socket, sys, time; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); print('up', flush=True); time.sleep(60)";
    let mut trap = Command::new("setpriv");
    trap.args(["--reuid", "12345", "--clear-groups"])
        .arg(support::children::python())
        .args(["-I", "-c", listen])
        .arg(&socket);
    let trap = Client::start(trap);
    trap.stdout.wait_for("up");
    open_to_all(&socket, 0o666);
    let mut command = as_stranger(env!("CARGO_BIN_EXE_tidegate"), &["status"]);
    command.env(SOCKET, &socket);
    let ended = Client::start(command).end();
    assert_eq!(ended.code(), 125, "{ended:?}");
    assert!(ended.stderr.contains("user 12345 listens there"), "{ended:?}");
}

#[test]
fn a_directory_that_is_a_strangers_is_not_used() {
    if !are_we_root() {
        return;
    }
    // Everything under /run and /tmp that auto would use belongs to somebody else.
    let room = tempfile::tempdir().expect("a directory");
    let theirs = room.path().join("theirs");
    std::fs::create_dir(&theirs).expect("made");
    chown(&theirs, Some(12345), Some(12345)).expect("given away");
    let stage = format!(
        "mkdir -p /run/tidegate /tmp/tidegate-0; mount --bind {0} /run/tidegate; mount --bind {0} /tmp/tidegate-0",
        theirs.display()
    );
    let stage = format!("mount -t tmpfs tmpfs /run; {stage}");
    let tidegate = wrapping().through(on_stage(&stage)).env(SOCKET, "auto").start();
    goes_on_without(tidegate, "belongs to user 12345");
    let _ = std::fs::remove_dir("/tmp/tidegate-0");
}

#[test]
fn garbage_gets_one_line_and_an_end() {
    let mut tidegate = wrapping().start();
    tidegate.child();
    let endless = vec![b'a'; 1 << 20];
    for garbage in [
        &b"\n"[..],
        b"what?\n",
        b"\xff\x00\xfe\n",
        b"GET / HTTP/1.1\r\n\r\n",
        &endless,
    ] {
        let line = tidegate.say(garbage);
        // A connection that is closed on what was not read may lose its last words.
        if garbage.len() < 1024 {
            assert!(line.starts_with("{\"refused\":\"not understood; "), "{line:?}");
        }
    }
    assert!(tidegate.say(b"status now\n").contains("not understood"));
    assert!(tidegate.say(b"status\n").starts_with("{\"status\":{\"version\":"));
    assert_eq!(tidegate.status()["phase"], "serving");
    tidegate.signal(Signal::SIGUSR2);
    assert_eq!(tidegate.wait().code(), ASKED);
}

#[test]
fn idle_clients_keep_nobody_out() {
    let mut tidegate = wrapping().start();
    tidegate.child();
    let idle: Vec<_> = (0..200).map(|_| tidegate.connect()).collect();
    assert_eq!(tidegate.status()["phase"], "serving");
    // All but as many as there are seats have been shown out.
    let mut out = 0;
    for mut stream in idle {
        stream.set_nonblocking(true).expect("set");
        out += usize::from(matches!(stream.read(&mut [0]), Ok(0)));
    }
    assert!(out >= 200 - 64, "{out}");
    assert!(tidegate.ask(&["prestop"]).contains("over: "));
    assert_eq!(tidegate.wait().code(), TOLD);
}

#[test]
fn clients_that_do_not_read_cost_no_memory() {
    let tidegate = wrapping().start();
    tidegate.child();
    tidegate.status();
    let mut deaf: Vec<_> = (0..60).map(|_| tidegate.connect()).collect();
    for stream in &mut deaf {
        stream.write_all(b"watch\n").expect("written");
    }
    let round = || {
        tidegate.say(b"drain\n");
        tidegate.say(b"resume\n");
    };
    (0..50).for_each(|_| round());
    let before = peak_memory_kib(tidegate.pid());
    (0..500).for_each(|_| round());
    let grown = peak_memory_kib(tidegate.pid()) - before;
    assert!(grown < 1024, "{grown} KiB for a thousand changes");
}

#[test]
fn the_program_gets_none_of_it() {
    // Long after the socket is there; the descriptor that lists the others is gone by then.
    let list = "import os, time; time.sleep(0.5); print('ready', [os.readlink(f'/proc/self/fd/{fd}') for fd in os.listdir('/proc/self/fd') if os.path.lexists(f'/proc/self/fd/{fd}')])";
    let mut tidegate = Tidegate::wrapping([support::children::python(), "-c".into(), list.into()])
        .config(ROOMY.unmeasured())
        .start();
    let line = tidegate.stdout.wait_for("ready ");
    assert!(!line.text.contains("socket"), "{}", line.text);
    assert_eq!(tidegate.wait().code(), 0);
}
