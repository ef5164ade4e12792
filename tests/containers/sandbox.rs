//! A pod's sandbox: its address, and who calls there.

use std::process::{Child, Command, Stdio};

use crate::container::{Container, Plan, Root, busybox};
use crate::support::lines::Lines;

/// The address that kubelets and clients call. It is not loopback.
pub const POD: &str = "10.71.0.1";

/// Namespaces that the containers of a pod join.
pub struct Sandbox {
    container: Container,
    pid: i32,
}

impl Sandbox {
    pub fn new() -> Self {
        let root = Root::of([("busybox", busybox())]);
        let container = Plan::new(&root, &["/busybox", "sleep", "1000000"])
            .sandbox()
            .start();
        let pid = container.pid();
        let sandbox = Self { container, pid };
        let address = format!("{POD}/32");
        let added = sandbox
            .inside("busybox", &["ip", "address", "add", &address, "dev", "lo"])
            .output()
            .expect("nsenter starts");
        assert!(
            added.status.success(),
            "{added:?} {:?}",
            sandbox.container.stderr.so_far()
        );
        sandbox
    }

    /// A process in it.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// A program of the machine, in the pod's network.
    pub fn inside(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command
            .args(["-t", &self.pid.to_string(), "-n", program])
            .args(arguments);
        command
    }

    fn wget(&self, port: u16, path: &str) -> Command {
        let url = format!("http://{POD}:{port}{path}");
        self.inside("busybox", &["wget", "-q", "-O", "-", &url])
    }

    /// GETs a page: its body, when the status is 200.
    pub fn get(&self, port: u16, path: &str) -> Option<String> {
        let got = self.wget(port, path).output().expect("nsenter starts");
        let body = String::from_utf8_lossy(&got.stdout).into_owned();
        got.status.success().then_some(body)
    }

    /// The same, while other things happen.
    pub fn getting(&self, port: u16, path: &str) -> Getting {
        let mut process = self
            .wget(port, path)
            .stdout(Stdio::piped())
            .spawn()
            .expect("nsenter starts");
        let stdout = Lines::of("wget", process.stdout.take().expect("piped"));
        Getting { process, stdout }
    }
}

/// A page that is on its way.
pub struct Getting {
    process: Child,
    stdout: Lines,
}

impl Getting {
    /// All of it, waited for.
    pub fn body(&self) -> String {
        let lines = self.stdout.to_the_end();
        lines.into_iter().map(|line| line.text + "\n").collect()
    }
}

impl Drop for Getting {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
