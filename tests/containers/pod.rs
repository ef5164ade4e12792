//! tidegate in the container beside: it sees the app, and may signal it or not.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use tempfile::TempDir;

use crate::app::{Site, WWW, server};
use crate::container::{Container, NOBODY, Plan, Root, busybox, can_be_made, static_tidegate};
use crate::sandbox::Sandbox;
use crate::support::patience::eventually;

const HEALTH: u16 = 9095;
const HOOK: u16 = 9096;

struct Pod {
    sandbox: Sandbox,
    site: Site,
    /// A volume that its containers share.
    shared: TempDir,
}

impl Pod {
    fn new() -> Self {
        let shared = TempDir::new().expect("a directory");
        fs::set_permissions(shared.path(), fs::Permissions::from_mode(0o777)).expect("its mode");
        Self {
            sandbox: Sandbox::new(),
            site: Site::new(),
            shared,
        }
    }

    /// The app on this port, by a shell that leaves its pid behind and is replaced.
    fn app(&self, port: u16, user: u32) -> Container {
        let line = server(&port.to_string()).join(" ");
        let script = format!("echo $$ >/shared/{port}.pid; exec {line}");
        let root = Root::of([("busybox", busybox())]);
        let app = Plan::new(&root, &["/busybox", "sh", "-c", &script])
            .user(user)
            .joins_processes(self.sandbox.pid())
            .mount(self.site.path(), WWW, "ro")
            .mount(self.shared.path(), "/shared", "rw")
            .start();
        eventually("the app", || self.sandbox.get(port, "/"));
        app
    }

    fn sidecar(&self, target: &str) -> Container {
        let config = format!(
            "terminationGracePeriodSeconds: 30\ndrain: {{propagation: 500ms, quiet: 200ms}}\nhealth: {{listen: '0.0.0.0:{HEALTH}'}}\nlifecycle: {{listen: '0.0.0.0:{HOOK}'}}\ninflight: [{{tcp: {{ports: [8080]}}}}]\ntarget: {target}\n"
        );
        let root = Root::of([("tidegate", static_tidegate())]);
        let sidecar = Plan::new(&root, &["/tidegate", "sidecar"])
            .env("TIDEGATE_CONFIG", &config)
            .joins_processes(self.sandbox.pid())
            .mount(self.shared.path(), "/shared", "ro")
            .start();
        eventually("SERVING", || self.sandbox.get(HEALTH, "/readyz"));
        sidecar
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
    let call = pod.sandbox.getting(8080, "/cgi-bin/slow");
    eventually("the call", || (app.left().len() >= 2).then_some(()));

    let hook = pod.sandbox.getting(HOOK, "/prestop");
    eventually("NOT_SERVING", || {
        pod.sandbox.get(HEALTH, "/readyz").is_none().then_some(())
    });
    // Who has not heard of it yet is still served.
    assert_eq!(pod.sandbox.get(8080, "/").as_deref(), Some("here\n"));
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
    assert_eq!(pod.sandbox.get(8081, "/").as_deref(), Some("here\n"));

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
    let hook = pod.sandbox.getting(HOOK, "/prestop");
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
