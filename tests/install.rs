//! `tidegate install DIR`: an init container without a shell brings the binary along.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

fn install(directory: &std::path::Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tidegate"))
        .arg("install")
        .arg(directory)
        .output()
        .expect("tidegate starts")
}

#[test]
fn the_copy_is_whole_executable_and_runs() {
    let directory = tempfile::tempdir().expect("a directory");
    let output = install(directory.path());
    assert!(output.status.success(), "{output:?}");
    let copy = directory.path().join("tidegate");
    assert_eq!(
        fs::read(&copy).expect("the copy"),
        fs::read(env!("CARGO_BIN_EXE_tidegate")).expect("the original")
    );
    assert_eq!(
        fs::metadata(&copy).expect("the copy").permissions().mode() & 0o777,
        0o755
    );
    let ran = Command::new(&copy)
        .args(["run", "--listen", "off", "--", "sh", "-c", "exit 7"])
        .env("TIDEGATE_ADMIN_SOCKET", "off")
        .status();
    assert_eq!(ran.expect("the copy starts").code(), Some(7));
    let left: Vec<_> = fs::read_dir(directory.path()).expect("a directory").collect();
    assert_eq!(left.len(), 1, "nothing else is left: {left:?}");
}

#[test]
fn installing_again_replaces_a_copy_that_is_running() {
    let directory = tempfile::tempdir().expect("a directory");
    assert!(install(directory.path()).status.success());
    let copy = directory.path().join("tidegate");
    let mut running = Command::new(&copy)
        .args(["--listen", "off", "--", "cat"])
        .env("TIDEGATE_ADMIN_SOCKET", "off")
        .stdin(std::process::Stdio::piped())
        .spawn()
        .expect("the copy starts");
    // ETXTBSY is what writing into it would say; a rename does not care.
    assert!(install(directory.path()).status.success());
    drop(running.stdin.take());
    assert!(running.wait().expect("an end").success());
}

#[test]
fn a_directory_that_is_not_there_is_one_line_and_125() {
    let directory = tempfile::tempdir().expect("a directory");
    let output = install(&directory.path().join("missing"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(125));
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(
        said.contains("missing/tidegate") && said.contains("writable directory"),
        "{said}"
    );
}
