//! Dependencies, checked, from the outside: the real binary, and dependencies that behave well and badly.

mod support;

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use support::children::{TOLD, telling};
use support::config::ROOMY;
use support::grpc::{ServingStatus as Shown, Watch};
use support::health_app::{Ability, HealthApp, ServingStatus};
use support::http::get;
use support::patience::eventually;
use support::{Running, Signal, Tidegate, ports};

/// A tidegate with checks.
struct Checked {
    tidegate: Running,
    health: SocketAddr,
}

fn checked(health_keys: &str, checks: &[String]) -> Checked {
    let health = ports::free();
    let checks = checks.join(", ");
    let config = format!(
        "{}health: {{listen: {health}{health_keys}, checks: [{checks}]}}\n",
        ROOMY.unmeasured()
    );
    let tidegate = Tidegate::wrapping(telling(&[])).config(config).start();
    tidegate.child();
    Checked { tidegate, health }
}

/// A check called `db`, every 100 ms.
fn db(what: &str) -> String {
    format!("{{name: db, {what}, interval: 100ms}}")
}

fn readyz(health: SocketAddr) -> (u16, String) {
    let answer = get(health, "/readyz").expect("the health port is open to the end");
    (answer.status, answer.body.trim().to_owned())
}

fn wait_ready(health: SocketAddr, wanted: &str) {
    let what = format!("/readyz says {wanted:?}, first {:?}", readyz(health));
    eventually(&what, || readyz(health).1.starts_with(wanted).then_some(()));
}

/// An HTTP server that answers each request as it is told, by its number from 0, and how many it had at once.
struct Dependency {
    address: SocketAddr,
    requests: Arc<AtomicUsize>,
    most_at_once: Arc<AtomicUsize>,
}

impl Dependency {
    fn start(answer: impl Fn(usize) -> (&'static str, Duration) + Send + Sync + 'static) -> Self {
        let listener = ports::listen(ports::free());
        let dependency = Self {
            address: listener.local_addr().expect("an address"),
            requests: Arc::default(),
            most_at_once: Arc::default(),
        };
        let (requests, most) = (
            Arc::clone(&dependency.requests),
            Arc::clone(&dependency.most_at_once),
        );
        let answer = Arc::new(answer);
        let now = Arc::new(AtomicUsize::new(0));
        std::thread::spawn(move || {
            for socket in listener.incoming() {
                let Ok(mut socket) = socket else { continue };
                let (answer, now, most) = (Arc::clone(&answer), Arc::clone(&now), Arc::clone(&most));
                let number = requests.fetch_add(1, Ordering::SeqCst);
                std::thread::spawn(move || {
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    let (head, time) = answer(number);
                    let _ = socket.read(&mut [0; 1024]);
                    std::thread::sleep(time);
                    // Before the answer: whoever has it may ask again before this thread goes on.
                    now.fetch_sub(1, Ordering::SeqCst);
                    let _ = write!(socket, "HTTP/1.1 {head}\r\nContent-Length: 0\r\n\r\n");
                });
            }
        });
        dependency
    }

    fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    fn check(&self, rest: &str) -> String {
        db(&format!("http: 'http://{}/health'{rest}", self.address))
    }
}

const OK: (&str, Duration) = ("200 OK", Duration::ZERO);
const BROKEN: (&str, Duration) = ("500 Internal Server Error", Duration::ZERO);

#[test]
fn a_dependency_that_is_gone_is_named_and_one_success_brings_it_back() {
    let address = ports::free();
    let listener = ports::listen(address);
    let checked = checked(", services: [a, b]", &[db(&format!("tcp: '{address}'"))]);
    wait_ready(checked.health, "ok");
    let watches = ["a", "b"].map(|name| Watch::open(checked.health, name));
    drop(listener);
    wait_ready(
        checked.health,
        "not serving: check db: connection refused: nothing listens there",
    );
    for watch in &watches {
        watch.wait_for(Shown::NotServing);
    }
    checked
        .tidegate
        .stderr
        .wait_for("check db failed 3 times in a row");
    let _listener = ports::listen(address);
    wait_ready(checked.health, "ok");
    checked.tidegate.stderr.wait_for("check db succeeds again");
}

#[test]
fn status_says_why_and_metrics_count_the_probes() {
    let address = ports::free();
    let config_of = |socket| format!("tcp: '{socket}'");
    let checked = checked(", services: [a]", &[db(&config_of(address))]);
    let why = "not serving: check db: connection refused: nothing listens there";
    wait_ready(checked.health, why);
    let status = checked.tidegate.status();
    assert_eq!(status["notReady"], why);
    assert_eq!(status["services"]["a"], "NOT_SERVING");
    let page = || get(checked.health, "/metrics").expect("the port is open").body;
    let failed = page();
    for line in [
        "tidegate_check_serving{check=\"db\"} 0.0",
        "tidegate_check_probes_total{check=\"db\",result=\"success\"} 0",
        "tidegate_health_serving{service=\"a\"} 0.0",
        "tidegate_health_serving{service=\"liveness\"} 1.0",
    ] {
        assert!(failed.contains(line), "no {line} in {failed}");
    }
    let _listener = ports::listen(address);
    wait_ready(checked.health, "ok");
    assert!(checked.tidegate.status()["notReady"].is_null());
    let page = page();
    assert!(
        page.contains("tidegate_check_serving{check=\"db\"} 1.0"),
        "{page}"
    );
    let none = "tidegate_check_probes_total{check=\"db\",result=\"success\"} 0\n";
    assert!(!page.contains(none), "{page}");
}

#[test]
fn what_is_not_known_of_a_check_is_no_number() {
    let dependency = Dependency::start(|_| ("200 OK", Duration::from_secs(30)));
    let checked = checked("", &[dependency.check(", timeout: 20s")]);
    wait_ready(checked.health, "no verdict yet: check db has not answered yet");
    let page = get(checked.health, "/metrics").expect("the port is open").body;
    assert!(!page.contains("check_serving{"), "{page}");
    assert!(!page.contains("health_serving{service=\"\"}"), "{page}");
    assert_eq!(
        checked.tidegate.status()["notReady"],
        "no verdict yet: check db has not answered yet"
    );
}

#[test]
fn two_failures_in_a_row_are_not_three() {
    let dependency = Dependency::start(|number| if number % 3 == 0 { OK } else { BROKEN });
    let checked = checked("", &[dependency.check("")]);
    let watch = Watch::open(checked.health, "");
    watch.wait_for(Shown::Serving);
    eventually("twelve probes", || (dependency.requests() >= 12).then_some(()));
    assert!(watch.so_far().is_empty(), "it was SERVING throughout");
}

#[test]
fn nothing_is_known_until_each_check_has_spoken() {
    let good = Dependency::start(|_| OK);
    let slow = Dependency::start(|_| ("204 No Content", Duration::from_millis(700)));
    let cache = slow.check("").replace("name: db", "name: cache");
    let checked = checked("", &[good.check(""), cache]);
    wait_ready(checked.health, "no verdict yet: check cache has not answered yet");
    wait_ready(checked.health, "ok");
}

#[test]
fn the_app_and_every_check_have_to_agree() {
    let app = HealthApp::start(ports::free(), Ability::All, &[("", ServingStatus::Serving)]);
    let address = ports::free();
    let health_keys = format!(", app: {{grpc: '{}'}}", app.address());
    let checked = checked(&health_keys, &[db(&format!("tcp: '{address}'"))]);
    wait_ready(checked.health, "not serving: check db: connection refused");
    let listener = ports::listen(address);
    wait_ready(checked.health, "ok");
    app.say("", ServingStatus::NotServing);
    wait_ready(checked.health, "not serving: the app says so of the child");
    drop(listener);
    wait_ready(
        checked.health,
        "not serving: the app says so of the child; check db: connection refused",
    );
}

#[test]
fn redirects_and_errors_are_failures() {
    for (answer, why) in [
        (
            "302 Found\r\nLocation: http://127.0.0.1:1/",
            "it answered 302 Found; redirects are not followed",
        ),
        (
            "500 Internal Server Error",
            "it answered 500 Internal Server Error",
        ),
        ("nonsense", "no whole HTTP answer"),
    ] {
        let dependency = Dependency::start(move |_| (answer, Duration::ZERO));
        let checked = checked("", &[dependency.check("")]);
        wait_ready(checked.health, &format!("not serving: check db: {why}"));
    }
}

#[test]
fn a_dependency_that_accepts_and_never_answers_has_failed() {
    let dependency = Dependency::start(|_| ("200 OK", Duration::from_secs(3600)));
    let checked = checked("", &[dependency.check(", timeout: 200ms")]);
    wait_ready(
        checked.health,
        "not serving: check db: no answer within 200ms, connected, waiting for it",
    );
}

#[test]
fn probes_slower_than_their_interval_never_overlap() {
    let dependency = Dependency::start(|_| ("200 OK", Duration::from_millis(250)));
    let checked = checked("", &[dependency.check("")]);
    wait_ready(checked.health, "ok");
    eventually("eight probes", || (dependency.requests() >= 8).then_some(()));
    assert_eq!(dependency.most_at_once.load(Ordering::SeqCst), 1);
}

#[test]
fn a_host_without_an_address_is_a_failure() {
    let checked = checked("", &[db("tcp: 'no-such-host.invalid:5432', timeout: 500ms")]);
    let body = eventually("a verdict", || {
        let (_, body) = readyz(checked.health);
        body.starts_with("not serving: ").then_some(body)
    });
    // A resolver that cannot be reached takes longer than the check.
    assert!(
        body.contains("its host name cannot be resolved") || body.contains("looking up its host name"),
        "{body}"
    );
}

#[test]
fn a_grpc_dependency_has_to_say_serving() {
    let app = HealthApp::start(ports::free(), Ability::All, &[("", ServingStatus::Serving)]);
    let checked = checked("", &[db(&format!("grpc: '{}'", app.address()))]);
    wait_ready(checked.health, "ok");
    app.say("", ServingStatus::NotServing);
    wait_ready(checked.health, "not serving: check db: it says NOT_SERVING");
    app.die();
    wait_ready(checked.health, "not serving: check db: connection refused");
}

#[test]
fn a_program_says_it_by_its_exit_code_and_nothing_else() {
    let directory = tempfile::tempdir().expect("a directory");
    let flag = directory.path().join("well");
    std::fs::write(&flag, "").expect("a file");
    let script = format!("echo chatter; echo chatter >&2; test -e {}", flag.display());
    let checked = checked("", &[db(&format!("exec: {{command: [sh, -c, '{script}']}}"))]);
    wait_ready(checked.health, "ok");
    std::fs::remove_file(&flag).expect("the file is there");
    wait_ready(checked.health, "not serving: check db: ");
    assert!(checked.tidegate.stdout.with("chatter").is_empty());
    assert!(checked.tidegate.stderr.with("chatter").is_empty());
}

#[test]
fn a_program_that_cannot_be_started_is_a_failure_with_its_reason() {
    let checked = checked("", &[db("exec: {command: [/no/such/program]}")]);
    wait_ready(checked.health, "not serving: check db: ");
    assert!(readyz(checked.health).1.contains("/no/such/program"));
}

#[test]
fn a_program_that_hangs_is_killed_with_its_group() {
    let hangs = "exec: {command: [sh, -c, 'sleep 1000 & trap \"\" TERM; sleep 1000'], timeout: 200ms}";
    let checked = checked("", &[db(hangs)]);
    wait_ready(
        checked.health,
        "not serving: check db: it took longer than 200ms and was ended",
    );
    // tidegate, the child, and one run of three at a time, with the last one's being reaped.
    for _ in 0..20 {
        let there = checked.tidegate.remaining().len();
        assert!(there <= 8, "{there} processes");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn the_drain_ends_the_checks_and_nothing_brings_the_state_back() {
    let dependency = Dependency::start(|_| OK);
    let hangs = "{name: slow, exec: {command: [sh, -c, 'sleep 1000 & sleep 1000'], timeout: 1h}}";
    let mut checked = checked("", &[dependency.check(""), hangs.to_owned()]);
    wait_ready(checked.health, "no verdict yet: check slow has not answered yet");
    eventually("the program runs", || {
        (checked.tidegate.remaining().len() >= 5).then_some(())
    });
    let begun = checked.tidegate.signal(Signal::SIGTERM);
    wait_ready(checked.health, "draining");
    eventually("the program is gone", || {
        (checked.tidegate.remaining().len() <= 2).then_some(())
    });
    let at_the_drain = dependency.requests();
    assert_eq!(checked.tidegate.wait().code(), TOLD);
    assert!(begun.elapsed() >= ROOMY.propagation, "several intervals passed");
    // One may have been on its way.
    assert!(dependency.requests() <= at_the_drain + 1);
    assert_eq!(checked.tidegate.termination().verdict(), "unmeasured");
}
