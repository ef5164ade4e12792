//! An example of `examples/kubernetes/`, played: its containers with their commands, settings, volumes and users, asked by
//! its probes, stopped by its hook and its image's stop signal. Only the images are the machine's own programs, and the
//! windows are shorter.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_yaml::Value;
use tempfile::TempDir;

use crate::app::termination_log;
use crate::container::{Container, Plan, Root};
use crate::sandbox::{POD, Sandbox};
use crate::support::children::{grpc_python, script};
use crate::support::patience::eventually;
use crate::support::termination::Termination;

/// What an image is played by.
#[derive(Default)]
pub struct Image {
    /// Files in `/`.
    pub files: Vec<(&'static str, PathBuf)>,
    /// Files and directories of the machine, and where they are in the image.
    pub mounts: Vec<(PathBuf, String)>,
    /// Directories that are there to be written to.
    pub directories: &'static [&'static str],
    /// Its ENTRYPOINT.
    pub entrypoint: &'static [&'static str],
}

impl Image {
    /// The directories, and the links by which the machine's programs find each other.
    fn furnish(&self, root: &Path) {
        for name in ["bin", "sbin", "lib", "lib64"] {
            symlink(format!("usr/{name}"), root.join(name)).expect("a link");
        }
        for directory in self.directories {
            let path = root.join(directory.trim_start_matches('/'));
            fs::create_dir_all(&path).expect("a directory");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o1777)).expect("its mode");
        }
    }
}

/// The images by the names the example has for them.
pub type Images = BTreeMap<&'static str, Image>;

/// A pod of an example.
pub struct Pod {
    pub sandbox: Sandbox,
    spec: Value,
    /// What its volumes and termination messages are kept in.
    directory: TempDir,
    sidecars: Vec<Container>,
    main: Option<Container>,
}

impl Pod {
    /// Starts it as a kubelet does: init containers in their order, then the program; and waits until it is ready.
    /// ConfigMaps that the example does not have are in `maps`.
    pub fn start(name: &str, images: &Images, maps: &[(&str, &str, &str)]) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("examples/kubernetes")
            .join(name);
        let text = fs::read_to_string(path).expect("the example");
        let documents: Vec<Value> = serde_yaml::Deserializer::from_str(&text)
            .map(|document| Value::deserialize(document).expect("YAML"))
            .collect();
        let workload = documents.iter().find(|document| document["kind"] == "Deployment");
        let spec = workload.expect("a Deployment")["spec"]["template"]["spec"].clone();
        let mut pod = Self {
            sandbox: Sandbox::new(),
            spec,
            directory: TempDir::new().expect("a directory"),
            sidecars: Vec::new(),
            main: None,
        };
        fs::set_permissions(pod.directory.path(), fs::Permissions::from_mode(0o755)).expect("its mode");
        pod.make_volumes(&documents, images, maps);
        for container in items(&pod.spec["initContainers"]) {
            let mut started = pod.container(&container, images);
            if container["restartPolicy"] == "Always" {
                pod.sidecars.push(started);
                pod.wait_for_probes(&container);
            } else {
                assert_eq!(started.end(), 0, "{:?}", started.stderr.so_far());
            }
        }
        let program = pod.spec["containers"][0].clone();
        pod.main = Some(pod.container(&program, images));
        pod.wait_for_probes(&program);
        pod
    }

    fn volume(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn make_volumes(&self, documents: &[Value], images: &Images, maps: &[(&str, &str, &str)]) {
        for volume in items(&self.spec["volumes"]) {
            let name = text(&volume["name"]);
            let path = self.volume(name);
            fs::create_dir(&path).expect("a directory");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).expect("its mode");
            if let Some(map) = volume["configMap"]["name"].as_str() {
                let of_the_example = documents
                    .iter()
                    .find(|document| document["kind"] == "ConfigMap" && document["metadata"]["name"] == map);
                let data = of_the_example.and_then(|document| document["data"].as_mapping());
                for (key, value) in data.into_iter().flatten() {
                    fs::write(path.join(text(key)), text(value)).expect("a file");
                }
                for (_, key, value) in maps.iter().filter(|(name, _, _)| *name == map) {
                    fs::write(path.join(key), value).expect("a file");
                }
            } else if let Some(image) = volume["image"]["reference"].as_str() {
                for (name, from) in &images[image].files {
                    fs::copy(from, path.join(name)).expect("a copy");
                }
            } else {
                assert!(volume["emptyDir"].is_mapping(), "{volume:?}");
            }
        }
    }

    fn container(&self, container: &Value, images: &Images) -> Container {
        let image = &images[text(&container["image"])];
        let words = |key: &str| items(&container[key]).map(|word| text(&word).to_owned());
        let mut line: Vec<String> = words("command").collect();
        if line.is_empty() {
            line.extend(image.entrypoint.iter().map(ToString::to_string));
        }
        line.extend(words("args"));
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        let log = self
            .directory
            .path()
            .join(format!("of-{}", text(&container["name"])));
        fs::create_dir(&log).expect("a directory");
        let mut plan = Plan::new(&Root::of(image.files.clone()), &line)
            .env(
                "PATH",
                "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            )
            // Its windows are for load balancers that are not here.
            .env("TIDEGATE_DRAIN_PROPAGATION", "500ms")
            .env("TIDEGATE_DRAIN_QUIET", "300ms")
            .user(user(&self.spec, container))
            .mount(&termination_log(&log), "/dev/termination-log", "rw");
        if container["securityContext"].is_null() {
            plan = plan.unconfined();
        }
        plan = if self.spec["shareProcessNamespace"] == true {
            plan.joins_processes(self.sandbox.pid())
        } else {
            plan.joins(self.sandbox.pid())
        };
        image.furnish(&plan.root());
        for (from, to) in &image.mounts {
            plan = plan.mount(from, to, "ro");
        }
        for variable in items(&container["env"]) {
            plan = plan.env(text(&variable["name"]), text(&variable["value"]));
        }
        for mount in items(&container["volumeMounts"]) {
            let mode = if mount["readOnly"] == true { "ro" } else { "rw" };
            plan = plan.mount(
                &self.volume(text(&mount["name"])),
                text(&mount["mountPath"]),
                mode,
            );
        }
        plan.start()
    }

    /// The startup probe, then the others: all of them have to succeed.
    fn wait_for_probes(&self, container: &Value) {
        for kind in ["startupProbe", "readinessProbe", "livenessProbe"] {
            let probe = &container[kind];
            if !probe.is_null() {
                let what = format!("{kind} of {}", text(&container["name"]));
                eventually(&what, || self.succeeds(container, probe).then_some(()));
            }
        }
    }

    fn succeeds(&self, container: &Value, probe: &Value) -> bool {
        if let Some(port) = probe["grpc"]["port"].as_u64() {
            let (address, service) = (format!("{POD}:{port}"), probe["grpc"]["service"].as_str());
            let arguments = [&script("check.py"), &address, service.unwrap_or("")];
            let said = self.sandbox.inside(&grpc_python(), &arguments).output();
            return said.expect("python starts").stdout == b"SERVING\n";
        }
        if let Some(path) = probe["httpGet"]["path"].as_str() {
            return self
                .sandbox
                .get(port(container, &probe["httpGet"]["port"]), path)
                .is_some();
        }
        let port = port(container, &probe["tcpSocket"]["port"]);
        let script = format!("exec 3<>/dev/tcp/{POD}/{port}");
        let said = self.sandbox.inside("bash", &["-c", &script]).output();
        said.expect("bash starts").status.success()
    }

    /// Whether its readiness probes succeed.
    pub fn is_ready(&self) -> bool {
        ["initContainers", "containers"]
            .iter()
            .flat_map(|key| items(&self.spec[*key]))
            .filter(|container| !container["readinessProbe"].is_null())
            .all(|container| self.succeeds(&container, &container["readinessProbe"]))
    }

    /// The hook and the stop signal, which the image may have another of.
    pub fn stop(&self, signal: &str) {
        let program = &self.spec["containers"][0];
        let hook = &program["lifecycle"]["preStop"]["httpGet"];
        if !hook.is_null() {
            let said = self
                .sandbox
                .get(port(program, &hook["port"]), text(&hook["path"]));
            assert!(said.is_some(), "the hook failed");
        }
        let main = self.main.as_ref().expect("it started");
        // A hook may have seen to its end.
        if !main.left().is_empty() {
            main.kill(signal);
        }
    }

    /// The end of the program: its exit code, and the report of whoever drained it.
    pub fn end(mut self) -> (i32, Termination) {
        let code = self.main.as_mut().expect("it started").end();
        for sidecar in &mut self.sidecars {
            sidecar.kill("TERM");
            assert_eq!(sidecar.end(), 0, "{:?}", sidecar.stderr.so_far());
        }
        let reporter = if self.sidecars.is_empty() {
            &self.spec["containers"][0]["name"]
        } else {
            &self.spec["initContainers"][0]["name"]
        };
        let log = self
            .directory
            .path()
            .join(format!("of-{}/termination-log", text(reporter)));
        (code, Termination::read(&log))
    }
}

fn items(list: &Value) -> impl Iterator<Item = Value> + use<> {
    list.as_sequence().cloned().unwrap_or_default().into_iter()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value:?}"))
}

fn port(container: &Value, written: &Value) -> u16 {
    let number = written.as_u64().or_else(|| {
        items(&container["ports"])
            .find(|port| port["name"] == *written)
            .and_then(|port| port["containerPort"].as_u64())
    });
    number.and_then(|port| port.try_into().ok()).expect("a port")
}

fn user(pod: &Value, container: &Value) -> u32 {
    let written = [container, pod].map(|node| node["securityContext"]["runAsUser"].as_u64());
    written.into_iter().flatten().next().map_or(0, |user| user as u32)
}

/// What every program of the machine needs of it: libraries, other programs, the names of its users; and what of
/// `/etc` begins with these names.
pub fn system(etc: &[&str]) -> Vec<(PathBuf, String)> {
    let of_usr = ["bin", "sbin", "lib", "lib64", "share"].map(|name| PathBuf::from("/usr").join(name));
    let usual = [
        "alternatives",
        "group",
        "ld.so.cache",
        "nsswitch.conf",
        "passwd",
        "ssl",
    ];
    let of_etc = fs::read_dir("/etc")
        .expect("a directory")
        .map(|entry| entry.expect("an entry").path());
    let of_etc = of_etc.filter(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
        usual.contains(&name) || etc.iter().any(|start| name.starts_with(start))
    });
    of_usr
        .into_iter()
        .chain(of_etc)
        .map(|path| (path.clone(), path.to_string_lossy().into_owned()))
        .collect()
}
