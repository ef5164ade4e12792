//! `tidegate inject`: what is not ours means the same, `check` finds nothing, twice is once.

use std::path::Path;
use std::process::{Command, Output};

use serde_yaml::Value;

const SHOP: &str = r#"# kept: the head of a document
apiVersion: v1
kind: Service
metadata: {name: cart}   # kept: documents without a pod are passed on as they are
spec: {selector: {app: cart}}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: cart
  labels: {app: cart, odd: "0644", on: "off"}
spec:
  replicas: 2
  template:
    metadata:
      labels: {app: cart}
    spec:
      terminationGracePeriodSeconds: 5
      securityContext: &confined {runAsNonRoot: true, runAsUser: 1000}
      initContainers:
      - name: migrate
        image: cart
        command: [/migrate]
      containers:
      - name: server
        image: cart
        command: [/cart]
        args: ["--name", "a b", "--mode", "0755"]
        securityContext: *confined
        env:
        - {name: TEXT, value: "true"}
        - name: SCRIPT
          value: |
            one
              two
        ports:
        - containerPort: 7070
        - {name: health, containerPort: 9095}
        readinessProbe:
          initialDelaySeconds: 15
          grpc: {port: 7070}
        livenessProbe:
          grpc: {port: 7070}
        volumeMounts: [{name: scripts, mountPath: /s}]
      volumes:
      - name: scripts
        configMap: {name: scripts, defaultMode: 0644}
"#;

fn inject(directory: &Path, manifest: &str, options: &[&str]) -> Output {
    let file = directory.join("in.yaml");
    std::fs::write(&file, manifest).expect("a file");
    Command::new(env!("CARGO_BIN_EXE_tidegate"))
        .args(["inject", "-f"])
        .arg(file)
        .args(options)
        .output()
        .expect("tidegate starts")
}

fn injected(manifest: &str, options: &[&str]) -> String {
    let directory = tempfile::tempdir().expect("a directory");
    let output = inject(directory.path(), manifest, options);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    String::from_utf8(output.stdout).expect("text")
}

fn refused(manifest: &str, options: &[&str]) -> String {
    let directory = tempfile::tempdir().expect("a directory");
    let output = inject(directory.path(), manifest, options);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty(), "half of it is worse than nothing");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn assert_check_finds_nothing(manifest: &str) {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), manifest).expect("a file");
    let output = Command::new(env!("CARGO_BIN_EXE_tidegate"))
        .args(["check", "--strict"])
        .arg(file.path())
        .output()
        .expect("tidegate starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!((output.status.code(), said.as_ref()), (Some(0), ""), "{manifest}");
}

fn documents(text: &str) -> Vec<Value> {
    use serde::Deserialize;
    serde_yaml::Deserializer::from_str(text)
        .map(|document| Value::deserialize(document).expect(text))
        .collect()
}

#[test]
fn what_is_not_ours_means_the_same() {
    let text = injected(SHOP, &[]);
    assert!(
        text.starts_with(&SHOP[..SHOP.find("apiVersion: apps").expect("there")]),
        "{text}"
    );
    // Kubernetes reads YAML 1.1, to which the quotes decide what these are.
    for kept in [
        "defaultMode: 0644",
        "odd: \"0644\"",
        "on: \"off\"",
        "- \"0755\"",
        "value: \"true\"",
    ] {
        assert!(text.contains(kept), "{kept} in {text}");
    }
    let (before, mut after) = (documents(SHOP), documents(&text));
    let spec = &mut after[1]["spec"];
    assert_eq!(spec["minReadySeconds"], 1);
    remove(spec, "minReadySeconds");
    let pod = &mut spec["template"]["spec"];
    take(&mut pod["initContainers"], 0);
    take(&mut pod["volumes"], 1);
    let server = &mut pod["containers"][0];
    for key in ["env", "ports", "volumeMounts"] {
        let items = server[key].as_sequence().expect(key).len();
        take(&mut server[key], items - 1);
    }
    // The port 9095 was taken; and the grace.
    take(&mut server["env"], 4 - 1);
    take(&mut server["env"], 3 - 1);
    let command = server["command"].as_sequence_mut().expect("a command");
    command.drain(..3);
    let own = &before[1]["spec"]["template"]["spec"]["containers"][0]["readinessProbe"];
    server["readinessProbe"] = own.clone();
    assert_eq!(before, after);
}

/// The container of the shop with this readiness probe, injected; and what was said.
fn with_probe(probe: &str, config: Option<&str>) -> (Value, String) {
    let own = "          initialDelaySeconds: 15\n          grpc: {port: 7070}\n        liveness";
    assert!(SHOP.contains(own));
    let manifest = SHOP.replace(own, &format!("          {probe}\n        liveness"));
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("t.yaml");
    let mut options = Vec::new();
    if let Some(text) = config {
        std::fs::write(&file, text).expect("a file");
        options.extend(["--config", file.to_str().expect("UTF-8")]);
    }
    let output = inject(directory.path(), &manifest, &options);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let text = text_of(output);
    assert_check_finds_nothing(&text);
    let container = &documents(&text)[1]["spec"]["template"]["spec"]["containers"][0];
    (container.clone(), said)
}

/// What a container's `TIDEGATE_CONFIG` says, as tidegate reads it.
fn settings(container: &Value) -> Value {
    let variables = container["env"].as_sequence().expect("a list");
    let text = variables
        .iter()
        .find(|variable| variable["name"] == "TIDEGATE_CONFIG")
        .map_or("{}".to_owned(), |variable| {
            variable["value"].as_str().expect("text").replace("$$", "$")
        });
    serde_yaml::from_str(&text).expect("YAML")
}

#[test]
fn what_the_apps_readiness_probe_asked_tidegate_asks() {
    let usual = "interval: 10s, timeout: 1s, failures: 3";
    for (probe, check) in [
        ("grpc: {port: 7070}", format!("grpc: '127.0.0.1:7070', {usual}")),
        (
            "httpGet: {path: '/up?a=$b', port: health}",
            format!("http: 'http://127.0.0.1:9095/up?a=$b', {usual}"),
        ),
        (
            "httpGet: {port: '80', scheme: http}",
            format!("http: 'http://127.0.0.1:80/', {usual}"),
        ),
        (
            "tcpSocket: {port: 7070}",
            format!("tcp: '127.0.0.1:7070', {usual}"),
        ),
        (
            "exec: {command: [/up, 'a b']}",
            format!("exec: {{command: [/up, 'a b']}}, {usual}"),
        ),
        (
            "{tcpSocket: {port: 1}, periodSeconds: 3, timeoutSeconds: 2, failureThreshold: 5, successThreshold: 1}",
            "tcp: '127.0.0.1:1', interval: 3s, timeout: 2s, failures: 5".to_owned(),
        ),
    ] {
        let (container, said) = with_probe(probe, None);
        let wanted: Value = serde_yaml::from_str(&format!("{{name: readiness, {check}}}")).expect("YAML");
        assert_eq!(settings(&container)["health"]["checks"][0], wanted);
        assert_eq!(container["readinessProbe"]["grpc"]["port"], 9096);
        assert!(
            container["startupProbe"].is_null(),
            "{probe}: liveness begins when it did"
        );
        assert!(said.contains("is its check of that name"), "{said}");
    }
    let config = "health: {services: [cart]}\ninflight: [{prometheus: {url: 'http://127.0.0.1/', query: '{x=~\"$a\"}'}}]\n";
    let (container, _) = with_probe("tcpSocket: {port: 7070}", Some(config));
    let settings = settings(&container);
    assert_eq!(settings["health"]["services"][0], "cart");
    assert_eq!(settings["health"]["checks"][0]["tcp"], "127.0.0.1:7070");
    assert_eq!(settings["inflight"][0]["prometheus"]["query"], "{x=~\"$a\"}");
}

#[test]
fn a_config_may_say_of_its_pod_what_only_the_cluster_knows() {
    let config = "hooks: {onDrain: [{consul: {address: 'http://$(HOST_IP):8500', serviceId: '$(POD_NAME)-$(TEXT)', timeout: 1s}}]}\n";
    let (container, _) = with_probe("tcpSocket: {port: 7070}", Some(config));
    let variables = container["env"].as_sequence().expect("a list");
    let names: Vec<_> = variables
        .iter()
        .filter_map(|variable| variable["name"].as_str())
        .collect();
    // A reference is to a variable in front of it.
    assert_eq!(
        names[4..],
        ["HOST_IP", "POD_NAME", "TIDEGATE_CONFIG"],
        "{names:?}"
    );
    assert_eq!(
        variables[4]["valueFrom"]["fieldRef"]["fieldPath"],
        "status.hostIP"
    );
    let value = variables[6]["value"].as_str().expect("text");
    assert!(value.contains("http://$(HOST_IP):8500"), "{value}");
    assert!(value.contains("$(POD_NAME)-$(TEXT)"), "{value}");
    assert_eq!(settings(&container)["health"]["checks"][0]["name"], "readiness");

    let text = text_of(beside(SHOP, Some(&config.replace("-$(TEXT)", ""))));
    assert_check_finds_nothing(&text);
    let sidecar = &documents(&text)[1]["spec"]["template"]["spec"]["initContainers"][0];
    assert!(
        sidecar["env"]
            .as_sequence()
            .expect("a list")
            .iter()
            .any(|variable| variable["name"] == "HOST_IP")
    );

    let output = beside(SHOP, Some(&config.replace("HOST_IP", "NOBODY")));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("the kubelet alone replaces $(…)"), "{said}");
}

#[test]
fn what_no_check_asks_is_asked_at_the_start_and_said() {
    let plain = "tcpSocket: {port: 7070}";
    for (probe, config) in [
        ("httpGet: {port: 80, httpHeaders: [{name: a, value: b}]}", None),
        ("httpGet: {port: 80, scheme: HTTPS}", None),
        ("httpGet: {port: 80, host: elsewhere}", None),
        ("httpGet: {port: 80, path: '/a b'}", None),
        ("tcpSocket: {port: 80, host: elsewhere}", None),
        ("grpc: {port: 80, service: cart}", None),
        (plain, Some("health: {app: {grpc: '127.0.0.1:1'}}\n")),
        (plain, Some("health: {checks: [{name: db, tcp: 'db:1'}]}\n")),
    ] {
        let (container, said) = with_probe(probe, config);
        assert_eq!(container["startupProbe"]["failureThreshold"], 60, "{probe}");
        assert!(
            said.contains("became its startup probe, for no check asks that"),
            "{said}"
        );
    }
}

fn remove(node: &mut Value, key: &str) {
    node.as_mapping_mut().expect("a mapping").remove(key);
}

fn take(list: &mut Value, index: usize) {
    list.as_sequence_mut().expect("a list").remove(index);
}

#[test]
fn check_finds_nothing_and_twice_is_once() {
    let once = injected(SHOP, &[]);
    assert_check_finds_nothing(&once);
    assert!(once.contains("0.0.0.0:9096"), "9095 is taken: {once}");
    // And so is the name: a pod has it once.
    assert!(once.contains("name: tidegate-health"), "{once}");
    assert_eq!(injected(&once, &[]), once);
}

#[test]
fn every_kind_is_wrapped_and_holds() {
    let pod = "{containers: [{name: a, image: a, command: [/a]}]}";
    for (version, kind, spec) in [
        ("v1", "Pod", pod.to_owned()),
        ("apps/v1", "StatefulSet", format!("{{template: {{spec: {pod}}}}}")),
        ("apps/v1", "DaemonSet", format!("{{template: {{spec: {pod}}}}}")),
        ("apps/v1", "ReplicaSet", format!("{{template: {{spec: {pod}}}}}")),
        ("batch/v1", "Job", format!("{{template: {{spec: {pod}}}}}")),
        (
            "batch/v1",
            "CronJob",
            format!("{{jobTemplate: {{spec: {{template: {{spec: {pod}}}}}}}}}"),
        ),
    ] {
        let manifest = format!("apiVersion: {version}\nkind: {kind}\nmetadata: {{name: x}}\nspec: {spec}\n");
        let text = injected(&manifest, &[]);
        assert_check_finds_nothing(&text);
        let list = format!(
            "apiVersion: v1\nkind: List\nitems:\n- {{apiVersion: {version}, kind: {kind}, metadata: {{name: x}}, spec: {spec}}}\n"
        );
        assert_check_finds_nothing(&injected(&list, &[]));
        let outer = format!(
            "apiVersion: v1\nkind: List\nitems:\n- null\n- {{apiVersion: v1, kind: List, items: [{{apiVersion: {version}, kind: {kind}, metadata: {{name: x}}, spec: {spec}}}]}}\n"
        );
        let text = injected(&outer, &[]);
        assert!(text.contains("tidegate-bin"), "{text}");
        assert_check_finds_nothing(&text);
    }
}

#[test]
fn json_is_read_and_a_pod_without_containers_is_left_alone() {
    let json = r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"containers": [{"name": "a", "image": "a", "command": ["/a"]}]}}"#;
    for options in [&[][..], &["--mode", "sidecar"]] {
        let text = injected(json, options);
        assert_check_finds_nothing(&text);
        assert_eq!(injected(&text, options), text);
    }
    let empty = "apiVersion: v1\nkind: Pod\nmetadata: {name: y}\nspec: {containers: null}\n";
    let both = format!("{empty}---\n{json}\n");
    let directory = tempfile::tempdir().expect("a directory");
    let output = inject(directory.path(), &both, &[]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("Pod/y: left as it is, for it has no containers"),
        "{said}"
    );
}

#[test]
fn an_entrypoint_that_cannot_be_known_is_asked_for() {
    let manifest = SHOP.replace("        command: [/cart]\n", "");
    let said = refused(&manifest, &[]);
    assert!(
        said.contains("the image's own ENTRYPOINT cannot be known"),
        "{said}"
    );
    assert!(said.contains("--command"), "{said}");
    let text = injected(&manifest, &["--command", "/cart --verbose"]);
    assert_check_finds_nothing(&text);
    let command = &documents(&text)[1]["spec"]["template"]["spec"]["containers"][0]["command"];
    let words: Vec<_> = command
        .as_sequence()
        .expect("a list")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(
        words,
        ["/tidegate-bin/tidegate", "run", "--", "/cart", "--verbose"]
    );
    assert!(refused(SHOP, &["--command", "/cart"]).contains("has a command: already"));
}

#[test]
fn of_several_containers_one_is_named() {
    let manifest = SHOP.replace(
        "      volumes:\n",
        "      - {name: proxy, image: p, command: [/p]}\n      volumes:\n",
    );
    assert!(refused(&manifest, &[]).contains("which container? it has server, proxy"));
    assert!(refused(&manifest, &["--container", "nobody"]).contains("nothing to wrap"));
    let one = injected(&manifest, &["--container", "server"]);
    assert_check_finds_nothing(&one);
    // The second shares the first one's binary, and not its port.
    let both = injected(&one, &["--container", "proxy"]);
    assert_check_finds_nothing(&both);
    assert_eq!(both.matches("sizeLimit").count(), 1, "{both}");
}

#[test]
fn hooks_shells_and_message_paths_are_declared() {
    let manifest = SHOP
        .replace("Seconds: 5\n", "Seconds: 60\n")
        .replace("command: [/cart]", "command: [sh, -c, /cart $0 $1]\n        terminationMessagePath: /tmp/last\n        lifecycle: {preStop: {sleep: {seconds: 10}}}");
    let text = injected(&manifest, &[]);
    assert_check_finds_nothing(&text);
    assert!(
        text.contains("TIDEGATE_PRE_STOP_SECONDS") && text.contains("TIDEGATE_CHILD_SIGNAL_GROUP"),
        "{text}"
    );
}

#[test]
fn a_config_file_becomes_the_environments() {
    let directory = tempfile::tempdir().expect("a directory");
    let config = directory.path().join("t.yaml");
    let text = "terminationGracePeriodSeconds: 40\ndrain: {propagation: 7s}\ninflight:\n  - prometheus: {url: 'http://127.0.0.1/', query: 'sum({x=~\"$(A)$\"})'}\n";
    std::fs::write(&config, text).expect("a file");
    let output = inject(
        directory.path(),
        SHOP,
        &["--config", config.to_str().expect("UTF-8")],
    );
    let manifest = String::from_utf8(output.stdout).expect("text");
    assert_check_finds_nothing(&manifest);
    // The kubelet makes a $ of $$, and leaves $$(A) alone.
    assert!(manifest.contains("$$(A)$$"), "{manifest}");
    let spec = &documents(&manifest)[1]["spec"];
    assert_eq!(spec["minReadySeconds"], 7);
    assert_eq!(spec["template"]["spec"]["terminationGracePeriodSeconds"], 40);
    std::fs::write(&config, "drain: {propagaton: 7s}\n").expect("a file");
    let output = inject(
        directory.path(),
        SHOP,
        &["--config", config.to_str().expect("UTF-8")],
    );
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("did you mean drain.propagation?"), "{said}");
}

/// What `inject --mode sidecar` makes of the shop, with a config of that text.
fn beside(manifest: &str, config: Option<&str>) -> Output {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("t.yaml");
    let mut options = vec!["--mode", "sidecar"];
    if let Some(text) = config {
        std::fs::write(&file, text).expect("a file");
        options.extend(["--config", file.to_str().expect("UTF-8")]);
    }
    inject(directory.path(), manifest, &options)
}

fn text_of(output: Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn a_sidecar_comes_first_and_the_program_keeps_what_it_has() {
    let text = injected(SHOP, &["--mode", "sidecar"]);
    assert_check_finds_nothing(&text);
    let (before, mut after) = (documents(SHOP), documents(&text));
    let spec = &mut after[1]["spec"];
    remove(spec, "minReadySeconds");
    let pod = &mut spec["template"]["spec"];
    let sidecar = &pod["initContainers"][0];
    assert_eq!(sidecar["restartPolicy"], "Always");
    assert_eq!(sidecar["command"][1], "sidecar");
    take(&mut pod["initContainers"], 0);
    let server = &mut pod["containers"][0];
    // 9095 is the program's own; the two of tidegate are the next.
    assert_eq!(server["lifecycle"]["preStop"]["httpGet"]["port"], 9097);
    remove(server, "lifecycle");
    assert_eq!(before, after);
    assert_eq!(injected(&text, &["--mode", "sidecar"]), text);
    assert_eq!(injected(&text, &[]), text, "it is drained already");
}

#[test]
fn every_kind_gets_a_sidecar_and_holds() {
    let pod = "{containers: [{name: a, image: a}]}";
    for (version, kind, spec) in [
        ("v1", "Pod", pod.to_owned()),
        ("apps/v1", "StatefulSet", format!("{{template: {{spec: {pod}}}}}")),
        ("batch/v1", "Job", format!("{{template: {{spec: {pod}}}}}")),
    ] {
        let manifest = format!("apiVersion: {version}\nkind: {kind}\nmetadata: {{name: x}}\nspec: {spec}\n");
        assert_check_finds_nothing(&injected(&manifest, &["--mode", "sidecar"]));
    }
}

#[test]
fn a_hook_that_is_there_already_is_not_replaced() {
    let manifest = SHOP.replace(
        "        command: [/cart]",
        "        command: [/cart]\n        lifecycle: {preStop: {exec: {command: [/drain]}}}",
    );
    let said = refused(&manifest, &["--mode", "sidecar"]);
    assert!(said.contains("preStop"), "{said}");
}

#[test]
fn a_command_is_of_no_use_beside_a_program() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = ["--mode", "sidecar", "--command", "/cart"];
    let output = inject(directory.path(), SHOP, &options);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(said.contains("--command"), "{said}");
    let output = inject(directory.path(), SHOP, &["--mode", "besides"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(said.contains("wrap or sidecar"), "{said}");
}

#[test]
fn a_sidecars_config_decides_what_the_pod_needs() {
    let config =
        "lifecycle: {listen: '0.0.0.0:9200'}\ntarget: {ports: [7070]}\nhealth: {listen: '0.0.0.0:9300'}\n";
    let output = beside(SHOP, Some(config));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("shareProcessNamespace is true now"), "{said}");
    assert!(!said.contains("PID 1"), "{said}");
    let said = String::from_utf8_lossy(&beside(SHOP, None).stderr).into_owned();
    assert!(
        said.contains("the program is PID 1 of container server"),
        "{said}"
    );
    let text = text_of(output);
    assert_check_finds_nothing(&text);
    let pod = &documents(&text)[1]["spec"]["template"]["spec"];
    assert_eq!(pod["shareProcessNamespace"], true);
    assert_eq!(
        pod["containers"][0]["lifecycle"]["preStop"]["httpGet"]["port"],
        9200
    );
    assert_eq!(pod["initContainers"][0]["readinessProbe"]["grpc"]["port"], 9300);
    // A wrapped program has no target.
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("t.yaml");
    std::fs::write(&file, config).expect("a file");
    let said = refused(SHOP, &["--config", file.to_str().expect("UTF-8")]);
    assert!(said.contains("target"), "{said}");
}

/// The shop's security context is the program's container's; its pod has none.
#[test]
fn tidegate_is_the_user_that_the_program_is() {
    let target = Some("target: {ports: [7070]}\n");
    let user_unknown = "which user the program is";
    let output = beside(SHOP, target);
    assert!(!String::from_utf8_lossy(&output.stderr).contains(user_unknown));
    let named = SHOP.replace(
        "securityContext: *confined",
        "securityContext: {runAsUser: 7, runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}, privileged: true}",
    );
    for text in [injected(&named, &[]), text_of(beside(&named, target))] {
        assert_check_finds_nothing(&text);
        let ours = &documents(&text)[1]["spec"]["template"]["spec"]["initContainers"][0]["securityContext"];
        assert_eq!(ours["runAsUser"], 7);
        assert_eq!(ours["runAsNonRoot"], true);
        assert_eq!(ours["seccompProfile"]["type"], "RuntimeDefault");
        assert_eq!(ours["capabilities"]["drop"][0], "ALL");
        assert!(ours["privileged"].is_null(), "{text}");
    }
    let nobody = SHOP.replace(", runAsUser: 1000", "");
    let output = beside(&nobody, target);
    assert!(String::from_utf8_lossy(&output.stderr).contains(user_unknown));
    let output = beside(&nobody, None);
    assert!(!String::from_utf8_lossy(&output.stderr).contains(user_unknown));
}

#[test]
fn a_token_is_asked_for() {
    let output = beside(
        SHOP,
        Some("lifecycle: {listen: '0.0.0.0:9200', tokenFile: /etc/t/token}\n"),
    );
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("httpHeaders"), "{said}");
}
