//! The release drill in its short form: a rolling restart behind a real Envoy loses calls without tidegate, and none
//! under it.

mod support;

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use support::processes::{MARK, marked};

/// What calls may take longer in a release: p99 in the window, of p99 before it.
const RATIO: f64 = 1.5;

#[test]
fn a_release_behind_health_checks_loses_no_call() {
    loses_no_call("health-checked");
}

#[test]
fn a_release_behind_endpoints_alone_loses_no_call() {
    loses_no_call("endpoints");
}

#[test]
fn a_release_behind_endpoints_that_come_late_loses_no_call() {
    loses_no_call("endpoints-late");
}

#[test]
fn a_release_with_client_side_health_checking_loses_no_call() {
    loses_no_call("client-side");
}

#[test]
fn a_release_behind_haproxy_loses_no_call() {
    loses_no_call("haproxy");
}

fn loses_no_call(balancer: &str) {
    let runs = drill(
        balancer,
        &[
            "--rounds",
            "1",
            "--balancers",
            balancer,
            "--contestants",
            "alone,tidegate",
        ],
    );
    let [alone, tidegate] = &runs[..] else {
        panic!("two runs: {runs:?}")
    };
    assert_lossless(tidegate);
    assert!(
        failures(alone) > 0,
        "without tidegate there is nothing to show: {alone}"
    );
    // Whatever failed, it is known where, when and how.
    for failure in alone["failures"].as_array().expect("a list") {
        for key in ["instance", "phase", "code", "why"] {
            assert!(
                failure[key].as_str().is_some_and(|text| !text.is_empty()),
                "{failure}"
            );
        }
        assert_ne!(failure["phase"], "serving", "nobody fails that serves: {failure}");
    }
}

#[test]
fn what_cannot_be_done_is_said_before_anything_is_started() {
    for (arguments, why) in [
        (["--rate", "0"], "0 is not in 1..=100000"),
        (["--rounds", "0"], "0 is not in 1..=100000"),
        (["--baseline", "0"], "0 is not in 1..=3600"),
        (
            ["--pictures", "/proc/pictures"],
            "drill: cannot make /proc/pictures: ",
        ),
        (["--json", "/no/such/file"], "drill: cannot write /no/such/file: "),
    ] {
        let output = Command::new(binary())
            .args(arguments)
            .output()
            .expect("the drill starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(why), "{said}");
        assert!(!said.contains("Envoy"), "{said}");
    }
}

#[test]
fn whatever_goes_wrong_in_the_middle_loses_what_it_must_and_nothing_else() {
    let chaos = "metrics-hang,too-long,two-at-once,kill,balancer-restart";
    let runs = drill("chaos", &["--chaos", chaos]);
    let [hang, long, two, kill, balancer] = &runs[..] else {
        panic!("five runs: {runs:?}")
    };
    let report = |run: &Value, key: &str| run["restarts"][0]["report"][key].clone();
    assert_eq!(
        (failures(hang), report(hang, "verdict")),
        (0, "deadline".into()),
        "{hang}"
    );
    assert_eq!(
        report(hang, "inFlightAtStop"),
        Value::Null,
        "unknown is not zero: {hang}"
    );
    assert_eq!(
        (failures(long), report(long, "verdict")),
        (1, "deadline".into()),
        "{long}"
    );
    assert_eq!(report(long, "inFlightAtStop"), 1, "{long}");
    assert_eq!(failures(two), 0, "{two}");
    for restart in two["restarts"].as_array().expect("a list") {
        assert_eq!(restart["report"]["verdict"], "drained", "{restart}");
    }
    let killed = &kill["restarts"][0];
    assert_eq!(killed["report"], Value::Null, "{killed}");
    for failure in kill["failures"].as_array().expect("a list") {
        assert_eq!(failure["instance"], killed["instance"], "{failure}");
    }
    assert_eq!(report(balancer, "verdict"), "drained", "{balancer}");
    for failure in balancer["failures"].as_array().expect("a list") {
        let phase = failure["phase"].as_str().expect("a text");
        assert!(!phase.starts_with("gone"), "the instance cut nothing: {failure}");
    }
}

/// No call lost, every drain drained, and an instance whose load balancer asks for its health gone before those that sleep.
fn assert_lossless(run: &Value) {
    assert_eq!(failures(run), 0, "{run}");
    let p99 = |window: &str| run[window]["p99"].as_f64().expect("a number");
    let (before, during) = (p99("baselineMillis"), p99("windowMillis"));
    assert!(
        before > 0.0 && during <= RATIO * before,
        "p99 {before} ms → {during} ms"
    );
    let restarts = run["restarts"].as_array().expect("a list");
    assert_eq!(restarts.len(), 3, "{run}");
    for restart in restarts {
        assert_eq!(restart["report"]["verdict"], "drained", "{restart}");
        assert_eq!(restart["killed"], false, "{restart}");
    }
}

fn failures(run: &Value) -> usize {
    run["failures"].as_array().expect("a list").len()
}

fn binary() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_tidegate")).with_file_name("examples/drill")
}

/// Runs the drill, gently: the machine may have two cores, and they may be busy.
fn drill(mark: &str, arguments: &[&str]) -> Vec<Value> {
    let file = tempfile::NamedTempFile::with_suffix(".json").expect("a file");
    let output = Command::new(binary())
        .args(["--rate", "40", "--baseline", "5", "--json"])
        .arg(file.path())
        .args(arguments)
        .env(MARK, mark)
        .stdin(Stdio::null())
        .output()
        .expect("the drill starts");
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{said}");
    assert!(marked(mark).is_empty(), "the drill left processes behind");
    let text = std::fs::read_to_string(file.path()).expect("the figures");
    let figures: Value = serde_json::from_str(&text).expect("JSON");
    figures["runs"].as_array().expect("a list of runs").clone()
}
