//! Every example of `examples/kubernetes/` is ready by its own probes, and drains by its own hook or signal.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::app::{Site, WWW, server};
use crate::container::{Plan, Root, busybox, can_be_made, static_tidegate};
use crate::example::{Image, Images, Pod, system};
use crate::support::children::program;
use crate::support::patience::eventually;

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn built(example: &str) -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_tidegate"))
        .with_file_name("examples")
        .join(example)
}

fn tidegate() -> (&'static str, Image) {
    let image = Image {
        files: vec![("tidegate", static_tidegate())],
        ..Image::default()
    };
    ("tidegate:0.1.0", image)
}

/// The gRPC service; its image may have brought tidegate along.
fn library() -> (&'static str, Image) {
    let image = Image {
        files: vec![("library", built("library")), ("tidegate", static_tidegate())],
        mounts: system(&[]),
        entrypoint: &["/library"],
        ..Image::default()
    };
    ("library:1.0.0", image)
}

/// Without a handler for SIGTERM it dies of it.
const UNHANDLED: i32 = 128 + 15;

fn a_library_drains(example: &str, wanted: i32) {
    if !can_be_made() {
        return;
    }
    let pod = Pod::start(example, &Images::from([tidegate(), library()]), &[]);
    pod.stop("TERM");
    let (code, report) = pod.end();
    assert_eq!((code, report.verdict()), (wanted, "drained"), "{report:?}");
}

#[test]
fn wrapped_by_an_init_container() {
    a_library_drains("wrap.yaml", UNHANDLED);
}

#[test]
fn wrapped_by_its_own_image_and_a_config_map() {
    a_library_drains("wrap-image.yaml", UNHANDLED);
}

#[test]
fn a_native_sidecar_and_its_hook() {
    // As PID 1 of its own namespace it has to handle it.
    a_library_drains("sidecar.yaml", 0);
}

#[test]
fn a_native_sidecar_that_sees_the_program() {
    a_library_drains("shared-pid.yaml", UNHANDLED);
}

#[test]
fn wrapped_by_an_image_volume() {
    if !can_be_made() {
        return;
    }
    let pod = Pod::start("image-volume.yaml", &Images::from([tidegate(), library()]), &[]);
    pod.stop("TERM");
    let (code, report) = pod.end();
    assert_eq!((code, report.verdict()), (UNHANDLED, "unmeasured"), "{report:?}");
}

#[test]
fn nginx() {
    if !can_be_made() {
        return;
    }
    let directory = TempDir::new().expect("a directory");
    let entrypoint = directory.path().join("docker-entrypoint.sh");
    fs::write(&entrypoint, "#!/bin/sh\nexec \"$@\"\n").expect("a script");
    program("nginx");
    let image = Image {
        files: vec![("docker-entrypoint.sh", entrypoint)],
        mounts: system(&["nginx"]),
        directories: &[
            "/run",
            "/var/log/nginx",
            "/var/lib/nginx",
            "/var/www/html",
            "/tmp",
        ],
        ..Image::default()
    };
    let pod = Pod::start(
        "nginx.yaml",
        &Images::from([tidegate(), ("nginx:1.28", image)]),
        &[],
    );
    pod.stop("QUIT");
    let (code, report) = pod.end();
    assert_eq!((code, report.verdict()), (0, "unmeasured"), "{report:?}");
    assert_eq!(report.text("trigger"), "SIGQUIT");
}

/// One route, to a program in the same pod; and the admin where the example wants it.
const EDGE: &str = r#"
admin: {address: {socket_address: {address: 0.0.0.0, port_value: 9901}}}
static_resources:
  listeners:
  - address: {socket_address: {address: 0.0.0.0, port_value: 10000}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: edge
          http_filters:
          - name: envoy.filters.http.router
            typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
          route_config:
            virtual_hosts:
            - {name: app, domains: ["*"], routes: [{match: {prefix: /}, route: {cluster: app}}]}
  clusters:
  - name: app
    type: STATIC
    load_assignment:
      cluster_name: app
      endpoints:
      - lb_endpoints: [{endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: 8000}}}}]
"#;

#[test]
fn envoy_in_place_of_a_shutdown_manager() {
    if !can_be_made() {
        return;
    }
    let packages = fs::read_dir(here(".venv/lib")).expect("make test makes .venv");
    let binary = packages
        .map(|entry| {
            entry
                .expect("an entry")
                .path()
                .join("site-packages/envoy/_bin/envoy")
        })
        .find(|path| path.exists())
        .expect("Envoy is there: tests/needs.sh");
    let image = Image {
        mounts: system(&[])
            .into_iter()
            .chain([(binary, "/usr/local/bin/envoy".to_owned())])
            .collect(),
        directories: &["/tmp"],
        ..Image::default()
    };
    let images = Images::from([tidegate(), ("envoyproxy/envoy:v1.34-latest", image)]);
    let maps = [("edge-envoy", "envoy.yaml", EDGE)];
    let pod = Pod::start("envoy.yaml", &images, &maps);
    let site = Site::new();
    let upstream = server("8000");
    let line: Vec<&str> = upstream.iter().map(String::as_str).collect();
    let _upstream = Plan::new(&Root::of([("busybox", busybox())]), &line)
        .joins(pod.sandbox.pid())
        .mount(site.path(), WWW, "ro")
        .start();
    eventually("a page", || pod.sandbox.get(10000, "/"));
    let call = pod.sandbox.getting(10000, "/cgi-bin/slow");
    let under_way = || {
        let page = pod
            .sandbox
            .get(9901, "/stats?filter=http.edge.downstream_rq_active")?;
        page.contains("http.edge.downstream_rq_active: 1").then_some(())
    };
    eventually("the call", under_way);
    pod.stop("TERM");
    eventually("not ready", || (!pod.is_ready()).then_some(()));
    // /healthcheck/fail: clients are told to go elsewhere, and served.
    eventually("Connection: close", || {
        let headers = pod
            .sandbox
            .inside("curl", &["-sI", "http://127.0.0.1:10000/"])
            .output();
        let headers = String::from_utf8_lossy(&headers.expect("curl starts").stdout).into_owned();
        assert!(headers.starts_with("HTTP/1.1 200"), "{headers}");
        headers.contains("connection: close").then_some(())
    });
    site.let_go();
    assert_eq!(call.body(), "done\n");
    let (code, report) = pod.end();
    assert_eq!((code, report.verdict()), (0, "drained"), "{report:?}");
}

#[test]
fn a_java_service() {
    if !can_be_made() {
        return;
    }
    let directory = TempDir::new().expect("a directory");
    let within = |arguments: &[&str]| {
        let [program, arguments @ ..] = arguments else {
            unreachable!()
        };
        let said = Command::new(program)
            .args(arguments)
            .current_dir(directory.path())
            .output();
        let said = said.unwrap_or_else(|why| panic!("{program}: {why}: tests/needs.sh"));
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    };
    let source = here("tests/java/Orders.java");
    within(&["javac", "-d", "classes", source.to_str().expect("UTF-8")]);
    within(&["jar", "cfe", "orders.jar", "Orders", "-C", "classes", "."]);
    let image = Image {
        mounts: system(&["java"])
            .into_iter()
            .chain([(directory.path().join("orders.jar"), "/app/orders.jar".to_owned())])
            .collect(),
        directories: &["/tmp"],
        ..Image::default()
    };
    let pod = Pod::start(
        "java.yaml",
        &Images::from([tidegate(), ("orders:1.0.0", image)]),
        &[],
    );
    pod.stop("TERM");
    let (code, report) = pod.end();
    assert_eq!((code, report.verdict()), (0, "drained"), "{report:?}");
}

#[test]
fn none_is_left_out() {
    let entries = fs::read_dir(here("examples/kubernetes")).expect("a directory");
    for entry in entries {
        let name = entry.expect("an entry").file_name().into_string().expect("UTF-8");
        let played = include_str!("examples.rs").contains(&format!("\"{name}\""));
        assert!(
            played || !name.ends_with(".yaml"),
            "{name} is played by no test here"
        );
    }
}
