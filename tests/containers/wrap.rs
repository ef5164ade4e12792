//! tidegate is PID 1 of the container.

use std::net::SocketAddr;
use std::thread;

use tempfile::TempDir;

use crate::app::{Site, WWW, server, termination_log};
use crate::container::{Plan, Root, busybox, can_be_made, static_tidegate};
use crate::support::http::get;
use crate::support::patience::eventually;
use crate::support::ports;
use crate::support::termination::Termination;

fn readyz(health: SocketAddr) -> Option<u16> {
    get(health, "/readyz").ok().map(|answer| answer.status)
}

#[test]
fn in_an_empty_root_without_privileges_a_stop_loses_no_call() {
    if !can_be_made() {
        return;
    }
    let (app, health) = (ports::free(), ports::free());
    let site = Site::new();
    let logs = TempDir::new().expect("a directory");
    let log = termination_log(logs.path());
    let config = format!(
        "terminationGracePeriodSeconds: 30\ndrain: {{propagation: 1s, quiet: 200ms}}\nhealth: {{listen: '{health}'}}\ninflight: [{{tcp: {{ports: [{}]}}}}]\n",
        app.port()
    );
    let listen = app.to_string();
    let app_line = server(&listen);
    let mut line = vec!["/tidegate", "run", "--"];
    line.extend(app_line.iter().map(String::as_str));
    let root = Root::of([("tidegate", static_tidegate()), ("busybox", busybox())]);
    let mut container = Plan::new(&root, &line)
        .env("TIDEGATE_CONFIG", &config)
        .mount(site.path(), WWW, "ro")
        .mount(&log, "/dev/termination-log", "rw")
        .start();
    eventually("SERVING", || (readyz(health) == Some(200)).then_some(()));
    eventually("the app", || get(app, "/").ok());
    let call = thread::spawn(move || get(app, "/cgi-bin/slow"));
    eventually("the call", || (container.left().len() >= 3).then_some(()));

    container.kill("TERM");
    eventually("NOT_SERVING", || (readyz(health) == Some(503)).then_some(()));
    // Who has not heard of it yet is still served.
    assert_eq!(get(app, "/").expect("an answer").body, "here\n");
    site.let_go();
    let answer = call.join().expect("a thread").expect("an answer");
    assert_eq!((answer.status, answer.body.as_str()), (200, "done\n"));

    assert_eq!(container.end(), 128 + 15, "{:?}", container.stderr.so_far());
    assert_eq!(container.left(), [0; 0]);
    let report = Termination::read(&log);
    assert_eq!((report.verdict(), report.text("trigger")), ("drained", "SIGTERM"));
}

/// The image that has the binary, by its Dockerfile: no shell runs in it, and it has what is copied and nothing else.
#[test]
fn the_image_of_the_dockerfile_installs_its_binary() {
    if !can_be_made() {
        return;
    }
    let text = include_str!("../../examples/kubernetes/Dockerfile");
    let instructions: Vec<(&str, &str)> = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .filter_map(|line| line.split_once(' '))
        .collect();
    let [
        ("FROM", "scratch"),
        ("COPY", copied),
        ("USER", user),
        ("ENTRYPOINT", entrypoint),
    ] = instructions[..]
    else {
        panic!("another image: {instructions:?}");
    };
    let [mode, from, to] = copied.split(' ').collect::<Vec<_>>()[..] else {
        panic!("another copy: {copied}");
    };
    assert_eq!((mode, from, to), ("--chmod=0755", "tidegate", "/tidegate"));
    // A number: of a name the kubelet cannot tell whether it is root (runAsNonRoot).
    let user: u32 = user
        .split(':')
        .next()
        .and_then(|id| id.parse().ok())
        .expect("a number");
    let mut line: Vec<String> = serde_json::from_str(entrypoint).expect("the exec form");
    line.extend(["install", "/tidegate-bin"].map(str::to_owned));
    let line: Vec<&str> = line.iter().map(String::as_str).collect();
    let volume = shared_volume();
    let mut container = Plan::new(&Root::of([("tidegate", static_tidegate())]), &line)
        .user(user)
        .mount(volume.path(), "/tidegate-bin", "rw")
        .start();
    assert_eq!(container.end(), 0, "{:?}", container.stderr.so_far());
    assert!(volume.path().join("tidegate").exists());
}

/// An emptyDir.
fn shared_volume() -> TempDir {
    let volume = TempDir::new().expect("a directory");
    let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(volume.path(), everybody).expect("its mode");
    volume
}

#[test]
fn an_init_container_from_scratch_brings_the_binary_to_another_image() {
    if !can_be_made() {
        return;
    }
    let volume = shared_volume();
    let root = Root::of([("tidegate", static_tidegate())]);
    let mut init = Plan::new(&root, &["/tidegate", "install", "/tidegate-bin"])
        .mount(volume.path(), "/tidegate-bin", "rw")
        .start();
    assert_eq!(init.end(), 0, "{:?}", init.stderr.so_far());
    let line = [
        "/tidegate-bin/tidegate",
        "--listen",
        "off",
        "--",
        "/busybox",
        "sh",
        "-c",
        "exit 7",
    ];
    let mut app = Plan::new(&Root::of([("busybox", busybox())]), &line)
        .mount(volume.path(), "/tidegate-bin", "ro")
        .start();
    assert_eq!(app.end(), 7, "{:?}", app.stderr.so_far());
}
