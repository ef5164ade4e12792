//! What there is to copy: examples and charts hold by `tidegate check`, and by the API's own types.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_yaml::Value;

use support::children::grpc_python;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn examples() -> Vec<PathBuf> {
    let folder = root().join("examples/kubernetes");
    let entries = std::fs::read_dir(folder).expect("a folder");
    let files = entries.map(|entry| entry.expect("an entry").path());
    let files: Vec<_> = files
        .filter(|path| path.extension().is_some_and(|ext| ext == "yaml"))
        .collect();
    assert!(files.len() == 8, "{files:?}");
    files
}

/// What `check --strict` says.
fn said(file: &Path) -> Vec<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_tidegate"))
        .args(["check", "--strict"])
        .arg(file)
        .output()
        .expect("tidegate starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    said.lines().map(str::to_owned).collect()
}

/// Every field that is written is one of the API's: it comes out again.
fn is_all_of<T: DeserializeOwned + Serialize>(document: &Value) {
    let json = serde_json::to_value(document).expect("JSON");
    let typed: T = serde_json::from_value(json.clone()).unwrap_or_else(|why| panic!("{why}: {json:#}"));
    let again = serde_json::to_value(typed).expect("JSON");
    lost(&json, &again, "");
}

fn lost(written: &serde_json::Value, read: &serde_json::Value, path: &str) {
    use serde_json::Value::{Array, Object};
    match (written, read) {
        (Object(written), Object(read)) => {
            for (key, value) in written {
                let path = format!("{path}.{key}");
                let empty = value.as_object().is_some_and(serde_json::Map::is_empty);
                match read.get(key) {
                    Some(read) => lost(value, read, &path),
                    None => assert!(empty || value.is_null(), "the API has no {path}"),
                }
            }
        }
        (Array(written), Array(read)) => {
            assert_eq!(written.len(), read.len(), "{path}");
            for (index, (written, read)) in written.iter().zip(read).enumerate() {
                lost(written, read, &format!("{path}[{index}]"));
            }
        }
        (written, read) => assert_eq!(written, read, "{path}"),
    }
}

fn holds(text: &str) {
    for document in serde_yaml::Deserializer::from_str(text) {
        let document = Value::deserialize(document).expect("YAML");
        match document["kind"].as_str() {
            Some("Deployment") => is_all_of::<Deployment>(&document),
            Some("ConfigMap") => is_all_of::<ConfigMap>(&document),
            Some("Service") => is_all_of::<Service>(&document),
            other => panic!("no type for {other:?}"),
        }
    }
}

#[test]
fn every_example_holds() {
    for file in examples() {
        assert_eq!(said(&file), [""; 0], "{}", file.display());
        holds(&std::fs::read_to_string(&file).expect("the example"));
    }
}

#[test]
fn what_inject_writes_is_of_the_api() {
    let program = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers: [{name: web, image: web, command: [/web], readinessProbe: {httpGet: {path: /, port: 80}}}]\n";
    let config = "terminationGracePeriodSeconds: 40\nlifecycle: {listen: '0.0.0.0:9200'}\n";
    let directory = tempfile::tempdir().expect("a directory");
    let (manifest, settings) = (directory.path().join("web.yaml"), directory.path().join("t.yaml"));
    std::fs::write(&manifest, program).expect("a file");
    std::fs::write(&settings, config).expect("a file");
    for mode in ["wrap", "sidecar"] {
        let output = Command::new(env!("CARGO_BIN_EXE_tidegate"))
            .args(["inject", "--mode", mode, "-f"])
            .arg(&manifest)
            .arg("--config")
            .arg(&settings)
            .output()
            .expect("tidegate starts");
        let text = String::from_utf8(output.stdout).expect("text");
        assert!(
            text.contains("tidegate"),
            "{mode}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        holds(&text);
    }
}

#[test]
fn a_field_the_api_does_not_have_would_be_seen() {
    let text = std::fs::read_to_string(root().join("examples/kubernetes/wrap.yaml")).expect("the example");
    let text = text.replace("minReadySeconds", "minReadySecond");
    assert!(std::panic::catch_unwind(|| holds(&text)).is_err());
}

fn chart(values: &str) -> Result<String, String> {
    let script = root().join("tests/python/chart.py");
    let output = Command::new(grpc_python())
        .arg(script)
        .arg(root().join("charts/demo"))
        .args(["web", values])
        .output()
        .expect("python starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() {
        Ok(String::from_utf8(output.stdout).expect("text"))
    } else {
        Err(said)
    }
}

#[test]
fn the_chart_holds_by_helms_engine_the_api_and_check() {
    for values in [
        "{}",
        r#"{"tidegate": {"terminationGracePeriodSeconds": 90, "propagationSeconds": 20, "port": 9444, "service": ""}}"#,
        r#"{"tidegate": {"terminationGracePeriodSeconds": 5, "propagationSeconds": 1, "config": {"child": {"stopTimeout": "1s"}}}}"#,
        r#"{"tidegate": {"config": {"inflight": [{"prometheus": {"url": "http://127.0.0.1:1/", "query": "sum({a=~\"x$\"})"}}]}}}"#,
        r#"{"tidegate": {"config": {"hooks": {"onDrain": [{"nacos": {"address": "http://$(HOST_IP):8848", "serviceName": "web", "ip": "$(POD_IP)", "port": 1}}]}}}}"#,
        r#"{"tidegate": {"mode": "sidecar", "config": {"hooks": {"onDrain": [{"eureka": {"address": "http://$(HOST_IP)/e", "app": "$(POD_NAMESPACE)", "instanceId": "$(POD_NAME):$(NODE_NAME)"}}]}}}}"#,
        r#"{"tidegate": {"mode": "sidecar"}}"#,
        r#"{"tidegate": {"mode": "sidecar", "port": 9444, "hookPort": 9445, "config": {"target": {"ports": [50051]}}}}"#,
        r#"{"tidegate": {"mode": "sidecar", "hookHeaders": [{"name": "Authorization", "value": "Bearer x"}], "config": {"lifecycle": {"tokenFile": "/t/token"}}, "volumeMounts": [{"name": "token", "mountPath": "/t"}]}}"#,
    ] {
        let text = chart(values).unwrap_or_else(|said| panic!("{values}: {said}"));
        holds(&text);
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), &text).expect("a file");
        assert_eq!(said(file.path()), [""; 0], "{values}\n{text}");
    }
}

#[test]
fn the_charts_modes_are_two_ways_to_the_same() {
    let pod = |values: &str| {
        let text = chart(values).unwrap_or_else(|said| panic!("{values}: {said}"));
        let first = serde_yaml::Deserializer::from_str(&text)
            .next()
            .expect("a document");
        Value::deserialize(first).expect("YAML")["spec"]["template"]["spec"].clone()
    };
    let wrapped = pod("{}");
    let beside = pod(r#"{"tidegate": {"mode": "sidecar", "config": {"target": {"ports": [50051]}}}}"#);
    let (app, its) = (&wrapped["containers"][0], &beside["containers"][0]);
    assert_eq!(app["command"][0], "/tidegate-bin/tidegate");
    assert_eq!(its["command"][0], "/library");
    assert_eq!(app["lifecycle"], Value::Null);
    assert_eq!(its["lifecycle"]["preStop"]["httpGet"]["port"], 9096);
    assert_eq!(wrapped["shareProcessNamespace"], Value::Null);
    assert_eq!(beside["shareProcessNamespace"], true);
    assert_eq!(beside["volumes"], Value::Null);
    assert_eq!(
        app["readinessProbe"],
        beside["initContainers"][0]["readinessProbe"]
    );
    assert_eq!(
        wrapped["terminationGracePeriodSeconds"],
        beside["terminationGracePeriodSeconds"]
    );
}

#[test]
fn the_charts_schema_refuses_slips() {
    for (values, why) in [
        (r#"{"tidegate": {"port": 0}}"#, "/port"),
        (r#"{"tidegate": {"prot": 9095}}"#, "prot"),
        (r#"{"tidegate": {"config": {"drian": {}}}}"#, "drian"),
        (
            r#"{"tidegate": {"config": {"terminationGracePeriodSeconds": 10}}}"#,
            "config",
        ),
        (r#"{"command": []}"#, "command"),
        (r#"{"tidegate": {"mode": "besides"}}"#, "mode"),
        (
            r#"{"tidegate": {"config": {"target": {"ports": [1]}}}}"#,
            "config",
        ),
        (
            r#"{"tidegate": {"mode": "sidecar", "config": {"lifecycle": {"listen": "0.0.0.0:1"}}}}"#,
            "lifecycle",
        ),
    ] {
        let said = chart(values).expect_err(values);
        assert!(said.contains(why), "{values}: {said}");
    }
}

#[test]
fn service_configs_to_copy_are_json_and_have_their_fields() {
    let text = include_str!("../docs/kubernetes.md");
    let blocks: Vec<&str> = text
        .split("```json\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap_or(""))
        .collect();
    assert!(blocks.len() >= 2, "{}", blocks.len());
    let known = [
        "loadBalancingConfig",
        "healthCheckConfig",
        "methodConfig",
        "retryThrottling",
    ];
    for block in blocks {
        let config: serde_json::Value =
            serde_json::from_str(block).unwrap_or_else(|why| panic!("{why}: {block}"));
        let keys = config.as_object().expect("an object").keys();
        for key in keys {
            assert!(
                known.contains(&key.as_str()),
                "{key} is no key of a service config (grpc.service_config.ServiceConfig)"
            );
        }
    }
}
