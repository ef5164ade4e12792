//! Programs to wrap.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The code the telling child ends with when a signal ended it, unless told another.
pub const TOLD: i32 = 3;
/// The code the telling child ends with on SIGUSR2, at any time.
pub const ASKED: i32 = 7;

/// A child that prints `ready PID` and then `signal NAME` for each signal it gets; `SIGTERM`, `SIGINT` and
/// `SIGQUIT` end it with [`TOLD`], `SIGUSR2` with [`ASKED`].
pub fn telling(options: &[&str]) -> Vec<String> {
    let mut command = vec![python(), "-I".into(), script("telling.py")];
    command.extend(options.iter().map(ToString::to_string));
    command
}

/// [`telling`], and deaf to every signal that asks it to end.
pub fn deaf() -> Vec<String> {
    telling(&["--deaf"])
}

/// The example service, on these ports.
pub fn library(calls: SocketAddr, metrics: SocketAddr) -> Vec<String> {
    let path = example("library");
    let listen = [("--listen", calls), ("--metrics-listen", metrics)];
    let options = listen
        .into_iter()
        .flat_map(|(flag, address)| [flag.to_owned(), address.to_string()]);
    std::iter::once(path).chain(options).collect()
}

/// A script of `tests/python`.
pub fn script(name: &str) -> String {
    format!("{}/tests/python/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// The machine's python3, by its own account: what stands on the PATH may be a wrapper.
pub fn python() -> String {
    static PYTHON: OnceLock<String> = OnceLock::new();
    PYTHON
        .get_or_init(|| {
            let said = Command::new("python3")
                .args(["-c", "import sys; print(sys.executable)"])
                .stderr(Stdio::inherit())
                .output()
                .expect("python3 is there; `make test` installs it");
            String::from_utf8(said.stdout).expect("a path").trim().to_owned()
        })
        .clone()
}

/// The Python that has grpcio.
///
/// # Panics
/// When it is not installed.
pub fn grpc_python() -> String {
    let path = format!("{}/.venv/bin/python", env!("CARGO_MANIFEST_DIR"));
    assert!(
        PathBuf::from(&path).exists(),
        "{path} is not there; `make test` makes it"
    );
    path
}

/// A program of the machine, by its name. Debian keeps daemons in `/usr/sbin`, which is on root's PATH only.
///
/// # Panics
/// When it is not installed.
pub fn program(name: &str) -> String {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let more = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path)
        .chain(more)
        .map(|directory| directory.join(name))
        .find(|file| file.is_file())
        .unwrap_or_else(|| panic!("{name} is not there; `make test` installs it"))
        .to_str()
        .expect("a path in UTF-8")
        .to_owned()
}

fn example(name: &str) -> String {
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_tidegate"));
    let path = binary.with_file_name("examples").join(name);
    assert!(
        path.exists(),
        "{} is not there; `cargo build --examples` makes it",
        path.display()
    );
    path.to_str().expect("a path in UTF-8").to_owned()
}
