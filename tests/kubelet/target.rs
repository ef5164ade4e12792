//! The program beside, found; and nobody else.

use std::os::unix::fs::PermissionsExt;

use crate::pod::{App, Container, Hook, stop_pod};
use crate::sidecar::{Pod, start_app};
use crate::support::children::python;
use crate::support::config::{ROOMY, Timing};
use crate::support::metrics_endpoint::MetricsEndpoint;
use crate::support::patience::eventually;
use crate::support::tidegate::Running;
use crate::support::{Signal, Tidegate, ports, processes};

fn sidecar(timing: &Timing, target: &str) -> Running {
    let tidegate = Tidegate::sidecar()
        .config(format!("{}target: {{{target}}}\n", timing.unmeasured()))
        .start();
    tidegate.wait_for_phase("serving");
    tidegate
}

fn finds(tidegate: &Running, pid: i32) {
    eventually("the program, found", || {
        (tidegate.status()["child"]["pid"] == pid).then_some(())
    });
}

#[test]
fn of_a_server_and_its_workers_the_server_is_meant() {
    let calls = MetricsEndpoint::with_calls(0);
    let mut pod = Pod::with_target(&ROOMY, &calls, &["--workers", "3"], "");
    pod.tidegate.signal(Signal::SIGTERM);
    assert_eq!(pod.tidegate.wait().code(), 0);
    pod.app.end();
    assert_eq!(pod.app.asked(), ["signal SIGTERM"]);
}

#[test]
fn a_pid_file_is_waited_for_and_its_process_stopped() {
    let directory = tempfile::TempDir::new().expect("a directory");
    let file = directory.path().join("app.pid");
    let mut tidegate = sidecar(&ROOMY, &format!("pidFile: {}", file.display()));
    tidegate.stderr.wait_for("looked for every second");
    let mut app = App::telling(&["--pid-file", file.to_str().expect("UTF-8")]);
    finds(&tidegate, app.pid());
    tidegate.signal(Signal::SIGTERM);
    assert_eq!(tidegate.wait().code(), 0);
    app.end();
    assert_eq!(app.asked(), ["signal SIGTERM"]);
}

#[test]
fn a_stale_pid_file_stops_nobody() {
    let bystander = App::telling(&[]);
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), bystander.pid().to_string()).expect("written");
    let last_year = std::time::SystemTime::now() - std::time::Duration::from_secs(365 * 24 * 3600);
    file.as_file().set_modified(last_year).expect("a time");
    let mut tidegate = sidecar(&ROOMY, &format!("pidFile: {}", file.path().display()));
    tidegate.stderr.wait_for("was started after the file was written");
    tidegate.signal(Signal::SIGTERM);
    assert_eq!(tidegate.wait().code(), 0);
    assert!(processes::lives(bystander.pid()));
    assert_eq!(bystander.asked(), [""; 0]);
}

/// A copy of a program under a name of its own, so that nothing else on the machine runs it.
fn own_executable() -> (tempfile::TempDir, std::path::PathBuf) {
    let directory = tempfile::TempDir::new().expect("a directory");
    let file = directory.path().join("the-app");
    std::fs::copy("/bin/sleep", &file).expect("copied");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("executable");
    (directory, file)
}

#[test]
fn an_executable_is_found_by_its_path() {
    let (_directory, file) = own_executable();
    let mut app = App::start(&[file.display().to_string(), "600".into()]);
    let mut tidegate = sidecar(&ROOMY, &format!("executable: {}", file.display()));
    finds(&tidegate, app.pid());
    tidegate.signal(Signal::SIGTERM);
    assert_eq!(tidegate.wait().code(), 0);
    app.end();
}

#[test]
fn two_of_a_kind_are_nobodys_target() {
    let (_directory, file) = own_executable();
    let command = [file.display().to_string(), "600".into()];
    let both = [App::start(&command), App::start(&command)];
    let mut tidegate = sidecar(&ROOMY, &format!("executable: {}", file.display()));
    let line = tidegate.stderr.wait_for("and none of them started the others");
    for app in &both {
        assert!(line.text.contains(&app.pid().to_string()), "{}", line.text);
    }
    tidegate.signal(Signal::SIGTERM);
    assert_eq!(tidegate.wait().code(), 0);
    for app in &both {
        assert!(processes::lives(app.pid()));
    }
}

#[test]
fn a_refused_permission_is_said_once_and_the_kubelet_is_left_to_do_it() {
    // Root's program, and a tidegate that is nobody.
    let directory = tempfile::TempDir::new().expect("a directory");
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o755)).expect("root");
    let file = directory.path().join("app.pid");
    let app = App::telling(&["--pid-file", file.to_str().expect("UTF-8")]);
    let hook = ports::free();
    let nobody = r#"
import os, sys
os.setgroups([]); os.setgid(65534); os.setuid(65534)
os.execv(sys.argv[1], sys.argv[1:])
"#;
    let config = format!(
        "{}target: {{pidFile: {}}}\nlifecycle: {{listen: '{hook}'}}\nadmin: {{socket: off}}\n",
        ROOMY.unmeasured(),
        file.display()
    );
    let tidegate = Tidegate::sidecar()
        .config(config)
        .through([python(), "-I".into(), "-c".into(), nobody.into()])
        .open_to_everybody()
        .start();
    tidegate.stderr.wait_for("found");
    let containers = [
        Container::main(app.pid(), Hook::HttpGet(hook, "/prestop")),
        Container::native_sidecar(tidegate.pid()),
    ];
    let stopped = stop_pod(ROOMY.grace, &containers);
    assert!(
        stopped[0]
            .hook_said
            .contains("the program is left to the kubelet"),
        "{stopped:?}"
    );
    assert!(stopped.iter().all(|one| !one.killed), "{stopped:?}");
    assert_eq!(app.asked(), ["signal SIGTERM"]);
    let refusals = tidegate.stderr.with("it runs as another user");
    assert_eq!(refusals.len(), 1, "{refusals:?}");
    let mut tidegate = tidegate;
    assert_eq!(tidegate.wait().code(), 0);
}

#[test]
fn the_next_program_on_the_port_is_meant_once_the_last_has_ended() {
    let calls = MetricsEndpoint::with_calls(0);
    let mut pod = Pod::with_target(&ROOMY, &calls, &[], "");
    let held = pod.app.pid();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(held), Signal::SIGUSR2).expect("sent");
    pod.app.end();
    pod.app = start_app(pod.app_address, &[]);
    pod.wait_until_held();
    assert_ne!(pod.app.pid(), held);
    pod.tidegate.signal(Signal::SIGTERM);
    assert_eq!(pod.tidegate.wait().code(), 0);
    pod.app.end();
    assert_eq!(pod.app.asked(), ["signal SIGTERM"]);
}
