//! The health service as other implementations of gRPC see it. grpcio carries gRPC's C core, as most languages
//! but Go and Java do.

mod support;

use std::process::{Command, Stdio};
use std::time::Duration;

use support::Tidegate;
use support::children::{TOLD, grpc_python, script, telling};
use support::config::ROOMY;
use support::lines::Lines;
use support::patience::best_of;

/// From SIGTERM to NOT_SERVING at a client that watches: the contract's phase "notify".
const NOTIFY: Duration = Duration::from_millis(50);

#[test]
fn a_grpcio_watch_hears_of_the_drain_within_50_ms() {
    let best = best_of(5, NOTIFY, || {
        let mut tidegate = Tidegate::wrapping(telling(&[]))
            .config(ROOMY.unmeasured())
            .start();
        tidegate.child();
        let arguments = [tidegate.health().to_string(), tidegate.pid().to_string()];
        let said = client("watch.py", &arguments);
        let told = said.wait_for("told ").text;
        let millis: f64 = told.trim_start_matches("told ").parse().expect("a number");
        assert_eq!(tidegate.wait().code(), TOLD);
        // The stream ends only at the very end, in a way that has a client go elsewhere.
        assert_eq!(said.wait_for("ended ").text, "ended UNAVAILABLE");
        assert_eq!(said.with("told ").len(), 1, "equal values are not sent twice");
        Duration::from_secs_f64(millis / 1e3)
    });
    assert!(best <= NOTIFY, "the best of five took {best:?}");
}

#[test]
fn a_grpcio_watch_of_an_unknown_name_stays_open_and_hears_of_the_drain() {
    let mut tidegate = Tidegate::wrapping(telling(&[]))
        .config(ROOMY.unmeasured())
        .start();
    tidegate.child();
    let arguments = [
        tidegate.health().to_string(),
        tidegate.pid().to_string(),
        "no.such.Service".to_owned(),
    ];
    let said = client("watch.py", &arguments);
    said.wait_for("status SERVICE_UNKNOWN");
    tidegate.signal(support::Signal::SIGTERM);
    said.wait_for("status NOT_SERVING");
    assert_eq!(tidegate.wait().code(), TOLD);
}

#[test]
fn grpcio_checks_names_that_are_there_and_names_that_are_not() {
    let tidegate = Tidegate::wrapping(telling(&[]))
        .config(ROOMY.unmeasured())
        .start();
    tidegate.child();
    support::grpc::Watch::open(tidegate.health(), "").wait_for(support::grpc::ServingStatus::Serving);
    for (service, wanted) in [
        ("", "SERVING"),
        ("liveness", "SERVING"),
        ("no.such.Service", "NOT_FOUND"),
    ] {
        let said = client("check.py", &[tidegate.health().to_string(), service.to_owned()]).to_the_end();
        assert_eq!(said[0].text, wanted, "{service:?}");
    }
}

fn client(name: &str, arguments: &[String]) -> Lines {
    let mut process = Command::new(grpc_python())
        .arg(script(name))
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the client starts");
    let said = Lines::of("the client", process.stdout.take().expect("a pipe"));
    // It ends by itself: its Watch has a deadline.
    std::thread::spawn(move || process.wait());
    said
}
