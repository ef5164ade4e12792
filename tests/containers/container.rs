//! One container, as containerd would have runc make it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::SystemTime;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::lines::Lines;
use crate::support::patience::eventually;
use crate::support::processes::{self, MARK};

/// The user of images that want none: nobody.
pub const NOBODY: u32 = 65534;

/// Whether containers can be made here at all; tests/needs.sh says when they cannot.
pub fn can_be_made() -> bool {
    nix::unistd::geteuid().is_root()
}

/// The binary that needs nothing beside it.
///
/// # Panics
/// When it is not there, or older than what it is made of.
pub fn static_tidegate() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let binary = here.join("target/static/tidegate");
    let made = |path: &Path| fs::metadata(path).and_then(|data| data.modified());
    let made_at = made(&binary).expect("target/static/tidegate is there: make static");
    let newest = newest(&here.join("src"));
    assert!(made_at >= newest, "target/static/tidegate is old: make static");
    binary
}

fn newest(path: &Path) -> SystemTime {
    let data = fs::metadata(path).expect("a source");
    if !data.is_dir() {
        return data.modified().expect("a time");
    }
    let entries = fs::read_dir(path).expect("a directory");
    let times = entries.map(|entry| newest(&entry.expect("an entry").path()));
    times.max().unwrap_or(SystemTime::UNIX_EPOCH)
}

/// What is in a container's root: names in `/`, and where they come from.
pub struct Root(Vec<(&'static str, PathBuf)>);

impl Root {
    /// Nothing but these.
    pub fn of(files: impl Into<Vec<(&'static str, PathBuf)>>) -> Self {
        Self(files.into())
    }
}

/// Where busybox is: one static program that is a shell, a server and a client.
///
/// # Panics
/// When it is not installed.
pub fn busybox() -> PathBuf {
    let known = ["/usr/bin/busybox", "/bin/busybox"];
    let found = known.iter().map(PathBuf::from).find(|path| path.exists());
    found.expect("busybox is installed: tests/needs.sh")
}

/// A container before it starts.
pub struct Plan {
    directory: TempDir,
    arguments: Vec<String>,
    environment: Vec<String>,
    user: u32,
    mounts: Vec<Value>,
    namespaces: Vec<Value>,
    capabilities: &'static [&'static str],
    read_only: bool,
}

/// What containers may where no manifest says otherwise (containerd's defaults, of which these are enough for a server
/// that gives its workers away).
const USUAL: [&str; 6] = [
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_SETUID",
    "CAP_SETGID",
    "CAP_KILL",
    "CAP_NET_BIND_SERVICE",
];

/// A container that runs. Dropping it ends it and everything in it.
pub struct Container {
    id: String,
    mark: String,
    directory: TempDir,
    runc: Child,
    exit: Option<i32>,
    pub stderr: Lines,
}

impl Plan {
    /// With a process namespace of its own, on the machine's network.
    pub fn new(root: &Root, arguments: &[&str]) -> Self {
        let directory = TempDir::new().expect("a directory");
        let rootfs = directory.path().join("rootfs");
        fs::create_dir(&rootfs).expect("a root");
        for (name, from) in &root.0 {
            let to = rootfs.join(name);
            fs::copy(from, &to).expect("a copy");
            fs::set_permissions(&to, fs::Permissions::from_mode(0o755)).expect("its mode");
        }
        // Others have to get to what is in it.
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).expect("its mode");
        Self {
            directory,
            arguments: arguments.iter().map(ToString::to_string).collect(),
            environment: vec!["PATH=/".to_owned()],
            user: NOBODY,
            mounts: Vec::new(),
            namespaces: vec![json!({"type": "pid"})],
            capabilities: &[],
            read_only: true,
        }
    }

    /// With the usual capabilities, and a root that may be written.
    pub fn unconfined(mut self) -> Self {
        self.capabilities = &USUAL;
        self.read_only = false;
        self
    }

    /// A place in its root, for tests that make an image of it.
    pub fn root(&self) -> PathBuf {
        self.directory.path().join("rootfs")
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push(format!("{name}={value}"));
        self
    }

    pub fn user(mut self, user: u32) -> Self {
        self.user = user;
        self
    }

    /// A directory or a file of the machine, in the container.
    pub fn mount(mut self, from: &Path, to: &str, mode: &str) -> Self {
        self.mounts.push(json!({
            "destination": to, "type": "bind", "source": from, "options": ["bind", mode],
        }));
        self
    }

    /// The network of a sandbox, by a process in it: what containers of a pod share.
    pub fn joins(mut self, sandbox: i32) -> Self {
        for (kind, file) in [("network", "net"), ("ipc", "ipc")] {
            self.namespaces.push(namespace_of(sandbox, kind, file));
        }
        self
    }

    /// Its processes as well: `shareProcessNamespace`.
    pub fn joins_processes(self, sandbox: i32) -> Self {
        let mut plan = self.joins(sandbox);
        plan.namespaces[0] = namespace_of(sandbox, "pid", "pid");
        plan
    }

    /// New namespaces that others can join: what a pod's sandbox has.
    pub fn sandbox(mut self) -> Self {
        self.namespaces = ["pid", "network", "ipc"].map(|kind| json!({"type": kind})).into();
        self
    }

    /// `runc run`.
    pub fn start(mut self) -> Container {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let mark = format!("tidegate-test-{}-{number}", std::process::id());
        self.environment.push(format!("{MARK}={mark}"));
        let config = serde_json::to_vec(&self.config()).expect("JSON");
        fs::write(self.directory.path().join("config.json"), config).expect("a file");
        let mut runc = Command::new("runc")
            .arg("--root")
            .arg(self.directory.path().join("state"))
            .args(["run", "--bundle"])
            .arg(self.directory.path())
            .arg(&mark)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("runc starts: tests/needs.sh");
        Container {
            id: mark.clone(),
            mark,
            directory: self.directory,
            stderr: Lines::of("its stderr", runc.stderr.take().expect("piped")),
            runc,
            exit: None,
        }
    }

    /// As a kubelet has it made for `readOnlyRootFilesystem`, `capabilities: {drop: [ALL]}` and
    /// `allowPrivilegeEscalation: false`.
    fn config(&self) -> Value {
        let mut mounts = vec![
            json!({"destination": "/proc", "type": "proc", "source": "proc"}),
            json!({
                "destination": "/dev", "type": "tmpfs", "source": "tmpfs",
                "options": ["nosuid", "strictatime", "mode=755", "size=65536k"],
            }),
            json!({
                "destination": "/dev/shm", "type": "tmpfs", "source": "shm",
                "options": ["nosuid", "noexec", "nodev", "mode=1777", "size=65536k"],
            }),
        ];
        mounts.extend(self.mounts.iter().cloned());
        let mut namespaces = self.namespaces.clone();
        namespaces.push(json!({"type": "mount"}));
        json!({
            "ociVersion": "1.0.2",
            "process": {
                "terminal": false,
                "user": {"uid": self.user, "gid": self.user},
                "args": self.arguments,
                "env": self.environment,
                "cwd": "/",
                "capabilities": {
                    "bounding": self.capabilities, "effective": self.capabilities, "permitted": self.capabilities,
                },
                "noNewPrivileges": true,
            },
            "root": {"path": "rootfs", "readonly": self.read_only},
            "mounts": mounts,
            "linux": {
                "namespaces": namespaces,
                "maskedPaths": ["/proc/kcore", "/proc/keys", "/proc/timer_list"],
                "readonlyPaths": ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"],
            },
        })
    }
}

fn namespace_of(process: i32, kind: &str, file: &str) -> Value {
    json!({"type": kind, "path": format!("/proc/{process}/ns/{file}")})
}

impl Container {
    fn runc(&self, arguments: &[&str]) -> std::process::Output {
        Command::new("runc")
            .arg("--root")
            .arg(self.directory.path().join("state"))
            .args(arguments)
            .output()
            .expect("runc starts")
    }

    /// The pid of its first process, as the machine has it.
    pub fn pid(&self) -> i32 {
        eventually("a container that runs", || {
            let said = self.runc(&["state", &self.id]);
            let state: Value = serde_json::from_slice(&said.stdout).ok()?;
            let runs = state["status"] == "running";
            state["pid"].as_i64().filter(|_| runs).map(|pid| pid as i32)
        })
    }

    /// What a kubelet's stop signal becomes.
    pub fn kill(&self, signal: &str) {
        let said = self.runc(&["kill", &self.id, signal]);
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    }

    /// Its exit code, waited for.
    pub fn end(&mut self) -> i32 {
        if let Some(code) = self.exit {
            return code;
        }
        let status = eventually("the container's end", || self.runc.try_wait().expect("our own"));
        let code = status.code().expect("runc exits");
        self.exit = Some(code);
        code
    }

    /// Whether it still runs.
    pub fn runs(&mut self) -> bool {
        self.runc.try_wait().expect("our own").is_none()
    }

    /// The processes of it that still live.
    pub fn left(&self) -> Vec<i32> {
        processes::marked(&self.mark)
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for line in self.stderr.so_far() {
                eprintln!("{}: {}", self.id, line.text);
            }
        }
        self.runc(&["delete", "--force", &self.id]);
        processes::end_all(None, &self.mark);
        let _ = self.runc.wait();
    }
}
