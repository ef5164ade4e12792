//! A command that cannot be executed: the shell's exit codes, and a line that names the file.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use support::config::ROOMY;
use support::{Running, Tidegate};
use tempfile::TempDir;

const NOT_FOUND: i32 = 127;
const NOT_EXECUTABLE: i32 = 126;

#[test]
fn a_missing_command_is_127() {
    fails(wrapping("/no/such/program"), NOT_FOUND, &["/no/such/program"]);
    fails(
        wrapping("no-such-program-on-the-path"),
        NOT_FOUND,
        &["no-such-program-on-the-path"],
    );
}

#[test]
fn a_missing_interpreter_is_127_and_named_as_such() {
    let directory = TempDir::new().expect("a directory");
    let script = file(&directory, "script", "#!/no/such/interpreter\n", 0o755);
    fails(wrapping(&script), NOT_FOUND, &[&script, "interpreter"]);
}

#[test]
fn a_file_that_is_not_executable_is_126() {
    let directory = TempDir::new().expect("a directory");
    let plain = file(&directory, "plain", "not a program\n", 0o644);
    fails(wrapping(&plain), NOT_EXECUTABLE, &[&plain]);
}

#[test]
fn a_file_of_no_known_format_is_126() {
    let directory = TempDir::new().expect("a directory");
    let strange = file(
        &directory,
        "strange",
        "\u{1}\u{2} no magic number, no #!\n",
        0o755,
    );
    fails(wrapping(&strange), NOT_EXECUTABLE, &[&strange]);
}

#[test]
fn a_directory_is_126() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().to_str().expect("UTF-8").to_owned();
    fails(wrapping(&path), NOT_EXECUTABLE, &[&path]);
}

#[test]
fn no_command_is_a_failure_of_our_own() {
    let mut tidegate = Tidegate::wrapping([""; 0]).start();
    assert_eq!(tidegate.wait().code(), 125);
    assert!(!tidegate.stderr.to_the_end().is_empty(), "and says so");
}

#[test]
fn the_childs_code_is_passed_on() {
    for code in [0, 1, 42, 125, 126, 127, 255] {
        let mut tidegate = Tidegate::wrapping(["/bin/sh", "-c", &format!("exit {code}")]);
        tidegate = tidegate.config(ROOMY.unmeasured());
        assert_eq!(tidegate.start().wait().code(), code);
    }
}

#[test]
fn a_child_ended_by_a_signal_is_128_and_its_number() {
    for (signal, number) in [("TERM", 15), ("KILL", 9), ("SEGV", 11)] {
        let script = format!("kill -{signal} $$; sleep 10");
        let mut tidegate = Tidegate::wrapping(["/bin/sh", "-c", &script])
            .config(ROOMY.unmeasured())
            .start();
        assert_eq!(tidegate.wait().code(), 128 + number);
    }
}

fn wrapping(program: &str) -> Running {
    Tidegate::wrapping([program, "argument"])
        .config(ROOMY.unmeasured())
        .start()
}

fn fails(mut tidegate: Running, code: i32, names: &[&str]) {
    let exit = tidegate.wait();
    let said = tidegate.stderr.to_the_end();
    let said: Vec<_> = said.iter().map(|line| line.text.as_str()).collect();
    let said = said.join("\n");
    assert_eq!(exit.code(), code, "{said}");
    for name in names {
        assert!(said.contains(name), "{name:?} is not named in {said:?}");
    }
}

fn file(directory: &TempDir, name: &str, text: &str, mode: u32) -> String {
    let path = directory.path().join(name);
    fs::write(&path, text).expect("a file can be written");
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("and its mode set");
    path.to_str().expect("UTF-8").to_owned()
}
