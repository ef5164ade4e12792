//! The health service as other implementations of gRPC see it. grpcio carries gRPC's C core, as most languages
//! but Go and Java do.

mod support;

use std::process::{Command, Stdio};
use std::time::Duration;

use support::children::{TOLD, grpc_python, program, script, telling};
use support::client::Client;
use support::config::{LONG, ROOMY, Timing};
use support::lines::Lines;
use support::patience::best_of;
use support::{Signal, Tidegate, ports};

/// Time enough for slow clients to hear of it.
const CALM: Timing = Timing {
    grace: Duration::from_secs(15),
    propagation: Duration::from_secs(3),
    ..ROOMY
};

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
    tidegate.signal(Signal::SIGTERM);
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

#[test]
fn grpcio_takes_the_service_configs_to_copy() {
    let health = ports::free().to_string();
    let config = format!(
        "{}health: {{listen: '{health}', services: ['', plume.linkd.v3.Library]}}\n",
        LONG.unmeasured()
    );
    let tidegate = Tidegate::wrapping(telling(&[])).config(config).start();
    tidegate.child();
    let check = |config: &str| {
        let arguments = [
            health.clone(),
            "plume.linkd.v3.Library".to_owned(),
            config.to_owned(),
        ];
        client("check.py", &arguments).to_the_end()[0].text.clone()
    };
    let blocks = include_str!("../docs/kubernetes.md").split("```json\n").skip(1);
    let blocks: Vec<&str> = blocks.filter_map(|rest| rest.split("```").next()).collect();
    for block in &blocks {
        assert_eq!(check(block), "SERVING", "{block}");
    }
    let broken = blocks[0].replace("\"maxAttempts\": 3", "\"maxAttempts\": 1");
    assert_ne!(broken, blocks[0]);
    assert_ne!(check(&broken), "SERVING");
}

#[test]
fn grpcios_round_robin_leaves_a_server_that_drains_and_no_call_fails() {
    // Each has a name by which its answers are told apart.
    let mut servers: Vec<_> = ["one", "two", "three"]
        .map(|name| {
            let address = ports::free();
            let config = format!(
                "{}health: {{listen: \"{address}\", services: [\"\", server-{name}]}}\n",
                CALM.unmeasured()
            );
            let tidegate = Tidegate::wrapping(telling(&[])).config(config).start();
            tidegate.child();
            (address.to_string(), tidegate)
        })
        .into();
    let mut command = Command::new(grpc_python());
    command.arg(script("balance.py"));
    command.args(servers.iter().map(|(address, _)| address));
    let balance = Client::start(command);
    balance.stdout.wait_for("sees 3");
    let (_, mut leaving) = servers.remove(0);
    leaving.signal(Signal::SIGTERM);
    balance.stdout.wait_for("sees 2");
    // It is not asked any more, and that it goes is nobody's loss.
    assert!(leaving.poll_exit().is_none(), "it left before the clients did");
    assert_eq!(leaving.wait().code(), TOLD);
    balance.signal(Signal::SIGTERM);
    let ended = balance.end();
    assert!(!ended.stdout.contains("failed"), "{}", ended.stdout);
    assert!(ended.stdout.contains("calls "), "{}", ended.stdout);
}

#[test]
fn grpcio_checks_on_a_unix_socket() {
    let directory = tempfile::tempdir().expect("a directory");
    let place = format!("unix:{}/health.sock", directory.path().display());
    let config = format!("{}health: {{listen: \"{place}\"}}\n", ROOMY.unmeasured());
    let tidegate = Tidegate::wrapping(telling(&[])).config(config).start();
    tidegate.child();
    // The C core makes the path the authority.
    let said = client("check.py", &[place, "liveness".to_owned()]).to_the_end();
    assert_eq!(said[0].text, "SERVING");
}

#[test]
fn grpcio_knows_by_reflection_how_to_check() {
    let tidegate = Tidegate::wrapping(telling(&[]))
        .config(ROOMY.unmeasured())
        .start();
    tidegate.child();
    support::grpc::Watch::open(tidegate.health(), "").wait_for(support::grpc::ServingStatus::Serving);
    let said = client("reflect.py", &[tidegate.health().to_string()]).to_the_end();
    let said: Vec<_> = said.iter().map(|line| line.text.as_str()).collect();
    let wanted = [
        "service grpc.health.v1.Health",
        "service grpc.reflection.v1.ServerReflection",
        "service grpc.reflection.v1alpha.ServerReflection",
        "check SERVING",
    ];
    assert_eq!(said, wanted);
}

#[test]
fn grpc_js_is_told_what_it_asks_and_of_the_drain() {
    let mut tidegate = Tidegate::wrapping(telling(&[]))
        .config(ROOMY.unmeasured())
        .start();
    tidegate.child();
    support::grpc::Watch::open(tidegate.health(), "").wait_for(support::grpc::ServingStatus::Serving);
    let mut command = Command::new(program("node"));
    command
        .arg(node_script("health.mjs"))
        .arg(tidegate.health().to_string());
    let said = Client::start(command);
    said.stdout.wait_for("watch SERVING");
    tidegate.signal(Signal::SIGTERM);
    assert_eq!(tidegate.wait().code(), TOLD);
    let ended = said.end();
    let lines: Vec<_> = ended.stdout.lines().collect();
    let wanted = [
        "check \"\" SERVING",
        "check liveness SERVING",
        "check no.such.Service NOT_FOUND",
        "watch SERVING",
        "watch NOT_SERVING",
        "ended UNAVAILABLE",
    ];
    assert_eq!(lines, wanted, "{}", ended.stderr);
}

#[test]
fn curl_gets_the_same_over_http1_and_http2() {
    let mut tidegate = Tidegate::wrapping(telling(&[])).config(CALM.unmeasured()).start();
    tidegate.child();
    let health = tidegate.health();
    support::grpc::Watch::open(health, "").wait_for(support::grpc::ServingStatus::Serving);
    let curl = |protocol: &str, path: &str| {
        let mut command = Command::new(program("curl"));
        command.args(["-s", "-w", "%{http_version} %{http_code}", protocol]);
        command.arg(format!("http://{health}{path}"));
        String::from_utf8(command.output().expect("curl runs").stdout).expect("text")
    };
    let both = [("--http1.1", "1.1"), ("--http2-prior-knowledge", "2")];
    for (flag, version) in both {
        assert_eq!(curl(flag, "/readyz"), format!("ok\n{version} 200"));
        assert_eq!(curl(flag, "/healthz"), format!("ok\n{version} 200"));
        assert!(curl(flag, "/metrics").contains("tidegate_"));
        assert!(curl(flag, "/x").ends_with(&format!("{version} 404")));
    }
    tidegate.signal(Signal::SIGTERM);
    support::patience::eventually("NOT_SERVING", || {
        (curl("--http1.1", "/readyz") != "ok\n1.1 200").then_some(())
    });
    for (flag, version) in both {
        assert_eq!(curl(flag, "/readyz"), format!("draining\n{version} 503"));
    }
    assert_eq!(tidegate.wait().code(), TOLD);
}

#[test]
fn h2load_loses_no_check() {
    let tidegate = Tidegate::wrapping(telling(&[]))
        .config(ROOMY.unmeasured())
        .start();
    tidegate.child();
    support::grpc::Watch::open(tidegate.health(), "").wait_for(support::grpc::ServingStatus::Serving);
    // A request for "": an empty message with its framing.
    let body = tidegate.directory().join("check");
    std::fs::write(&body, [0; 5]).expect("a file");
    let ended = Command::new(program("h2load"))
        .args([
            "-n",
            "20000",
            "-c",
            "10",
            "-m",
            "20",
            "-H",
            "content-type: application/grpc",
        ])
        .args(["-H", "te: trailers", "-d"])
        .arg(&body)
        .arg(format!(
            "http://{}/grpc.health.v1.Health/Check",
            tidegate.health()
        ))
        .output()
        .expect("h2load runs");
    let said = String::from_utf8(ended.stdout).expect("text");
    assert!(
        said.contains("20000 succeeded, 0 failed, 0 errored, 0 timeout"),
        "{said}"
    );
    assert!(said.contains("status codes: 20000 2xx"), "{said}");
}

fn node_script(name: &str) -> String {
    let root = env!("CARGO_MANIFEST_DIR");
    assert!(
        std::path::Path::new(root)
            .join("node_modules/grpc-health-check")
            .exists(),
        "node_modules is not there; `make test` makes it"
    );
    format!("{root}/tests/node/{name}")
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
