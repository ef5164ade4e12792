//! Each rule of `tidegate check`: broken by one change to a manifest that holds, and mended by undoing it.

use std::io::{ErrorKind, Write};
use std::process::{Command, Stdio};

use serde_json::Value;

/// Holds every rule.
const GOOD: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  annotations: {}
spec:
  replicas: 2
  minReadySeconds: 5
  template:
    spec:
      terminationGracePeriodSeconds: 30
      initContainers:
        - name: tidegate
          image: tidegate
          command: [/tidegate, install, /bin-volume]
          volumeMounts: [{name: bin, mountPath: /bin-volume}]
      containers:
        - name: app
          image: app
          command: [/tg/tidegate, run, --grace-period, 30s, --, /app]
          ports: [{name: health, containerPort: 9095}]
          readinessProbe: {grpc: {port: 9095}, periodSeconds: 2, failureThreshold: 1}
          livenessProbe: {grpc: {port: 9095, service: liveness}}
          volumeMounts: [{name: bin, mountPath: /tg}]
      volumes: [{name: bin, emptyDir: {}}]
";

struct Said {
    code: i32,
    text: String,
}

fn check(arguments: &[&str], manifest: &str) -> Said {
    let mut process = Command::new(env!("CARGO_BIN_EXE_tidegate"))
        .arg("check")
        .args(arguments)
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("tidegate starts");
    let mut stdin = process.stdin.take().expect("a pipe");
    // An option that is refused is refused before anything is read.
    match stdin.write_all(manifest.as_bytes()) {
        Err(why) if why.kind() == ErrorKind::BrokenPipe => {}
        written => written.expect("it reads"),
    }
    drop(stdin);
    let output = process.wait_with_output().expect("it ends");
    let mut text = String::from_utf8(output.stdout).expect("text");
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    Said {
        code: output.status.code().expect("an exit"),
        text,
    }
}

fn ids(manifest: &str) -> Vec<String> {
    let said = check(&["-o", "json"], manifest);
    let report: Value = serde_json::from_str(&said.text).unwrap_or_else(|why| panic!("{why}: {}", said.text));
    let findings = report["findings"].as_array().expect("findings");
    findings
        .iter()
        .map(|finding| finding["rule"].as_str().expect("a rule").to_owned())
        .collect()
}

fn with(changes: &[(&str, &str)]) -> String {
    changes.iter().fold(GOOD.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from} is not there to be changed");
        text.replace(from, to)
    })
}

#[test]
fn a_manifest_that_holds_says_nothing_even_strictly() {
    let said = check(&["--strict"], GOOD);
    assert_eq!((said.code, said.text.as_str()), (0, ""));
}

#[test]
fn each_rule_is_broken_by_one_change() {
    let app = "command: [/tg/tidegate, run, --grace-period, 30s, --, /app]";
    let cases: &[(&str, &[(&str, &str)])] = &[
        ("TG001", &[("30s, --,", "30s, --quiet, soon, --,")]),
        (
            "TG001",
            &[(
                "run, --grace-period, 30s, --, /app",
                "run, --grace, 30s, --, /app",
            )],
        ),
        (
            "TG001",
            &[(
                "--, /app]",
                "--, /app]\n          env: [{name: TIDEGATE_DRAIN_QIUET, value: 1s}]",
            )],
        ),
        (
            "TG002",
            &[
                ("30s, --,", "30s, --propagation, 25s, --,"),
                ("minReadySeconds: 5", "minReadySeconds: 25"),
            ],
        ),
        ("TG003", &[("Seconds: 30", "Seconds: 60")]),
        ("TG003", &[("--grace-period, 30s, ", "--grace-period, 20s, ")]),
        ("TG004", &[("Seconds: 30", "Seconds: 2"), ("30s", "2s")]),
        (
            "TG005",
            &[("image: app", "lifecycle: {preStop: {sleep: {seconds: 5}}}")],
        ),
        (
            "TG005",
            &[(
                "image: app",
                "lifecycle: {preStop: {exec: {command: [sh, -c, sleep 3]}}}",
            )],
        ),
        (
            "TG005",
            &[("image: app", "lifecycle: {preStop: {exec: {command: [/drain]}}}")],
        ),
        (
            "TG006",
            &[(
                app,
                "command: [sh, -c, /tg/tidegate run --grace-period 30s -- /app]",
            )],
        ),
        (
            "TG007",
            &[("command: [/tg/tidegate", "command: [tini, --, /tg/tidegate")],
        ),
        ("TG007", &[("command: [/tg/tidegate", "args: [/tg/tidegate")]),
        ("TG008", &[("install, /bin-volume]", "install, /elsewhere]")]),
        ("TG008", &[("mountPath: /tg}", "mountPath: /other}")]),
        ("TG008", &[("volumes: [{name: bin,", "volumes: [{name: bon,")]),
        ("TG009", &[("--, /app]", "--, sh, -c, /app --port 1]")]),
        (
            "TG010",
            &[(
                "readinessProbe: {grpc: {port: 9095}, periodSeconds: 2, failureThreshold: 1}",
                "tty: false",
            )],
        ),
        ("TG011", &[("{grpc: {port: 9095}, ", "{grpc: {port: 50051}, ")]),
        (
            "TG012",
            &[("{grpc: {port: 9095}, ", "{grpc: {port: 9095, service: shop}, ")],
        ),
        (
            "TG012",
            &[(
                "{grpc: {port: 9095}, ",
                "{httpGet: {port: health, path: /ready}, ",
            )],
        ),
        (
            "TG012",
            &[(
                "{grpc: {port: 9095}, ",
                "{httpGet: {port: helth, path: /readyz}, ",
            )],
        ),
        (
            "TG012",
            &[(
                "{grpc: {port: 9095}, ",
                "{httpGet: {port: health, path: /readyz, scheme: HTTPS}, ",
            )],
        ),
        ("TG012", &[("30s, --,", "30s, --listen, \"127.0.0.1:9095\", --,")]),
        // With TLS the kubelet's gRPC probes, which speak none, get no answer.
        (
            "TG012",
            &[(
                "--, /app]",
                "--, /app]\n          env: [{name: TIDEGATE_CONFIG, value: \"health: {tls: {cert: /c, key: /k}}\"}]",
            )],
        ),
        (
            "TG013",
            &[("periodSeconds: 2, failureThreshold: 1", "periodSeconds: 2")],
        ),
        ("TG014", &[("service: liveness", "service: \"\"")]),
        (
            "TG014",
            &[(
                "{grpc: {port: 9095, service: liveness}}",
                "{httpGet: {path: /readyz, port: health}}",
            )],
        ),
        (
            "TG015",
            &[(
                "service: liveness}}",
                "service: liveness}, terminationGracePeriodSeconds: 5}",
            )],
        ),
        (
            "TG016",
            &[(
                "      volumes:",
                "        - {name: b, ports: [{containerPort: 9095}]}\n      volumes:",
            )],
        ),
        ("TG017", &[("image: app", "lifecycle: {stopSignal: SIGUSR1}")]),
        ("TG018", &[("minReadySeconds: 5", "minReadySeconds: 4")]),
        (
            "TG019",
            &[(
                "replicas: 2",
                "replicas: 2\n  strategy: {rollingUpdate: {maxUnavailable: 100%}}",
            )],
        ),
        (
            "TG020",
            &[(
                "      volumes:",
                "      shareProcessNamespace: true\n      volumes:",
            )],
        ),
        ("TG022", &[("image: app", "terminationMessagePath: /last-words")]),
        ("TG023", &[("30s, --,", "30s, --config, /etc/t.yaml, --,")]),
        (
            "TG026",
            &[(
                "--, /app]",
                "--, /app]\n          env: [{name: TIDEGATE_CONFIG, value: \"hooks: {onDrain: [{http: {url: 'http://r', timeout: 10s}}]}\"}]",
            )],
        ),
        (
            "TG027",
            &[(
                "--, /app]",
                "--, /app]\n          env: [{name: TIDEGATE_CONFIG, value: \"hooks: {onDrain: [{consul: {address: 'http://r', serviceId: w, token: t}}]}\"}]",
            )],
        ),
        (
            "TG032",
            &[(
                "--, /app]",
                "--, /app]\n          env: [{name: NACOS, value: x}, {name: TIDEGATE_CONFIG, value: \"hooks: {onDrain: [{nacos: {address: 'http://r', serviceName: w, ip: i, port: 1, user: u, password: {env: NACOS}}}, {consul: {address: 'http://r', serviceId: w, token: {env: TOKEN}}}]}\"}]",
            )],
        ),
        (
            "TG028",
            &[(
                "--, /app]",
                "--, /app]\n          env: [{name: TIDEGATE_LIFECYCLE_LISTEN, value: \"127.0.0.1:9096\"}]",
            )],
        ),
        (
            "TG025",
            &[("annotations: {}", "annotations: {tidegate.dev/ignore: TG999}")],
        ),
    ];
    for (id, changes) in cases {
        let mut found = ids(&with(changes));
        // A listener on loopback fails each of the two probes.
        found.dedup();
        assert_eq!(found, [*id], "{changes:?}\n{}", check(&[], &with(changes)).text);
    }
}

/// Holds every rule, with tidegate beside the program.
const BESIDE: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 2
  minReadySeconds: 5
  template:
    spec:
      terminationGracePeriodSeconds: 30
      initContainers:
        - name: tidegate
          image: tidegate
          restartPolicy: Always
          command: [/tidegate, sidecar, --grace-period, 30s]
          env: [{name: TIDEGATE_CONFIG, value: \"{lifecycle: {listen: '0.0.0.0:9096'}}\"}]
          ports: [{name: health, containerPort: 9095}]
          readinessProbe: {grpc: {port: 9095}, periodSeconds: 2, failureThreshold: 1}
      containers:
        - name: app
          image: app
          lifecycle: {preStop: {httpGet: {path: /prestop, port: 9096}}}
          readinessProbe: {grpc: {port: 50051}}
";

#[test]
fn each_rule_of_a_sidecar_is_broken_by_one_change() {
    let said = check(&["--strict"], BESIDE);
    assert_eq!((said.code, said.text.as_str()), (0, ""));
    let listed = "lifecycle: {preStop: {httpGet: {path: /prestop, port: 9096}}}\n          ports: [{name: prestop, containerPort: 9096}]";
    let hook = "lifecycle: {preStop: {httpGet: {path: /prestop, port: 9096}}}";
    let same = [
        (hook, listed),
        (hook, &listed.replace("port: 9096}}}", "port: prestop}}}")),
        (
            hook,
            "lifecycle: {preStop: {exec: {command: [/tg/tidegate, prestop]}}}",
        ),
        (
            hook,
            &format!("{hook}\n          ports: [{{containerPort: 9095, protocol: UDP}}]"),
        ),
        ("path: /prestop,", "path: '/prestop?why=release',"),
        ("port: 9096}}}", "port: '9096'}}}"),
    ];
    for (from, to) in same {
        assert!(BESIDE.contains(from), "{from}");
        assert_eq!(ids(&BESIDE.replace(from, to)), [""; 0], "{to}");
    }
    let cases = [
        ("restartPolicy: Always", "tty: false", &["TG021"][..]),
        (hook, "tty: false", &["TG029"]),
        ("path: /prestop,", "path: /pre-stop,", &["TG029"]),
        ("path: /prestop,", "", &["TG029"]),
        ("port: 9096}}}", "port: 9096, scheme: HTTPS}}}", &["TG029"]),
        ("port: 9096}}}", "port: 9096, host: localhost}}}", &["TG029"]),
        (
            "image: app",
            "livenessProbe: {tcpSocket: {port: 1}, terminationGracePeriodSeconds: 5}",
            &["TG015"],
        ),
        (
            "          readinessProbe: {grpc: {port: 9095}, periodSeconds",
            "          readinessProbe: {grpc: {port: 9095, service: liveness}, periodSeconds",
            &["TG011"],
        ),
        ("listen: '0.0.0.0:9096'", "listen: '127.0.0.1:9096'", &["TG028"]),
        (
            "listen: '0.0.0.0:9096'",
            "listen: '0.0.0.0:9096', tokenFile: /t",
            &["TG029"],
        ),
        ("port: 9096}}}", "port: 9999}}}", &["TG029"]),
        (
            "/prestop, port: 9096}}",
            "/prestop, port: 9999}, exec: {command: [/bin/other, prestop]}}",
            &["TG029"],
        ),
        ("image: app", "ports: [{containerPort: 9095}]", &["TG016"]),
        (
            "        - name: app",
            "        - {name: b, ports: [{containerPort: 9096}]}\n        - name: app",
            &["TG016"],
        ),
        ("listen: '0.0.0.0:9096'", "listen: '0.0.0.0:9095'", &["TG001"]),
        ("9096'}}\"", "9096'}, target: {ports: [50051]}}\"", &["TG030"]),
        ("period, 30s]", "period, 20s]", &["TG003"]),
        ("minReadySeconds: 5", "minReadySeconds: 1", &["TG018"]),
    ];
    for (from, to, wanted) in cases {
        assert!(BESIDE.contains(from), "{from}");
        let mut found = ids(&BESIDE.replace(from, to));
        found.sort();
        assert_eq!(
            found,
            wanted,
            "{to}\n{}",
            check(&[], &BESIDE.replace(from, to)).text
        );
    }
    let token = BESIDE
        .replace("listen: '0.0.0.0:9096'", "listen: '0.0.0.0:9096', tokenFile: /t")
        .replace(
            "port: 9096}}}",
            "port: 9096, httpHeaders: [{name: Authorization, value: Bearer x}]}}}",
        );
    assert_eq!(ids(&token), [""; 0]);
    assert_eq!(ids(&token.replace("Bearer x", "Basic x")), ["TG029"]);
    // The word for a native sidecar in the wrong list makes none.
    let plain = BESIDE
        .replace("      initContainers:\n", "      containers:\n")
        .replace("      containers:\n        - name: app", "        - name: app");
    assert_eq!(ids(&plain), ["TG021"], "{plain}");
    let shared = BESIDE
        .replace("9096'}}\"", "9096'}, target: {ports: [50051]}}\"")
        .replace(
            "      containers:",
            "      shareProcessNamespace: true\n      containers:",
        );
    assert_eq!(ids(&shared), [""; 0]);
    assert_eq!(ids(&shared.replace("shareProcessNamespace", "hostPID")), [""; 0]);
    let with = |ours: &str, theirs: &str| {
        let context = |user: &str| match user {
            "" => "tty: false".to_owned(),
            user => format!("securityContext: {{{user}}}"),
        };
        let changed = shared
            .replace(
                "restartPolicy: Always",
                &format!("restartPolicy: Always\n          {}", context(ours)),
            )
            .replace(
                "image: app",
                &format!("image: app\n          {}", context(theirs)),
            );
        assert_ne!(changed, shared);
        ids(&changed)
    };
    assert_eq!(with("runAsUser: 1", "runAsUser: 2"), ["TG031"]);
    assert_eq!(with("", "runAsUser: 2"), ["TG031"]);
    for (ours, theirs) in [
        ("runAsUser: 2", "runAsUser: 2"),
        ("runAsUser: 2", ""),
        ("privileged: true", "runAsUser: 2"),
        ("capabilities: {add: [KILL, CAP_SYS_PTRACE]}", "runAsUser: 2"),
    ] {
        assert_eq!(with(ours, theirs), [""; 0], "{ours}, {theirs}");
    }
}

#[test]
fn a_pod_without_tidegate_is_noted_and_no_finding() {
    let manifest = with(&[("/tg/tidegate, run, --grace-period, 30s, --, ", "")]);
    assert_eq!(ids(&manifest), ["TG024"]);
    assert_eq!(check(&[], &manifest).code, 0);
    assert_eq!(check(&["--strict"], &manifest).code, 1);
}

#[test]
fn findings_say_where_and_the_mend() {
    let said = check(&[], &with(&[("Seconds: 30", "Seconds: 60")]));
    assert_eq!(said.code, 1);
    assert!(
        said.text.starts_with(
            "stdin:11: error TG003 Deployment/web spec.template.spec.terminationGracePeriodSeconds: the pod has 60s and tidegate counts on 30s"
        ),
        "{}",
        said.text
    );
    assert!(
        said.text
            .contains("; write terminationGracePeriodSeconds: 60 in tidegate's settings"),
        "{}",
        said.text
    );
}

#[test]
fn rules_are_silenced_by_flag_and_by_annotation() {
    let broken = with(&[("minReadySeconds: 5", "minReadySeconds: 0")]);
    assert_eq!(check(&["--ignore", "TG003,min-ready-seconds"], &broken).code, 0);
    let silent = broken.replace(
        "annotations: {}",
        "annotations: {tidegate.dev/ignore: \"TG018, TG003\"}",
    );
    assert_eq!(check(&["--strict"], &silent).code, 0);
    let said = check(&["--ignore", "TG99"], GOOD);
    assert_eq!(said.code, 125);
    assert!(said.text.contains("--ignore TG99: no such rule"), "{}", said.text);
}

#[test]
fn settings_come_from_config_maps_in_the_same_input() {
    let env = "--, /app]\n          envFrom: [{configMapRef: {name: settings}}]";
    let file = [
        (
            "run, --grace-period, 30s, --, /app]",
            "run, --config, /etc/tg/t.yaml, --, /app]",
        ),
        (
            "{name: bin, mountPath: /tg}",
            "{name: bin, mountPath: /tg}, {name: s, mountPath: /etc/tg}",
        ),
        (
            "[{name: bin, emptyDir: {}}]",
            "[{name: bin, emptyDir: {}}, {name: s, configMap: {name: settings}}]",
        ),
    ];
    let map = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata:\n";
    let by_env = |grace: u8| {
        let manifest = with(&[("--grace-period, 30s, ", ""), ("--, /app]", env)]);
        format!("{manifest}{map}  TIDEGATE_GRACE_PERIOD: {grace}s\n")
    };
    let by_file = |grace: u8| {
        format!(
            "{}{map}  t.yaml: |\n    terminationGracePeriodSeconds: {grace}\n",
            with(&file)
        )
    };
    assert_eq!(ids(&by_env(30)), [""; 0]);
    assert_eq!(ids(&by_env(29)), ["TG003"]);
    assert_eq!(ids(&by_file(30)), [""; 0]);
    assert_eq!(ids(&by_file(29)), ["TG003"]);
}

/// The YAML of a page.
fn yaml_in(page: &str) -> Vec<&str> {
    let blocks = page.split("```yaml\n").skip(1);
    blocks.filter_map(|block| block.split("```").next()).collect()
}

#[test]
fn the_pods_that_the_docs_show_hold() {
    for page in [include_str!("../README.md"), include_str!("../docs/target.md")] {
        let blocks = yaml_in(page);
        let pods: Vec<_> = blocks
            .iter()
            .filter(|block| block.starts_with("spec:\n"))
            .collect();
        assert_eq!(pods.len(), 1, "{blocks:?}");
        let manifest = format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: x}}\n{}", pods[0]);
        let said = check(&["--strict"], &manifest);
        assert_eq!((said.code, said.text.as_str()), (0, ""), "{manifest}");
    }
}

#[test]
fn a_hooks_variable_may_come_from_wherever_variables_come() {
    let hooks = "{name: TIDEGATE_CONFIG, value: \"hooks: {onDrain: [{consul: {address: 'http://r', serviceId: w, token: {env: S_TOKEN}}}]}\"}";
    for (more, wanted) in [
        ("env: [HOOKS]", &["TG032"][..]),
        (
            "env: [{name: S_TOKEN, valueFrom: {secretKeyRef: {name: s, key: k}}}, HOOKS]",
            &[],
        ),
        (
            "env: [HOOKS]\n          envFrom: [{secretRef: {name: s}, prefix: S_}]",
            &[],
        ),
        (
            "env: [HOOKS]\n          envFrom: [{secretRef: {name: s}, prefix: T_}]",
            &["TG032"],
        ),
    ] {
        let changed = format!("--, /app]\n          {}", more.replace("HOOKS", hooks));
        assert_eq!(ids(&with(&[("--, /app]", &changed)])), wanted, "{more}");
    }
}

/// Each recipe of the page on registries, in a pod whose address the settings hold.
#[test]
fn the_recipes_for_registries_hold_in_a_pod() {
    let recipes = yaml_in(include_str!("../docs/registries.md"));
    assert!(recipes.len() > 5, "{recipes:?}");
    for recipe in recipes {
        let ports = "          ports: [{";
        let indented: String = recipe
            .lines()
            .map(|line| format!("              {line}\n"))
            .collect();
        let config = format!("          - name: TIDEGATE_CONFIG\n            value: |\n{indented}");
        let secret =
            "          - {name: NACOS_PASSWORD, valueFrom: {secretKeyRef: {name: nacos, key: password}}}\n";
        let addresses = "          - {name: HOST_IP, valueFrom: {fieldRef: {fieldPath: status.hostIP}}}\n          - {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}\n";
        let manifest = with(&[(
            ports,
            &format!("          env:\n{addresses}{secret}{config}{ports}"),
        )]);
        let said = check(&["--strict"], &manifest);
        assert_eq!((said.code, said.text.as_str()), (0, ""), "{manifest}");
        // Nobody puts a value there.
        if recipe.contains("$(") {
            let said = check(&[], &manifest.replace(addresses, ""));
            assert!(said.text.contains("TG001"), "{}", said.text);
            assert!(
                said.text.contains("the kubelet alone replaces $(…)"),
                "{}",
                said.text
            );
        }
    }
}

#[test]
fn every_kind_that_makes_pods_is_read_and_others_pass() {
    let pod = "terminationGracePeriodSeconds: 9, containers: [{name: a, command: [/tidegate, --, /a], readinessProbe: {grpc: {port: 9095}, periodSeconds: 1}}]";
    let template = format!("spec: {{minReadySeconds: 9, template: {{spec: {{{pod}}}}}}}");
    let kinds = [
        ("v1", "Pod", format!("spec: {{{pod}}}")),
        ("apps/v1", "Deployment", template.clone()),
        ("apps/v1", "StatefulSet", template.clone()),
        ("apps/v1", "DaemonSet", template.clone()),
        ("apps/v1", "ReplicaSet", template.clone()),
        ("batch/v1", "Job", template.clone()),
        (
            "batch/v1",
            "CronJob",
            format!("spec: {{jobTemplate: {{{template}}}}}"),
        ),
    ];
    let mut list = String::from("apiVersion: v1\nkind: List\nitems:\n");
    for (version, kind, spec) in &kinds {
        let manifest = format!("apiVersion: {version}\nkind: {kind}\nmetadata: {{name: x}}\n{spec}\n");
        assert_eq!(ids(&manifest), ["TG003"], "{kind}");
        list.push_str(&format!("- {{apiVersion: {version}, kind: {kind}, {spec}}}\n"));
    }
    assert_eq!(ids(&list).len(), kinds.len());
    let strange = "apiVersion: example.com/v1\nkind: Job\nspec: {template: {spec: {containers: 7}}}\n---\n- 1\n---\n~\n";
    assert_eq!(ids(strange), [""; 0]);
}

#[test]
fn what_cannot_be_read_is_2_and_says_the_document() {
    for broken in ["kind: Pod\na: [\n", "apiVersion: v1\nkind: Pod\nkind: Pod\n"] {
        let said = check(&[], &format!("{GOOD}---\n{broken}"));
        assert_eq!(said.code, 2, "{}", said.text);
        assert!(said.text.contains(": document 2: "), "{}", said.text);
    }
}

#[test]
fn sarif_has_its_rules_and_lines() {
    let said = check(
        &["-o", "sarif"],
        &with(&[("minReadySeconds: 5", "minReadySeconds: 0")]),
    );
    let report: Value = serde_json::from_str(&said.text).expect("JSON");
    assert_eq!(report["version"], "2.1.0");
    let result = &report["runs"][0]["results"][0];
    let index = result["ruleIndex"].as_u64().expect("an index") as usize;
    assert_eq!(
        report["runs"][0]["tool"]["driver"]["rules"][index]["id"],
        result["ruleId"]
    );
    assert_eq!(
        result["locations"][0]["physicalLocation"]["region"]["startLine"],
        8
    );
}

#[test]
fn a_shell_or_a_program_in_front_is_told_from_one_that_steps_aside() {
    let app = "command: [/tg/tidegate, run, --grace-period, 30s, --, /app]";
    let run = "/tg/tidegate run --grace-period 30s -- /app";
    let of = |words: &str| ids(&with(&[(app, &format!("command: {words}"))]));
    for words in [
        format!("[bash, -e, -o, pipefail, -c, '{run}']"),
        format!("[busybox, sh, -c, '{run}']"),
        format!("[sh, -c, 'exec {run} | tee /log']"),
        format!("[sh, -c, 'exec {run} & wait']"),
        format!("[sh, -c, '(exec {run})']"),
        format!(r#"[sh, -c, "\# exec tidegate\n{run}"]"#).replace("\\#", "#"),
        format!("[sh, -c, 'echo exec tidegate; {run}']"),
    ] {
        assert!(
            of(&words).contains(&"TG006".to_owned()),
            "{words}: {:?}",
            of(&words)
        );
    }
    for words in [
        "[env, tini, --, /tg/tidegate, run, --grace-period, 30s, --, /app]".to_owned(),
        "[sh, /start.sh, /tg/tidegate, run, --grace-period, 30s, --, /app]".to_owned(),
        format!("[sh, -c, 'exec tini -- {run}']"),
    ] {
        assert_eq!(of(&words), ["TG007"], "{words}");
    }
    for words in [
        "[env, A=1, nice, -n, '5', /tg/tidegate, run, --grace-period, 30s, --, /app]".to_owned(),
        "[su-exec, nobody, /tg/tidegate, run, --grace-period, 30s, --, /app]".to_owned(),
        format!("[sh, -c, 'exec env A=1 {run} 2>&1']"),
        r#"[sh, -c, "exec \\\n '/tg/tidegate' run --grace-period 30s -- /app"]"#.to_owned(),
    ] {
        assert_eq!(of(&words), [""; 0], "{words}");
    }
    // What is in front makes an environment that the manifest's is not.
    for words in [
        "[env, -i, /tg/tidegate, run, --, /app]",
        "[env, TIDEGATE_QUIET=1s, /tg/tidegate, run, --, /app]",
    ] {
        assert_eq!(of(words), ["TG023"], "{words}");
    }
}

#[test]
fn an_image_that_is_tidegate_installs_it_by_its_entrypoint() {
    let bare = with(&[(
        "command: [/tidegate, install, /bin-volume]",
        "args: [install, /bin-volume]",
    )]);
    assert_eq!(ids(&bare), [""; 0]);
    let elsewhere = with(&[(
        "command: [/tidegate, install, /bin-volume]",
        "args: [install, /other]",
    )]);
    assert_eq!(ids(&elsewhere), ["TG008"]);
}

#[test]
fn readiness_asks_what_a_drain_turns_and_liveness_what_it_leaves() {
    let ready = "{grpc: {port: 9095}, periodSeconds: 2, failureThreshold: 1}";
    for asked in [
        "grpc: {port: 9095, service: liveness}",
        "httpGet: {port: 9095, path: /healthz}",
        "httpGet: {port: 9095, path: '/metrics?x'}",
    ] {
        let asking = format!("{{{asked}, periodSeconds: 2, failureThreshold: 1}}");
        assert_eq!(ids(&with(&[(ready, &asking)])), ["TG011"], "{asked}");
    }
    let live = "{grpc: {port: 9095, service: liveness}}";
    let asking = "{httpGet: {port: 9095, path: '/readyz?full'}}";
    assert_eq!(ids(&with(&[(live, asking)])), ["TG014"]);
}

#[test]
fn ids_to_ignore_may_have_a_space() {
    let loud = with(&[("minReadySeconds: 5", "minReadySeconds: 0")]);
    assert_eq!(check(&["--ignore", "TG001, TG018"], &loud).code, 0);
}
