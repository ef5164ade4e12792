//! A configuration that is wrong: one line that says where and what, exit code 125, and no child.

mod support;

use std::net::TcpListener;

use support::{Running, Tidegate, ports};

/// tidegate's own failures end with it, as env(1) and docker-run(1) have it.
const OWN_FAILURE: i32 = 125;

#[test]
fn an_unknown_key_is_named_with_the_nearest_known_one() {
    refused("drain: {propogation: 5s}\n", &["propogation", "propagation"]);
    refused("drian: {propagation: 5s}\n", &["drian", "drain"]);
    refused(
        "terminationGracePeriodSecond: 5\n",
        &["terminationGracePeriodSecond", "terminationGracePeriodSeconds"],
    );
}

#[test]
fn a_duration_without_sense_is_named_with_its_key() {
    refused("drain: {quiet: soon}\n", &["drain.quiet", "soon"]);
    refused("child: {stopTimeout: -1s}\n", &["child.stopTimeout", "-1s"]);
    refused("drain: {pollInterval: 0s}\n", &["drain.pollInterval"]);
    refused(
        "drain: {propagation: {min: 5s, max: 1s}}\n",
        &["drain.propagation"],
    );
}

#[test]
fn a_budget_that_does_not_hold_is_refused_with_the_sum() {
    let sum = [
        "propagation",
        "stopTimeout",
        "killWait",
        "terminationGracePeriodSeconds",
        "4s",
    ];
    refused(
        "terminationGracePeriodSeconds: 5\ndrain: {propagation: 5s}\n",
        &sum,
    );
}

#[test]
fn a_margin_or_a_grace_period_without_sense_is_refused() {
    refused("marginPercent: 120\n", &["marginPercent", "120"]);
    refused("marginPercent: .nan\n", &["marginPercent"]);
    refused(
        "terminationGracePeriodSeconds: thirty\n",
        &["terminationGracePeriodSeconds", "thirty"],
    );
    refused(
        "terminationGracePeriodSeconds: -1\n",
        &["terminationGracePeriodSeconds"],
    );
    refused(
        "terminationGracePeriodSeconds: 10\npreStopSeconds: 20\n",
        &["preStopSeconds"],
    );
}

#[test]
fn a_signal_that_does_not_exist_is_refused() {
    refused("child: {stopSignal: SIGFOO}\n", &["child.stopSignal", "SIGFOO"]);
    refused(
        "drain: {triggers: [SIGTERM, SIGBAR]}\n",
        &["drain.triggers", "SIGBAR"],
    );
}

#[test]
fn a_signal_that_cannot_be_caught_is_no_trigger() {
    refused("drain: {triggers: [SIGKILL]}\n", &["drain.triggers", "SIGKILL"]);
}

#[test]
fn an_exit_code_out_of_range_is_refused() {
    refused("child: {successCodes: [300]}\n", &["child.successCodes", "300"]);
}

#[test]
fn an_address_that_is_none_is_refused() {
    refused("health: {listen: everywhere}\n", &["health.listen", "everywhere"]);
}

#[test]
fn a_port_out_of_range_is_refused() {
    for port in ["0", "65536", "99999", "-1"] {
        let config = format!("health: {{listen: \"127.0.0.1:{port}\"}}\n");
        refused(&config, &["health.listen", port]);
    }
}

#[test]
fn a_query_outside_the_subset_is_refused() {
    let config =
        "inflight:\n  - prometheus: {url: \"http://127.0.0.1:9/metrics\", query: \"rate(calls[5m])\"}\n";
    refused(config, &["inflight", "query", "rate"]);
}

#[test]
fn a_source_without_sense_is_refused() {
    refused(
        "inflight:\n  - prometheus: {url: \"not a url\", query: calls}\n",
        &["inflight", "url"],
    );
    refused(
        "inflight:\n  - prometheus: {url: \"http://127.0.0.1:9/metrics\"}\n",
        &["inflight", "query"],
    );
    refused("inflight:\n  - promtheus: {}\n", &["promtheus", "prometheus"]);
    let absent = "inflight:\n  - prometheus: {url: \"http://127.0.0.1:9/\", query: a, absent: perhaps}\n";
    refused(absent, &["absent", "perhaps"]);
}

#[test]
fn a_choice_that_is_none_is_refused() {
    refused("drain: {onUnknown: ignore}\n", &["drain.onUnknown", "ignore"]);
    refused("telemetry: {logFormat: xml}\n", &["telemetry.logFormat", "xml"]);
}

#[test]
fn what_is_not_yaml_is_refused_with_its_place() {
    refused("marginPercent: 20\nchild: [\n", &["tidegate.yaml:"]);
    refused("- a list\n- not a map\n", &["tidegate.yaml"]);
    let twice = "terminationGracePeriodSeconds: 5\nterminationGracePeriodSeconds: 6\n";
    refused(twice, &["tidegate.yaml:2", "terminationGracePeriodSeconds"]);
}

#[test]
fn a_config_file_that_is_not_there_is_named() {
    let tidegate = Tidegate::wrapping(child())
        .argument("--config")
        .argument("/no/such/tidegate.yaml");
    refused_run(tidegate.start(), &["/no/such/tidegate.yaml"]);
}

#[test]
fn the_layer_at_fault_is_named() {
    let inline = Tidegate::wrapping(child()).env("TIDEGATE_CONFIG", "drain: {quiet: soon}");
    refused_run(inline.start(), &["TIDEGATE_CONFIG", "drain.quiet", "soon"]);
    let single = Tidegate::wrapping(child()).env("TIDEGATE_DRAIN_QUIET", "soon");
    refused_run(single.start(), &["TIDEGATE_DRAIN_QUIET", "soon"]);
    let negative = Tidegate::wrapping(child())
        .argument("--grace-period")
        .argument("-5");
    refused_run(negative.start(), &["--grace-period", "-5"]);
    let flag = Tidegate::wrapping(child()).argument("--quiet").argument("soon");
    refused_run(flag.start(), &["--quiet", "soon"]);
}

#[test]
fn a_port_that_is_taken_is_named() {
    let address = ports::free();
    let _taken = TcpListener::bind(address).expect("a free port");
    refused(
        &format!("health: {{listen: {address}}}\n"),
        &[&address.to_string()],
    );
}

#[test]
fn a_registry_without_a_scheme_is_named_with_its_mend() {
    refused(
        "hooks: {onDrain: [{consul: {address: 'consul:8500', serviceId: web}}]}\n",
        &["hooks.onDrain[0].consul.address", "consul:8500", "http://"],
    );
}

/// If it ran, it would say so.
fn child() -> [&'static str; 3] {
    ["/bin/sh", "-c", "echo the child was started"]
}

fn refused(config: &str, names: &[&str]) {
    refused_run(Tidegate::wrapping(child()).config(config).start(), names);
}

fn refused_run(mut tidegate: Running, names: &[&str]) {
    let exit = tidegate.wait();
    let said: Vec<_> = tidegate
        .stderr
        .to_the_end()
        .into_iter()
        .map(|line| line.text)
        .collect();
    let out = tidegate.stdout.to_the_end();
    assert!(out.is_empty(), "the child was started: {out:?}; {said:?}");
    assert_eq!(exit.code(), OWN_FAILURE, "{said:?}");
    assert_eq!(said.len(), 1, "one line: {said:#?}");
    for name in names {
        assert!(said[0].contains(name), "{name:?} is not named in {:?}", said[0]);
    }
}
