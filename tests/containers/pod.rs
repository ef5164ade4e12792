//! Containers that share their process and network namespaces, and tidegate in the one beside.

use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::app::{Site, WWW, server};
use crate::container::{Container, NOBODY, Plan, Root, busybox, can_be_made, static_tidegate};
use crate::support::lines::Lines;
use crate::support::patience::eventually;

/// The address that the kubelet calls.
const POD: &str = "10.71.0.1";

/// A sandbox, and who lives in it.
struct Pod {
    sandbox: Container,
    site: Site,
    /// A volume that its containers share.
    shared: TempDir,
}

impl Pod {
    fn new() -> Self {
        let root = Root::of([("busybox", busybox())]);
        let sandbox = Plan::new(&root, &["/busybox", "sleep", "1000000"])
            .sandbox()
            .start();
        let shared = TempDir::new().expect("a directory");
        let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(shared.path(), everybody).expect("its mode");
        let pod = Self {
            sandbox,
            site: Site::new(),
            shared,
        };
        let mut added = pod.inside(&[
            "busybox",
            "ip",
            "address",
            "add",
            &format!("{POD}/32"),
            "dev",
            "lo",
        ]);
        assert!(added.output().expect("nsenter starts").status.success());
        pod
    }

    /// A program in the pod's network, as the kubelet and clients reach it.
    fn inside(&self, line: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command
            .args(["-t", &self.sandbox.pid().to_string(), "-n"])
            .args(line);
        command
    }

    /// GETs a page: its body, when the status is 200.
    fn get(&self, url: &str) -> Option<String> {
        let got = self.inside(&["busybox", "wget", "-q", "-O", "-", url]).output();
        let got = got.expect("nsenter starts");
        got.status
            .success()
            .then(|| String::from_utf8_lossy(&got.stdout).into_owned())
    }

    fn getting(&self, url: &str) -> Getting {
        let mut process = self
            .inside(&["busybox", "wget", "-q", "-O", "-", url])
            .stdout(Stdio::piped())
            .spawn()
            .expect("nsenter starts");
        let stdout = Lines::of("wget", process.stdout.take().expect("piped"));
        Getting { process, stdout }
    }

    /// The app on this port, by a shell that leaves its pid behind and is replaced.
    fn app(&self, port: u16, user: u32) -> Container {
        let line = server(&port.to_string()).join(" ");
        let script = format!("echo $$ >/shared/{port}.pid; exec {line}");
        let app = Plan::new(
            &Root::of([("busybox", busybox())]),
            &["/busybox", "sh", "-c", &script],
        )
        .user(user)
        .joins(self.sandbox.pid())
        .mount(self.site.path(), WWW, "ro")
        .mount(self.shared.path(), "/shared", "rw")
        .start();
        eventually("the app", || self.get(&format!("http://{POD}:{port}/")));
        app
    }

    fn sidecar(&self, target: &str) -> Container {
        let config = format!(
            "terminationGracePeriodSeconds: 30\ndrain: {{propagation: 500ms, quiet: 200ms}}\nhealth: {{listen: '0.0.0.0:9095'}}\nlifecycle: {{listen: '0.0.0.0:9096'}}\ninflight: [{{tcp: {{ports: [8080]}}}}]\ntarget: {target}\n"
        );
        let root = Root::of([("tidegate", static_tidegate())]);
        let sidecar = Plan::new(&root, &["/tidegate", "sidecar"])
            .env("TIDEGATE_CONFIG", &config)
            .joins(self.sandbox.pid())
            .mount(self.shared.path(), "/shared", "ro")
            .start();
        eventually("SERVING", || self.get(&format!("http://{POD}:9095/readyz")));
        sidecar
    }
}

/// A page that is on its way.
struct Getting {
    process: Child,
    stdout: Lines,
}

impl Getting {
    fn body(&self) -> String {
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

#[test]
fn a_sidecar_without_privileges_drains_and_stops_the_app_it_sees_and_nobody_else() {
    if !can_be_made() {
        return;
    }
    let pod = Pod::new();
    let mut app = pod.app(8080, NOBODY);
    let mut other = pod.app(8081, NOBODY);
    let mut sidecar = pod.sidecar("{ports: [8080]}");
    sidecar.stderr.wait_for("target");
    let call = pod.getting(&format!("http://{POD}:8080/cgi-bin/slow"));
    eventually("the call", || (app.left().len() >= 2).then_some(()));

    let hook = pod.getting(&format!("http://{POD}:9096/prestop"));
    eventually("NOT_SERVING", || {
        pod.get(&format!("http://{POD}:9095/readyz"))
            .is_none()
            .then_some(())
    });
    assert_eq!(pod.get(&format!("http://{POD}:8080/")).as_deref(), Some("here\n"));
    assert!(app.runs());
    pod.site.let_go();
    assert_eq!(call.body(), "done\n");
    assert!(
        hook.body().ends_with("over: drained, the program has ended\n"),
        "{:?}",
        sidecar.stderr.so_far()
    );
    assert_eq!(app.end(), 128 + 15);
    assert_eq!(app.left(), [0; 0]);
    assert!(other.runs() && sidecar.runs());
    assert_eq!(pod.get(&format!("http://{POD}:8081/")).as_deref(), Some("here\n"));

    other.kill("TERM");
    other.end();
    sidecar.kill("TERM");
    assert_eq!(sidecar.end(), 0, "{:?}", sidecar.stderr.so_far());
    assert_eq!(sidecar.left(), [0; 0]);
}

#[test]
fn an_app_of_another_user_is_drained_and_left_to_the_kubelet() {
    if !can_be_made() {
        return;
    }
    let pod = Pod::new();
    let mut app = pod.app(8080, 1000);
    let mut sidecar = pod.sidecar("{pidFile: /shared/8080.pid}");
    let hook = pod.getting(&format!("http://{POD}:9096/prestop"));
    assert!(
        hook.body()
            .ends_with("over: drained, the program is left to the kubelet\n"),
        "{:?}",
        sidecar.stderr.so_far()
    );
    assert!(app.runs());
    app.kill("TERM");
    assert_eq!(app.end(), 128 + 15);
    sidecar.kill("TERM");
    assert_eq!(sidecar.end(), 0);
    let refused = sidecar.stderr.with("refused");
    assert_eq!(refused.len(), 1, "{:?}", sidecar.stderr.so_far());
}
