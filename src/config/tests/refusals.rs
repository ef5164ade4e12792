use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStringExt as _;
use std::time::Duration;

use super::*;
use crate::config;

/// Each is refused with exactly this line, `TIDEGATE_CONFIG` in front.
fn refuse(cases: &[(&str, &str)]) {
    for (yaml, line) in cases {
        assert_eq!(
            Given::yaml(yaml).refused(),
            format!("TIDEGATE_CONFIG{line}"),
            "{yaml}"
        );
    }
}

#[test]
fn unknown_keys_name_the_nearest() {
    refuse(&[
        (
            "drain: {propagaton: 5s}",
            ":1: drain.propagaton: unknown key; did you mean drain.propagation?",
        ),
        (
            "drain:\n  quiet: 1s\n  poll_interval: 1s",
            ":3: drain.poll_interval: unknown key; did you mean drain.pollInterval?",
        ),
        (
            "gracePeriod: 5",
            ":1: gracePeriod: unknown key; did you mean terminationGracePeriodSeconds?",
        ),
        (
            "stopSignal: TERM",
            ":1: stopSignal: unknown key; did you mean child.stopSignal?",
        ),
        (
            "child: {xyz: 1}",
            ":1: child.xyz: unknown key; the nearest known one is child.killWait",
        ),
        (
            "drain: {propagation: {mn: 1s}}",
            ":1: drain.propagation.mn: unknown key; did you mean drain.propagation.min?",
        ),
        (
            "inflight: [{prometeus: {}}]",
            ":1: inflight[0].prometeus: unknown key; did you mean inflight[0].prometheus?",
        ),
        ("5: x", ":1: 5: unknown key; the nearest known one is child"),
        (
            "drain: {<<: {quiet: 1s}}",
            ":1: drain.<<: merge keys are not supported; anchors and aliases are",
        ),
        (
            "\"a\\nb\": 1",
            ":1: \"a\\nb\": unknown key; the nearest known one is drain",
        ),
    ]);
}

#[test]
fn wrong_values_name_key_and_mend() {
    refuse(&[
        ("drain: {quiet: 5}", ":1: drain.quiet: 5 has no unit; write 5s"),
        (
            "drain: {quiet: -5s}",
            ":1: drain.quiet: \"-5s\" is negative; write it like 5s",
        ),
        (
            "drain: {quiet: true}",
            ":1: drain.quiet: expected a duration like 5s, found true",
        ),
        (
            "drain: {quiet: [5s]}",
            ":1: drain.quiet: expected a duration like 5s, found a list",
        ),
        (
            "drain: {quiet: {}}",
            ":1: drain.quiet: expected a duration like 5s, found a mapping",
        ),
        (
            "drain: {quiet: 900h}",
            ":1: drain.quiet: \"900h\" is longer than 30 days (720h)",
        ),
        (
            "drain: {quiet: !x 5s}",
            ":1: drain.quiet: YAML tags like !this mean nothing here; leave it out",
        ),
        ("drain: 5s", ":1: drain: expected a mapping, found \"5s\""),
        ("[]", ":1: expected a mapping, found a list"),
        (
            "drain: {threshold: -1}",
            ":1: drain.threshold: expected a whole number, 0 or more, found the number -1",
        ),
        (
            "drain: {threshold: 1.5}",
            ":1: drain.threshold: expected a whole number, 0 or more, found the number 1.5",
        ),
        (
            "drain: {onUnknown: stop}",
            ":1: drain.onUnknown: expected wait, or {proceedAfter: 10s}, found \"stop\"",
        ),
        (
            "drain: {onUnknown: {}}",
            ":1: drain.onUnknown: proceedAfter is missing",
        ),
        (
            "drain: {triggers: [SIGKILL]}",
            ":1: drain.triggers[0]: SIGKILL cannot be caught and starts no drain; write SIGTERM",
        ),
        (
            "drain: {triggers: [~]}",
            ":1: drain.triggers[0]: expected a signal like SIGTERM, found nothing",
        ),
        (
            "drain: {triggers: SIGTERM}",
            ":1: drain.triggers: expected a list, found \"SIGTERM\"",
        ),
        (
            "terminationGracePeriodSeconds: -1",
            ":1: terminationGracePeriodSeconds: expected whole seconds like 30, or 30s, found the number -1",
        ),
        (
            "terminationGracePeriodSeconds: 1.5",
            ":1: terminationGracePeriodSeconds: expected whole seconds like 30, or 30s, found the number 1.5",
        ),
        (
            "marginPercent: 100",
            ":1: marginPercent: expected a percentage, 0 to 99, found the number 100",
        ),
        (
            "marginPercent: .nan",
            ":1: marginPercent: expected a percentage, 0 to 99, found the number NaN",
        ),
        (
            "child: {stopSignal: SIGTREM}",
            ":1: child.stopSignal: \"SIGTREM\" is no signal; did you mean SIGTERM?",
        ),
        (
            "child: {stopSignal: STOP}",
            ":1: child.stopSignal: SIGSTOP freezes the child and never ends it; write SIGTERM",
        ),
        (
            "child: {signalGroup: 1}",
            ":1: child.signalGroup: expected true or false, found the number 1",
        ),
        (
            "child: {successCodes: [256]}",
            ":1: child.successCodes[0]: expected an exit code, 0 to 255, found the number 256",
        ),
        (
            "health: {listen: '0.0.0.0:70000'}",
            ":1: health.listen: \"0.0.0.0:70000\" has a port above 65535; write it like 0.0.0.0:9095, [::]:9095, unix:/run/health.sock or off",
        ),
        (
            "health: {listen: 9095}",
            ":1: health.listen: 9095 is no address; write 0.0.0.0:9095",
        ),
        (
            "health: {services: [1.10]}",
            ":1: health.services[0]: expected text, found the number 1.1; put it in quotes",
        ),
        (
            "telemetry: {logFormat: xml}",
            ":1: telemetry.logFormat: expected text or json, found \"xml\"",
        ),
        (
            "telemetry: {terminationLog: log}",
            ":1: telemetry.terminationLog: expected an absolute path, found \"log\"",
        ),
        (
            "inflight: [{}]",
            ":1: inflight[0]: says nothing; write one of prometheus, json, tcp, exec, file, preset",
        ),
        (
            "inflight: [{prometheus: {url: 'http://h/'}}]",
            ":1: inflight[0].prometheus: query is missing",
        ),
        (
            "inflight: [{prometheus: {url: 'http://h/', query: ''}}]",
            ":1: inflight[0].prometheus.query: empty; write what to read, like sum(calls_in_flight)",
        ),
        (
            "inflight: [{prometheus: {url: 'http://h/', query: 5}}]",
            ":1: inflight[0].prometheus.query: expected a query like sum(calls_in_flight), found the number 5",
        ),
        (
            "inflight:\n- prometheus:\n    url: http://h/\n    query: sum(rate(x[1m]))",
            ":4: inflight[0].prometheus.query: column 5: `rate()` inside `sum()` is not supported; supported are selectors with = != =~ !~, sum() min() max() count() avg() of a selector, + - * /, numbers and parentheses",
        ),
        (
            "inflight: [{prometheus: {url: 'http://h/', query: x, arrivals: a b}}]",
            ":1: inflight[0].prometheus.arrivals: column 3: an operator is expected before `b`; supported are selectors with = != =~ !~, sum() min() max() count() avg() of a selector, + - * /, numbers and parentheses",
        ),
        (
            "inflight: [{prometheus: {url: 'http://h/', query: x}, file: {path: /x}}]",
            ":1: inflight[0]: prometheus and file in one item; write an item for each",
        ),
        (
            "inflight: [{exec: {command: []}}]",
            ":1: inflight[0].exec: command names no program",
        ),
        (
            "inflight: [{exec: {command: [/x], timeout: 0s}}]",
            ": inflight[0].exec.timeout: 0s is too short; write 1ms or more",
        ),
        (
            "inflight: [{tcp: {ports: []}}]",
            ":1: inflight[0].tcp: ports names no port",
        ),
        (
            "inflight: [{tcp: {ports: [1, 1]}}]",
            ": inflight[0].tcp.ports: 1 twice; keep one",
        ),
        (
            "inflight: [{tcp: {ports: [1], ignorePeers: [10.0.0.0/33]}}]",
            ":1: inflight[0].tcp.ignorePeers[0]: \"10.0.0.0/33\" is neither an address nor a network; write it like 10.0.0.7 or 10.0.0.0/8",
        ),
        (
            "inflight: [{tcp: {ports: [1], mode: all}}]",
            ":1: inflight[0].tcp.mode: expected busy or established, found \"all\"",
        ),
        (
            "inflight: [{json: {url: 'http://h/', path: x}}]",
            ":1: inflight[0].json.path: \"x\" is no JSONPath (RFC 9535): at position 0, parser error; write it like $.calls.inFlight",
        ),
        (
            "inflight: [{preset: {name: apache, url: 'http://h/'}}]",
            ":1: inflight[0].preset.name: \"apache\" is not known; known are envoy, grpc-go, grpc-java, grpc-otel, spring, kestrel, vllm, triton, nginx, haproxy",
        ),
        (
            "hooks: {onDrain: [{http: {url: 'http://h/', headers: {'a b': x}}}]}",
            ":1: hooks.onDrain[0].http.headers: \"a b\" is no header name",
        ),
    ]);
}

#[test]
fn bad_yaml_is_told_on_one_line() {
    refuse(&[
        (
            "drain: {quiet: 1s",
            ":2: not valid YAML: did not find expected ',' or '}' at line 2 column 1, while parsing a flow mapping at line 1 column 8",
        ),
        (
            "drain: {quiet: 1s}\n\tchild: {}",
            ":2: not valid YAML: found character that cannot start any token at line 2 column 1, while scanning for the next token",
        ),
        (
            "drain: {propagation: 5s\nchild: [\n",
            ":2: not valid YAML: did not find expected ',' or '}' at line 2 column 6, while parsing a flow mapping at line 1 column 8",
        ),
        (
            "drain: {quiet: 1s}\n---\nchild: {}",
            ": more than one YAML document (---); one is enough",
        ),
        (
            "drain: {quiet: 1s}\ndrain: {threshold: 1}",
            ":2: drain: written twice; keep one",
        ),
        (
            "drain: {quiet: 1s, quiet: 1s}",
            ":1: drain.quiet: written twice; keep one",
        ),
        (
            "drain: *nobody",
            ":1: not valid YAML: unknown anchor at line 1 column 8",
        ),
        ("? [a]\n: b", ":1: not valid here: a key has to be a word"),
        (
            "drain: {threshold: !!int secret}",
            ":1: a value does not fit its YAML tag; leave the tag out",
        ),
    ]);
}

#[test]
fn a_billion_laughs_are_refused_not_written_out() {
    let mut yaml = format!("child: {{stopSignal: &a \"{}\"}}\n", "x".repeat(100_000));
    yaml = yaml.replace("child: {stopSignal:", "health: {services: [");
    yaml = yaml.replace("\"}", "\"");
    yaml.push_str(&", *a".repeat(900));
    yaml.push_str("]}");
    assert!(
        Given::yaml(&yaml)
            .refused()
            .ends_with("too much text once aliases are written out; repeat less"),
    );
    let many = format!("child: {{successCodes: [{}]}}", "1, ".repeat(1001));
    assert_eq!(
        Given::yaml(&many).refused(),
        "TIDEGATE_CONFIG:1: child.successCodes[1000]: more than 1000 items"
    );
    let itself = "inflight: &a [*a]";
    assert_eq!(
        Given::yaml(itself).refused(),
        "TIDEGATE_CONFIG:1: inflight[0]: expected a mapping, found a list"
    );
    // Read to its end it would take half a minute.
    let deep = format!("drain:\n  quiet: {}", "[".repeat(100_000));
    assert_eq!(
        Given::yaml(&deep).refused(),
        "TIDEGATE_CONFIG:2: more than 100 brackets are open at once, which no config needs"
    );
    let large = format!("# {}", "x".repeat(1 << 20));
    assert_eq!(
        Given::yaml(&large).refused(),
        "TIDEGATE_CONFIG: is larger than 1 MiB, which no config is"
    );
}

#[test]
fn files_that_cannot_be_read_are_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let told = |path: std::path::PathBuf| {
        let inputs = Inputs {
            file: Some(path.clone()),
            environment: [],
            flags: Vec::new(),
        };
        let error = config::load(inputs).expect_err("refused");
        assert!(matches!(error, ConfigError::Unreadable { .. }), "{error:?}");
        error.to_string().replace(&path.display().to_string(), "FILE")
    };
    assert_eq!(
        told(folder.path().join("none")),
        "FILE: cannot be read: No such file or directory (os error 2)"
    );
    assert_eq!(
        told(folder.path().to_owned()),
        "FILE: is a directory; name the file in it"
    );
    let large = folder.path().join("large");
    std::fs::write(&large, " ".repeat((1 << 20) + 1)).expect("a file");
    assert_eq!(told(large), "FILE: is larger than 1 MiB, which no config is");
    let bytes = folder.path().join("bytes");
    std::fs::write(&bytes, [0xff]).expect("a file");
    assert_eq!(told(bytes), "FILE: is not UTF-8 text");
    let pipe = folder.path().join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    assert_eq!(
        told(pipe),
        "FILE: is a pipe that nobody wrote to the end within 5s"
    );
}

#[test]
fn a_config_may_come_through_a_pipe() {
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    let slow = std::thread::spawn(move || {
        writer.write_all(b"drain: {qui").expect("written");
        std::thread::yield_now();
        writer.write_all(b"et: 7s}").expect("written");
    });
    let path = format!("/proc/self/fd/{}", reader.as_raw_fd());
    let inputs = Inputs {
        file: Some(path.into()),
        environment: [],
        flags: Vec::new(),
    };
    let settings = config::load(inputs).expect("a config");
    slow.join().expect("written");
    assert_eq!(settings.rules().plan.quiet, Duration::from_secs(7));
}

#[test]
fn each_layer_is_named() {
    let given = || Given::default();
    for (given, line) in [
        (
            given().file("drain:\n  propagaton: 5s"),
            "tidegate.yaml:2: drain.propagaton: unknown key; did you mean drain.propagation?",
        ),
        (
            given().variable("TIDEGATE_DRAIN_QUIET", "5"),
            "TIDEGATE_DRAIN_QUIET: 5 has no unit; write 5s",
        ),
        (
            given().variable("TIDEGATE_QUIET", "x"),
            "TIDEGATE_QUIET: \"x\" is no duration; write it like 5s, 300ms, 1m30s or 2h",
        ),
        (given().flag("quiet", "5"), "--quiet: 5 has no unit; write 5s"),
        (
            given().flag("quiet", ""),
            "--quiet: empty; write --quiet=DURATION or leave it out",
        ),
        (
            given().flag("margin", "120%"),
            "--margin: expected a percentage, 0 to 99, found \"120%\"",
        ),
        (
            given()
                .flag("inflight-url", "http://h/")
                .variable("TIDEGATE_INFLIGHT_QUERY", "a b"),
            "TIDEGATE_INFLIGHT_QUERY: column 3: an operator is expected before `b`; supported are selectors with = != =~ !~, sum() min() max() count() avg() of a selector, + - * /, numbers and parentheses",
        ),
        (
            given().flag("inflight-url", "https://u:secret@h/"),
            "--inflight-url: \"https://***@h/\" is https, and only plain http is spoken; name a plain port on this pod",
        ),
        (
            given().flag("inflight-url", "http://h/"),
            "--inflight-url: needs --inflight-query or TIDEGATE_INFLIGHT_QUERY beside it",
        ),
        (
            given().variable("TIDEGATE_INFLIGHT_QUERY", "x"),
            "TIDEGATE_INFLIGHT_QUERY: needs --inflight-url or TIDEGATE_INFLIGHT_URL beside it",
        ),
        (
            given()
                .flag("inflight-url", "http://h/")
                .flag("inflight-query", " "),
            "--inflight-query: empty; write what to read, like sum(calls_in_flight)",
        ),
    ] {
        assert_eq!(given.refused(), line);
    }
}

#[test]
fn unknown_variables_name_the_nearest() {
    for (name, line) in [
        (
            "TIDEGATE_DRAIN_QUITE",
            "TIDEGATE_DRAIN_QUITE: unknown setting; did you mean TIDEGATE_DRAIN_QUIET?",
        ),
        (
            "TIDEGATE_CONFG",
            "TIDEGATE_CONFG: unknown setting; did you mean TIDEGATE_CONFIG?",
        ),
        (
            "TIDEGATE_",
            "TIDEGATE_: unknown setting; the nearest known one is TIDEGATE_QUIET",
        ),
    ] {
        assert_eq!(Given::default().variable(name, "1").refused(), line);
    }
    assert_eq!(
        Given::default()
            .variable("TIDEGATE_DRAIN_TRIGGERS", "SIGTERM")
            .refused(),
        "TIDEGATE_DRAIN_TRIGGERS: a list is not set by one variable; write it in the config file or TIDEGATE_CONFIG"
    );
    assert_eq!(
        Given::default()
            .variable("TIDEGATE_QUIET", "1s")
            .variable("TIDEGATE_DRAIN_QUIET", "2s")
            .refused(),
        "TIDEGATE_QUIET: sets the same as TIDEGATE_DRAIN_QUIET; keep one of them"
    );
}

#[test]
fn values_that_are_not_text_are_one_line() {
    for (name, line) in [
        ("TIDEGATE_CONFIG", "TIDEGATE_CONFIG: its value is not UTF-8 text"),
        ("TIDEGATE_QUIET", "TIDEGATE_QUIET: its value is not UTF-8 text"),
    ] {
        let mut given = Given::default();
        given
            .environment
            .push((name.into(), OsString::from_vec(vec![0xff])));
        assert_eq!(given.refused(), line);
    }
    let mut given = Given::default();
    given
        .environment
        .push((OsString::from_vec(b"TIDEGATE_\xff".to_vec()), "x".into()));
    assert!(given.refused().contains("unknown setting"));
    let mut given = Given::default().flag("quiet", "1s");
    given.flags[0].1 = OsString::from_vec(vec![0xff]);
    assert_eq!(given.refused(), "--quiet: its value is not UTF-8 text");
}

#[test]
fn rules_between_keys_name_the_keys_and_where_they_were_written() {
    for (given, line) in [
        (
            Given::yaml("child: {stopTimeout: 20s}").flag("propagation", "20s"),
            "the budget does not hold: drain.propagation 20s + child.stopTimeout 20s + child.killWait 1s = 41s, but terminationGracePeriodSeconds 30s − 20 % leaves 24s; shorten them by 17s or raise the grace period (drain.propagation from --propagation, child.stopTimeout from TIDEGATE_CONFIG)",
        ),
        (
            Given::default().file("preStopSeconds: 24"),
            "preStopSeconds: 24s leaves nothing of terminationGracePeriodSeconds 30s − 20 %; shorten the hook or raise the grace period (preStopSeconds from tidegate.yaml)",
        ),
        (
            Given::yaml("drain: {propagation: {min: 5s, max: 2s}}"),
            "drain.propagation.max 2s is less than drain.propagation.min 5s; raise it or leave it out (drain.propagation.max from TIDEGATE_CONFIG, drain.propagation.min from TIDEGATE_CONFIG)",
        ),
        (
            Given::yaml("drain: {pollInterval: 25s}\ninflight: [{prometheus: {url: 'http://h/', query: x}}]"),
            "drain.pollInterval 25s is longer than the whole drain, 24s; write 200ms (drain.pollInterval from TIDEGATE_CONFIG)",
        ),
    ] {
        assert_eq!(given.refused(), line);
    }
    refuse(&[
        (
            "drain: {pollInterval: 9ms}",
            ": drain.pollInterval: 9ms is too short; write 10ms or more",
        ),
        (
            "drain: {pollTimeout: 0s}",
            ": drain.pollTimeout: 0s is too short; write 1ms or more",
        ),
        (
            "drain: {stalledAfter: 0s}",
            ": drain.stalledAfter: 0s is too short; write 1ms or more",
        ),
        (
            "drain: {triggers: []}",
            ": drain.triggers: empty, so that nothing would start a drain; write [SIGTERM, SIGINT]",
        ),
        (
            "drain: {triggers: [TERM, 15]}",
            ": drain.triggers: SIGTERM twice; keep one",
        ),
        (
            "child: {successCodes: [1, 1]}",
            ": child.successCodes: 1 twice; keep one",
        ),
        (
            "health: {services: [a, a]}",
            ": health.services: \"a\" twice; keep one",
        ),
        (
            "health: {services: [liveness]}",
            ": health.services: liveness is tidegate's own name, for liveness probes; choose another",
        ),
    ]);
    let many: Vec<String> = (0..101).map(|index| format!("s{index}")).collect();
    refuse(&[(
        &format!("health: {{services: [{}]}}", many.join(", ")),
        ": health.services: 101 names, and health lists at most 100",
    )]);
}

#[test]
fn the_hook_endpoint_has_rules_of_its_own() {
    refuse(&[
        (
            "lifecycle: {listen: 'unix:/run/x.sock'}",
            ": lifecycle.listen: the kubelet calls an address and a port; write 0.0.0.0:9096",
        ),
        (
            "lifecycle: {tokenFile: /run/token}",
            ": lifecycle.tokenFile: nobody can call with it; set lifecycle.listen as well, like 0.0.0.0:9096",
        ),
    ]);
    let same = Given::yaml("lifecycle: {listen: '0.0.0.0:9095'}").refused();
    assert!(
        same.starts_with("lifecycle.listen and health.listen have the same port, 9095; each needs its own"),
        "{same}"
    );
    let loopback = Given::yaml("lifecycle: {listen: '127.0.0.1:9096'}").settings();
    let warnings: Vec<String> = loopback.warnings().collect();
    assert_eq!(
        warnings,
        [
            "lifecycle.listen 127.0.0.1:9096 is loopback, and the kubelet calls a hook on the pod's address; write 0.0.0.0:9096"
        ]
    );
}

#[test]
fn a_target_is_one_process_and_for_a_sidecar() {
    for (yaml, why) in [
        (
            "target: {}",
            ":1: target: says nothing; write one of ports, executable, pidFile",
        ),
        (
            "target: {ports: [1], executable: a}",
            ":1: target: says more than one of ports, executable, pidFile; keep the surest",
        ),
        (
            "target: {ports: [0]}",
            ":1: target.ports[0]: expected a port, 1 to 65535, found the number 0",
        ),
        (
            "target: {ports: []}",
            ": target.ports: empty; write the port that the program listens on, like [50051]",
        ),
        ("target: {ports: [1, 1]}", ": target.ports: 1 twice; keep one"),
        (
            "target: {executable: bin/app}",
            ": target.executable: bin/app is neither a name nor an absolute path; write /bin/app",
        ),
        ("target: {pidFile: ''}", ": target.pidFile: empty; write a path"),
        (
            "target: {port: 1}",
            ":1: target.port: unknown key; did you mean target.ports?",
        ),
    ] {
        refuse(&[(yaml, why)]);
    }
    let wrapped = Given::yaml("target: {ports: [1]}").settings().of_a_wrap();
    assert_eq!(
        wrapped.expect_err("refused").to_string(),
        "target.ports [1]: tidegate run starts the program and needs no target; leave it out, or start tidegate sidecar"
    );
    for (yaml, why) in [
        (
            "child: {signalGroup: true}",
            "child.signalGroup: true: a sidecar signals the one process that target names; leave it out",
        ),
        (
            "child: {successCodes: [143]}",
            "child.successCodes: the program beside ends with its own code in its own container; leave it out",
        ),
        (
            "hooks: {onDrain: [{signal: SIGTSTP}]}",
            "hooks.onDrain[0].signal: there is nobody to send it to; set target, or leave it out",
        ),
    ] {
        let refused = Given::yaml(yaml).settings().of_a_sidecar().expect_err("refused");
        assert_eq!(refused.to_string(), why);
    }
    assert!(
        Given::yaml("target: {ports: [1]}\nhooks: {onDrain: [{signal: SIGTSTP}]}")
            .settings()
            .of_a_sidecar()
            .is_ok()
    );
}

#[test]
fn checks_and_the_app_have_rules_of_their_own() {
    let check = |rest: &str| format!("health: {{checks: [{{name: db, tcp: 'db:1', {rest}}}]}}");
    let many = (0..101).map(|number| format!("{{name: c{number}, tcp: 'h:1'}}"));
    let many = format!("health: {{checks: [{}]}}", many.collect::<Vec<_>>().join(", "));
    for (yaml, why) in [
        (
            check("interval: 99ms"),
            "checks[0].interval: 99ms is too short; write 100ms or more",
        ),
        (
            check("timeout: 0s"),
            "checks[0].timeout: 0s is too short; write 1ms or more",
        ),
        (
            check("failures: 0"),
            "checks[0].failures: 0 in a row is no number of failures; write 1 or more",
        ),
        (many, "checks: 101 checks, and 100 are the most"),
        (
            "health: {checks: [{name: a, tcp: 'h:1'}, {name: a, tcp: 'h:2'}]}".to_owned(),
            "checks: \"a\" twice; keep one",
        ),
        (
            "health: {checks: [{name: \" \", tcp: 'h:1'}]}".to_owned(),
            "checks[0].name: \" \" is no name; write a word or two, like db",
        ),
        (
            "health: {app: {holdOnDisconnect: 1s}}".to_owned(),
            "app.holdOnDisconnect: names no address to follow; write health.app.grpc beside it",
        ),
        (
            "health: {listen: ':50051', app: {grpc: 'localhost:50051'}}".to_owned(),
            "app.grpc: this is where tidegate itself answers (health.listen); name the app's own port",
        ),
    ] {
        refuse(&[(&yaml, &format!(": health.{why}"))]);
    }
}

#[test]
fn no_refusal_shows_a_password() {
    for yaml in [
        "inflight: [{prometheus: {url: 'https://u:secret@h/', query: x}}]",
        "inflight: [{prometheus: {url: 'http://u:secret@h:0/', query: x}}]",
        "inflight: [{prometheus: {url: 'https://h/?token=secret', query: x}}]",
        "inflight: [{prometheus: {url: 'u:secret@h', query: x}}]",
        "hooks: {onDrain: [{http: {url: 'http://h/', headers: {a: \"secret\\n\"}}}]}",
    ] {
        let line = Given::yaml(yaml).refused();
        assert!(!line.contains("secret"), "{line}");
    }
}
