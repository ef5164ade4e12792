//! `tidegate status`: what a run is doing, once or from now on.

mod support;

use std::collections::BTreeSet;

use support::children::{TOLD, telling};
use support::config::{LONG, ROOMY};
use support::grpc::{ServingStatus, Watch};
use support::metrics_endpoint::{Answer, MetricsEndpoint};
use support::patience::eventually;
use support::{Signal, Tidegate};

#[test]
fn its_fields_are_those_of_the_docs() {
    let docs = include_str!("../docs/admin.md");
    let documented: BTreeSet<&str> = docs
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .filter(|field| field.chars().all(|c| c.is_alphanumeric() || c == '.'))
        .collect();
    let tidegate = Tidegate::wrapping(telling(&[]))
        .config(ROOMY.unmeasured())
        .start();
    let child = tidegate.child();
    let status = tidegate.status();
    let mut found = BTreeSet::new();
    for (name, value) in status.as_object().expect("an object") {
        match value.as_object() {
            Some(fields) if name != "services" => {
                found.extend(fields.keys().map(|field| format!("{name}.{field}")));
            }
            _ => {
                found.insert(name.clone());
            }
        }
    }
    assert_eq!(found, documented.into_iter().map(str::to_owned).collect());
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(status["phase"], "serving");
    assert_eq!(status["child"]["pid"], child);
    assert_eq!(status["measured"], false);
    assert_eq!(status["budgetMillis"], ROOMY.budget().as_millis() as u64);
    assert!(status["inFlight"].is_null() && status["timeLeftMillis"].is_null());
    assert_eq!(status["services"][""], "SERVING");
}

#[test]
fn a_stop_shows_its_clock_its_calls_and_who_was_told() {
    let calls = MetricsEndpoint::with_calls(2);
    let mut tidegate = Tidegate::wrapping(telling(&[]))
        .config(LONG.measured(&calls))
        .start();
    tidegate.child();
    let watch = Watch::open(tidegate.health(), "");
    watch.wait_for(ServingStatus::Serving);
    tidegate.signal(Signal::SIGTERM);
    tidegate.wait_for_phase("in-flight");
    eventually("the calls", || (tidegate.status()["inFlight"] == 2).then_some(()));
    let status = tidegate.status();
    let millis = |field: &str| status[field].as_u64().expect("a number");
    assert!(millis("spentMillis") >= LONG.propagation.as_millis() as u64);
    assert!(millis("spentMillis") + millis("timeLeftMillis") <= millis("budgetMillis"));
    assert_eq!(status["trigger"], "SIGTERM");
    assert!(status["verdict"].is_null());
    assert_eq!(status["propagation"]["watchers"], 1);
    assert_eq!(status["propagation"]["watchersTold"], 1);
    calls.set(Answer::Status(500));
    eventually("unknown polls", || {
        let status = tidegate.status();
        (status["unknownPolls"].as_u64() > Some(0) && status["inFlight"].is_null()).then_some(())
    });
    let page = tidegate.ask(&["status"]);
    for row in [
        "phase      in-flight, stopped by SIGTERM",
        "in-flight  unknown (",
        "told       1 of 1 watchers told",
        "health     \"\" NOT_SERVING",
        "health     liveness SERVING",
    ] {
        assert!(page.contains(row), "no {row:?} in\n{page}");
    }
    assert!(!page.contains('\x1b'), "colours in a pipe");
    calls.set_calls(0);
    assert_eq!(tidegate.wait().code(), TOLD);
}

#[test]
fn watch_tells_each_phase_once_and_ends_with_tidegate() {
    let mut tidegate = Tidegate::wrapping(telling(&[]))
        .config(ROOMY.unmeasured())
        .start();
    tidegate.child();
    let text = tidegate.client(&["status", "--watch"]);
    let json = tidegate.client(&["status", "--watch", "-o", "json"]);
    text.stdout.wait_for("serving");
    json.stdout.wait_for("serving");
    tidegate.signal(Signal::SIGTERM);
    assert_eq!(tidegate.wait().code(), TOLD);
    let (text, json) = (text.end(), json.end());
    assert_eq!((text.code(), json.code()), (0, 0), "{text:?} {json:?}");
    let lines: Vec<&str> = text.stdout.lines().collect();
    assert_eq!(lines.first(), Some(&"serving"));
    assert_eq!(lines.last(), Some(&"tidegate is gone"));
    let distinct: BTreeSet<&str> = lines.iter().copied().collect();
    assert_eq!(distinct.len(), lines.len(), "a line twice: {lines:?}");
    let last: serde_json::Value =
        serde_json::from_str(json.stdout.lines().last().expect("a line")).expect("JSON");
    assert_eq!(last["phase"], "over");
    assert_eq!(last["verdict"], "unmeasured");
}

#[test]
fn watch_ends_when_nobody_reads() {
    let mut tidegate = Tidegate::wrapping(telling(&[]))
        .config(ROOMY.unmeasured())
        .start();
    tidegate.child();
    eventually("the admin socket", || tidegate.socket().exists().then_some(()));
    let mut watch = std::process::Command::new(env!("CARGO_BIN_EXE_tidegate"))
        .args(["status", "--watch"])
        .env(support::client::SOCKET, tidegate.socket())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    drop(watch.stdout.take());
    tidegate.ask(&["drain"]);
    let status = eventually("its end", || watch.try_wait().expect("our own process"));
    assert_eq!(status.code(), Some(0));
    tidegate.signal(Signal::SIGTERM);
    assert_eq!(tidegate.wait().code(), TOLD);
}

#[test]
fn a_stopped_tidegate_is_said_to_be_silent() {
    let mut tidegate = Tidegate::wrapping(telling(&[]))
        .config(ROOMY.unmeasured())
        .start();
    tidegate.child();
    tidegate.status();
    tidegate.signal(Signal::SIGSTOP);
    let ended = tidegate.client(&["status"]).end();
    tidegate.signal(Signal::SIGCONT);
    assert_eq!(ended.code(), 125, "{ended:?}");
    assert!(ended.stderr.contains("does not answer"), "{ended:?}");
    assert_eq!(tidegate.status()["phase"], "serving");
}
