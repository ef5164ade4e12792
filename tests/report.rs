//! What tidegate says of a drain: the log, and the termination message.

mod support;

use support::children::{ASKED, TOLD, telling};
use support::config::{LONG, ROOMY, TIGHT};
use support::metrics_endpoint::MetricsEndpoint;
use support::termination::LIMIT;
use support::tidegate::TerminationFile;
use support::{Signal, Tidegate};

#[test]
fn json_lines_are_json_every_one_of_them() {
    let calls = MetricsEndpoint::with_calls(0);
    let mut tidegate = Tidegate::wrapping(telling(&[]))
        .config(ROOMY.measured(&calls))
        .start();
    tidegate.child();
    tidegate.signal(Signal::SIGTERM);
    tidegate.wait();
    let lines = tidegate.stderr.to_the_end();
    assert!(!lines.is_empty(), "a drain is worth a line");
    for line in &lines {
        assert!(line.json().is_some(), "not a JSON object: {:?}", line.text);
    }
}

#[test]
fn the_log_tells_the_phases_in_their_order() {
    let calls = MetricsEndpoint::with_calls(0);
    let text = "telemetry: {logFormat: text, terminationLog: \"{termination}\"}\n";
    let mut tidegate = Tidegate::wrapping(telling(&[]))
        .config(ROOMY.measured(&calls) + text)
        .start();
    tidegate.child();
    tidegate.signal(Signal::SIGTERM);
    tidegate.wait();
    let lines: Vec<_> = tidegate
        .stderr
        .to_the_end()
        .into_iter()
        .map(|line| line.text)
        .collect();
    let place = |word: &str| {
        lines
            .iter()
            .position(|line| line.contains(word))
            .unwrap_or_else(|| panic!("no {word:?} in {lines:#?}"))
    };
    let order = ["SIGTERM", "propagation", "drained"].map(place);
    assert!(order.is_sorted(), "{order:?} in {lines:#?}");
    // For people on a pipe: no colours.
    assert!(lines.iter().all(|line| !line.contains('\x1b')), "{lines:#?}");
}

#[test]
fn a_drain_with_a_measure_is_drained() {
    let calls = MetricsEndpoint::with_calls(0);
    let mut tidegate = Tidegate::wrapping(telling(&[]))
        .config(ROOMY.measured(&calls))
        .start();
    tidegate.child();
    tidegate.signal(Signal::SIGTERM);
    assert_eq!(tidegate.wait().code(), TOLD);
    let report = tidegate.termination();
    assert_eq!(report.verdict(), "drained");
    assert_eq!(report.0["trigger"], "SIGTERM");
    assert_eq!(report.number("exitCode"), f64::from(TOLD));
    assert_eq!(report.0["child"]["exitCode"], TOLD);
    assert_eq!(report.number("inFlightAtStop"), 0.0);
    assert_eq!(report.number("budgetMillis"), ROOMY.budget().as_millis() as f64);
    // A phase that never came is null: nobody had to be killed.
    let phases = report.0["phasesMillis"].as_object().expect("phases");
    let phases: f64 = phases.values().filter_map(serde_json::Value::as_f64).sum();
    let spent = report.number("spentMillis");
    // Each phase is rounded to a millisecond.
    assert!(
        (phases - spent).abs() <= 6.0,
        "phases of {phases} ms in a drain of {spent} ms"
    );
    assert!(spent <= report.number("budgetMillis"));
    let sentence = report.0["message"].as_str().expect("a sentence");
    assert!(!sentence.is_empty() && !sentence.contains('\n'), "{sentence:?}");
}

#[test]
fn a_drain_without_a_measure_is_unmeasured() {
    let mut tidegate = Tidegate::wrapping(telling(&[]))
        .config(ROOMY.unmeasured())
        .start();
    tidegate.child();
    tidegate.signal(Signal::SIGTERM);
    assert_eq!(tidegate.wait().code(), TOLD);
    let report = tidegate.termination();
    assert_eq!(report.verdict(), "unmeasured");
    assert!(
        report.0["inFlightAtStop"].is_null(),
        "nothing was measured: {report:?}"
    );
}

#[test]
fn a_drain_that_was_cut_says_deadline_and_how_many_were_left() {
    let calls = MetricsEndpoint::with_calls(3);
    let mut tidegate = Tidegate::wrapping(telling(&[]))
        .config(TIGHT.measured(&calls))
        .start();
    tidegate.child();
    tidegate.signal(Signal::SIGTERM);
    tidegate.wait();
    let report = tidegate.termination();
    assert_eq!(report.verdict(), "deadline");
    assert_eq!(report.number("inFlightAtStop"), 3.0);
}

#[test]
fn a_child_that_left_by_itself_is_child_exited() {
    let calls = MetricsEndpoint::with_calls(1);
    let mut tidegate = Tidegate::wrapping(telling(&[]))
        .config(LONG.measured(&calls))
        .start();
    let child = tidegate.child();
    let trigger = tidegate.signal(Signal::SIGTERM);
    calls.wait_for_polls_after(trigger + LONG.propagation, 1);
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(child), Signal::SIGUSR2).expect("the child is there");
    assert_eq!(tidegate.wait().code(), ASKED);
    let report = tidegate.termination();
    assert_eq!(report.verdict(), "child-exited");
    assert_eq!(report.0["child"]["exitCode"], ASKED);
}

#[test]
fn a_child_ended_by_a_signal_is_reported_with_its_name() {
    let mut tidegate = Tidegate::wrapping(["/bin/sleep", "60"])
        .config(ROOMY.unmeasured())
        .start();
    support::grpc::Watch::open(tidegate.health(), "").wait_for(support::grpc::ServingStatus::Serving);
    tidegate.signal(Signal::SIGTERM);
    assert_eq!(tidegate.wait().code(), 143);
    let report = tidegate.termination();
    assert_eq!(report.0["child"]["signal"], "SIGTERM");
    assert!(report.0["child"]["exitCode"].is_null(), "{report:?}");
    assert_eq!(report.number("exitCode"), 143.0);
}

#[test]
fn a_success_code_is_reported_as_zero() {
    let config = ROOMY
        .unmeasured()
        .replace("child: {", "child: {successCodes: [143], ");
    let mut tidegate = Tidegate::wrapping(["/bin/sleep", "60"]).config(config).start();
    support::grpc::Watch::open(tidegate.health(), "").wait_for(support::grpc::ServingStatus::Serving);
    tidegate.signal(Signal::SIGTERM);
    assert_eq!(tidegate.wait().code(), 0);
    assert_eq!(tidegate.termination().number("exitCode"), 0.0);
}

#[test]
fn an_absent_termination_file_is_not_made() {
    let mut tidegate = Tidegate::wrapping(telling(&[]))
        .config(ROOMY.unmeasured())
        .termination_file(TerminationFile::Absent)
        .start();
    tidegate.child();
    tidegate.signal(Signal::SIGTERM);
    assert_eq!(tidegate.wait().code(), TOLD);
    assert!(
        !tidegate.termination_path().exists(),
        "not in a pod, nothing is left behind"
    );
}

#[test]
fn the_termination_message_fits_however_long_the_reasons_are() {
    // The reason of an unknown reading carries the URL.
    let url = format!("http://127.0.0.1:9/{}", "long/".repeat(2000));
    let config = TIGHT.with_source(&format!("prometheus: {{url: \"{url}\", query: calls_in_flight}}"));
    let mut tidegate = Tidegate::wrapping(telling(&[])).config(config).start();
    tidegate.child();
    tidegate.signal(Signal::SIGTERM);
    assert_eq!(tidegate.wait().code(), TOLD);
    let length = std::fs::metadata(tidegate.termination_path())
        .expect("the file is there")
        .len();
    assert!(length <= LIMIT as u64 && length > 0, "{length} bytes");
    assert_eq!(tidegate.termination().verdict(), "deadline");
}

#[test]
fn an_old_message_is_overwritten_not_added_to() {
    let mut tidegate = Tidegate::wrapping(telling(&[]))
        .config(ROOMY.unmeasured())
        .start();
    tidegate.child();
    // A container that was restarted finds the file of its predecessor.
    std::fs::write(tidegate.termination_path(), "x".repeat(LIMIT)).expect("the file can be written");
    tidegate.signal(Signal::SIGTERM);
    tidegate.wait();
    assert_eq!(tidegate.termination().verdict(), "unmeasured");
}

#[test]
fn every_field_of_the_termination_message_is_in_the_docs() {
    let docs = include_str!("../docs/drain.md");
    let mut tidegate = Tidegate::wrapping(telling(&[]))
        .config(ROOMY.unmeasured())
        .start();
    tidegate.child();
    tidegate.signal(Signal::SIGTERM);
    tidegate.wait();
    let said = tidegate.termination();
    for (name, value) in said.0.as_object().expect("an object") {
        match value.as_object() {
            Some(parts) if name != "phasesMillis" => {
                for part in parts.keys() {
                    assert!(docs.contains(&format!("`{name}.{part}`")), "{name}.{part}");
                }
            }
            _ => assert!(docs.contains(&format!("| `{name}` |")), "{name}"),
        }
    }
}
