//! What is in `examples/` does what its own words say.

mod support;

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::Deserialize;
use serde_yaml::Value;

use support::lines::Lines;
use support::processes::{MARK, marked};

/// The demo's own promise is less than 40 s.
const DEMO: Duration = Duration::from_secs(40);

#[test]
fn the_demo_loses_calls_only_without_tidegate() {
    let begun = Instant::now();
    let output = demo("whole").output().expect("the demo starts");
    let (said, failure) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{said}{failure}");
    assert!(begun.elapsed() < DEMO, "it took {:?}", begun.elapsed());
    assert!(!said.contains('\x1b'), "colours on a pipe: {said}");
    let row = said
        .lines()
        .find(|line| line.starts_with("calls failed"))
        .expect("a row of failed calls");
    let counts: Vec<u32> = row
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    assert_eq!(counts[0], 0, "{said}");
    assert!(counts[1] > 0, "without tidegate there is nothing to show: {said}");
    assert!(marked("whole").is_empty(), "the demo left processes behind");
}

#[test]
fn an_interrupted_demo_leaves_nothing_running() {
    let mut process = demo("cut")
        .stdout(Stdio::piped())
        .spawn()
        .expect("the demo starts");
    let said = Lines::of("the demo", process.stdout.take().expect("a pipe"));
    said.wait_for("SIGTERM");
    kill(Pid::from_raw(process.id() as i32), Signal::SIGINT).expect("the demo is there");
    assert!(
        !process.wait().expect("it ends").success(),
        "an interrupted demo has shown nothing"
    );
    // The wrapped program dies of its parent's death, a moment later.
    support::patience::eventually("the demo's processes are gone", || {
        marked("cut").is_empty().then_some(())
    });
}

#[test]
fn the_pod_to_copy_holds() {
    let manifests = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/kubernetes/wrap.yaml");
    let text = std::fs::read_to_string(manifests).expect("the manifests can be read");
    let mut documents = serde_yaml::Deserializer::from_str(&text);
    let deployment = documents
        .next()
        .map(Value::deserialize)
        .expect("a document")
        .expect("YAML");
    let pod = &deployment["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    let config = container["env"][0]["value"].as_str().expect("TIDEGATE_CONFIG");

    let file = tempfile::NamedTempFile::with_suffix(".yaml").expect("a file");
    std::fs::write(file.path(), config).expect("the config can be written");
    let binary = std::env::var_os("TIDEGATE_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_tidegate").into());
    let output = Command::new(binary)
        .arg("check")
        .arg(file.path())
        .output()
        .expect("tidegate starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stdout)
    );

    let config: Value = serde_yaml::from_str(config).expect("YAML");
    assert_eq!(
        config["terminationGracePeriodSeconds"],
        pod["terminationGracePeriodSeconds"]
    );
    let port = &container["readinessProbe"]["grpc"]["port"];
    let listen = config["health"]["listen"].as_str().expect("an address");
    assert_eq!(
        listen.rsplit(':').next(),
        port.as_u64().map(|port| port.to_string()).as_deref()
    );
    assert_eq!(port, &container["livenessProbe"]["grpc"]["port"]);
    let service = &container["readinessProbe"]["grpc"]["service"];
    assert!(
        config["health"]["services"]
            .as_sequence()
            .is_some_and(|names| names.contains(service))
    );
}

fn demo(mark: &str) -> Command {
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_tidegate"))
        .with_file_name("examples")
        .join("demo");
    let mut command = Command::new(binary);
    command.env(MARK, mark).stdin(Stdio::null());
    command
}
