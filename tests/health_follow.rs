//! The app's own health, followed, from the outside: the real binary, and apps that behave well and badly.

mod support;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use support::children::{TOLD, grpc_python, script, telling};
use support::config::{LONG, ROOMY};
use support::grpc::{ServingStatus as Shown, Watch};
use support::health_app::{Ability, End, HealthApp, ServingStatus};
use support::http::get;
use support::patience::eventually;
use support::{PATIENCE, Running, Signal, Tidegate, ports};

use ServingStatus::{NotServing, Serving};

/// Long enough for a flap to be seen, had there been one.
const A_WHILE: Duration = Duration::from_millis(300);

/// A tidegate that follows `app`.
struct Followed {
    tidegate: Running,
    health: SocketAddr,
}

fn follow(app: SocketAddr, rest: &str) -> Followed {
    let health = ports::free();
    let config = format!(
        "{}health: {{listen: {health}, app: {{grpc: '{app}'{rest}}}}}\n",
        ROOMY.unmeasured()
    );
    let tidegate = Tidegate::wrapping(telling(&[])).config(config).start();
    tidegate.child();
    Followed { tidegate, health }
}

fn readyz(health: SocketAddr) -> (u16, String) {
    let answer = get(health, "/readyz").expect("the health port is open to the end");
    (answer.status, answer.body.trim().to_owned())
}

/// Waits until `/readyz` says `wanted`.
fn wait_ready(health: SocketAddr, wanted: &str) -> Instant {
    eventually(
        &format!("/readyz says {wanted:?}, now {:?}", readyz(health)),
        || (readyz(health).1 == wanted).then(Instant::now),
    )
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    eventually(what, || holds().then_some(()));
}

/// A Watch of `""` that has said SERVING, and says nothing more unless something changes.
fn watch_serving(health: SocketAddr) -> Watch {
    let watch = Watch::open(health, "");
    watch.wait_for(Shown::Serving);
    watch
}

fn assert_no_flap(watch: &Watch) {
    std::thread::sleep(A_WHILE);
    let said = watch.so_far();
    assert!(said.is_empty(), "the state flapped: {said:?}");
}

#[test]
fn nothing_is_known_before_the_app_answers_and_a_late_app_is_noticed_soon() {
    let address = ports::free();
    let followed = follow(address, "");
    let refused =
        "no verdict yet: the app's health does not answer: connection refused: nothing listens there";
    wait_ready(followed.health, refused);
    std::thread::sleep(Duration::from_secs(1));
    let begun = Instant::now();
    let _app = HealthApp::start(address, Ability::All, &[("", Serving)]);
    let noticed = wait_ready(followed.health, "ok") - begun;
    assert!(noticed < Duration::from_secs(3), "noticed after {noticed:?}");
}

#[test]
fn each_name_has_the_apps_word_and_changes_are_pushed() {
    let app = HealthApp::start(
        ports::free(),
        Ability::All,
        &[("", Serving), ("a", Serving), ("b", NotServing)],
    );
    let health = ports::free();
    let config = format!(
        "{}health: {{listen: {health}, services: [a, b, c], app: {{grpc: '{}'}}}}\n",
        ROOMY.unmeasured(),
        app.address()
    );
    let tidegate = Tidegate::wrapping(telling(&[])).config(config).start();
    tidegate.child();
    wait_ready(health, "not serving: the app says so of b");
    let watches = ["a", "b", "c"].map(|name| Watch::open(health, name));
    watches[0].wait_for(Shown::Serving);
    watches[1].wait_for(Shown::NotServing);
    // The app does not know c: its word on the whole stands for it.
    watches[2].wait_for(Shown::Serving);
    app.say("b", Serving);
    watches[1].wait_for(Shown::Serving);
    wait_ready(health, "ok");
    app.say("", NotServing);
    watches[2].wait_for(Shown::NotServing);
    app.say("c", Serving);
    watches[2].wait_for(Shown::Serving);
    assert_eq!(app.connections(), 1);
    assert_eq!(app.watches(), 4, "one stream a name, and one for the whole");
}

#[test]
fn an_app_that_dies_counts_for_the_hold_and_not_longer() {
    let app = HealthApp::start(ports::free(), Ability::All, &[("", Serving)]);
    let address = app.address();
    let followed = follow(address, ", holdOnDisconnect: 1500ms");
    let watch = watch_serving(followed.health);
    let dies = Instant::now();
    app.die();
    let unknown = watch.wait_for(Shown::Unknown);
    let held = unknown - dies;
    assert!(held >= Duration::from_millis(1500), "held for {held:?} only");
    let (status, body) = readyz(followed.health);
    assert_eq!(status, 503);
    assert!(
        body.starts_with("no verdict yet: the app's health does not answer: "),
        "{body}"
    );
    followed.tidegate.stderr.wait_for("its last state holds for 1.5s");
    let _app = HealthApp::start(address, Ability::All, &[("", Serving)]);
    watch.wait_for(Shown::Serving);
}

#[test]
fn an_app_that_restarts_within_the_hold_does_not_flap() {
    let app = HealthApp::start(ports::free(), Ability::All, &[("", Serving)]);
    let address = app.address();
    let followed = follow(address, "");
    let watch = watch_serving(followed.health);
    app.die();
    std::thread::sleep(Duration::from_millis(500));
    let app = HealthApp::start(address, Ability::All, &[("", Serving)]);
    wait_until("the app is found again", || app.open_watches() == 1);
    assert_no_flap(&watch);
    app.say("", NotServing);
    watch.wait_for(Shown::NotServing);
}

#[test]
fn a_watch_that_ends_is_opened_again_at_once_without_a_flap() {
    for end in [
        End::Well,
        End::Badly(tonic::Status::cancelled("")),
        End::Badly(tonic::Status::internal("x")),
    ] {
        let app = HealthApp::start(ports::free(), Ability::All, &[("", Serving)]);
        let followed = follow(app.address(), "");
        let watch = watch_serving(followed.health);
        app.end_watches(end.clone());
        wait_until("the Watch is opened again", || app.watches() == 2);
        assert_no_flap(&watch);
        assert_eq!((app.connections(), app.watches()), (1, 2), "{end:?}");
        app.say("", NotServing);
        watch.wait_for(Shown::NotServing);
    }
}

#[test]
fn a_goaway_is_followed_at_once_and_the_app_is_not_kept_from_stopping() {
    let app = HealthApp::start(ports::free(), Ability::All, &[("", Serving)]);
    let followed = follow(app.address(), "");
    let watch = watch_serving(followed.health);
    // It returns when the server has stopped, which waits for every open Watch.
    app.go_away();
    wait_until("a new connection is there", || {
        app.connections() == 2 && app.open_watches() == 1
    });
    assert_no_flap(&watch);
    app.say("", NotServing);
    watch.wait_for(Shown::NotServing);
}

#[test]
fn an_app_whose_state_flaps_is_shown_and_not_asked_more() {
    let app = HealthApp::start(ports::free(), Ability::All, &[("", Serving)]);
    let followed = follow(app.address(), "");
    let watch = watch_serving(followed.health);
    for _ in 0..20 {
        app.say("", NotServing);
        watch.wait_for(Shown::NotServing);
        std::thread::sleep(Duration::from_millis(25));
        app.say("", Serving);
        watch.wait_for(Shown::Serving);
        std::thread::sleep(Duration::from_millis(25));
    }
    assert_eq!((app.connections(), app.watches(), app.checks()), (1, 1, 0));
    let warned = followed
        .tidegate
        .stderr
        .with("NOT_SERVING: the app says so")
        .len();
    assert!(warned <= 5, "{warned} log lines in a second");
}

#[test]
fn watches_that_end_at_once_make_no_storm_of_calls() {
    let app = HealthApp::start(ports::free(), Ability::ShortWatches, &[("", Serving)]);
    let followed = follow(app.address(), "");
    let watch = watch_serving(followed.health);
    let (begun, before) = (Instant::now(), app.watches());
    std::thread::sleep(Duration::from_secs(3));
    let (calls, time) = (app.watches() - before, begun.elapsed());
    // 25 ms at the least after the first, then ever longer: 15 would take 10 s without jitter.
    assert!(calls < 18, "{calls} calls in {time:?}");
    assert_eq!(app.connections(), 1);
    assert!(watch.so_far().is_empty(), "the state held");
}

#[test]
fn connections_that_are_closed_twenty_times_a_second_make_no_storm_of_dials() {
    let address = ports::free();
    let listener = ports::listen(address);
    let followed = follow(address, "");
    let (tell, dials) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        while let Ok((socket, _)) = listener.accept() {
            std::thread::sleep(Duration::from_millis(50));
            drop(socket);
            if tell.send(()).is_err() {
                return;
            }
        }
    });
    dials.recv_timeout(PATIENCE).expect("it is dialled");
    std::thread::sleep(Duration::from_secs(3));
    let dialled = dials.try_iter().count();
    assert!((2..20).contains(&dialled), "{dialled} dials in 3 s");
    assert_eq!(readyz(followed.health).0, 503);
}

#[test]
fn an_app_without_watch_is_polled_by_one_check() {
    let app = HealthApp::start(ports::free(), Ability::NoWatch, &[("", Serving)]);
    let followed = follow(app.address(), "");
    let watch = watch_serving(followed.health);
    app.say("", NotServing);
    watch.wait_for(Shown::NotServing);
    assert_eq!((app.connections(), app.lists()), (1, 0));
    assert!(app.checks() >= 2);
}

#[test]
fn an_app_without_watch_is_polled_by_list_for_many_names_and_by_checks_without_list() {
    for ability in [Ability::NoWatch, Ability::OnlyCheck] {
        let app = HealthApp::start(ports::free(), ability, &[("", Serving), ("a", NotServing)]);
        let health = ports::free();
        let config = format!(
            "{}health: {{listen: {health}, services: [a, b], app: {{grpc: '{}'}}}}\n",
            ROOMY.unmeasured(),
            app.address()
        );
        let tidegate = Tidegate::wrapping(telling(&[])).config(config).start();
        tidegate.child();
        let watch = Watch::open(health, "a");
        watch.wait_for(Shown::NotServing);
        Watch::open(health, "b").wait_for(Shown::Serving);
        app.say("a", Serving);
        watch.wait_for(Shown::Serving);
        match ability {
            // Two rounds of three names, the last of which may be on its way.
            Ability::OnlyCheck => assert!(app.checks() >= 5 && app.lists() == 0),
            _ => assert!(app.checks() == 0 && app.lists() >= 2),
        }
        assert_eq!(app.connections(), 1);
    }
}

#[test]
fn polling_is_a_call_a_second_while_the_state_is_new() {
    let app = HealthApp::start(ports::free(), Ability::NoWatch, &[("", Serving)]);
    let followed = follow(app.address(), "");
    watch_serving(followed.health);
    let before = app.checks();
    std::thread::sleep(Duration::from_millis(2500));
    let polls = app.checks() - before;
    assert!((1..=3).contains(&polls), "{polls} polls in 2.5 s");
}

#[test]
fn an_app_that_accepts_and_never_answers_is_unknown() {
    let app = HealthApp::start(ports::free(), Ability::Mute, &[("", Serving)]);
    let followed = follow(app.address(), "");
    wait_ready(
        followed.health,
        "no verdict yet: the app's health does not answer: no answer within 5s",
    );
    let dials = app.connections();
    assert!(dials <= 3, "{dials} dials");
}

#[test]
fn something_that_is_no_grpc_server_is_unknown() {
    let endpoint = support::metrics_endpoint::MetricsEndpoint::with_calls(0);
    let address = endpoint.url();
    let address = address
        .trim_start_matches("http://")
        .split('/')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    let followed = follow(address, "");
    let body = eventually("a reason", || {
        let (status, body) = readyz(followed.health);
        assert_eq!(status, 503);
        body.contains("does not answer: ").then_some(body)
    });
    assert!(body.starts_with("no verdict yet: "), "{body}");
}

#[test]
fn the_drain_hangs_up_first_and_nothing_brings_the_state_back() {
    let app = HealthApp::start(ports::free(), Ability::All, &[("", Serving)]);
    let mut followed = follow(app.address(), "");
    let watch = watch_serving(followed.health);
    followed.tidegate.signal(Signal::SIGTERM);
    watch.wait_for(Shown::NotServing);
    wait_until("the app is hung up on", || app.open_watches() == 0);
    app.say("", NotServing);
    app.say("", Serving);
    assert_eq!(readyz(followed.health), (503, "draining".into()));
    assert_eq!(followed.tidegate.wait().code(), TOLD);
    assert!(
        watch.so_far().iter().all(|told| told.what.is_err()),
        "only the stream's end is left"
    );
    assert_eq!((app.connections(), app.watches()), (1, 1));
}

#[test]
fn manual_recovery_latches_what_the_app_says() {
    let app = HealthApp::start(ports::free(), Ability::All, &[("", Serving)]);
    let health = ports::free();
    let config = format!(
        "{}health: {{listen: {health}, recovery: manual, app: {{grpc: '{}'}}}}\n",
        ROOMY.unmeasured(),
        app.address()
    );
    let tidegate = Tidegate::wrapping(telling(&[])).config(config).start();
    tidegate.child();
    let watch = watch_serving(health);
    app.say("", NotServing);
    watch.wait_for(Shown::NotServing);
    wait_ready(health, "not serving: the app says so of the child");
    app.say("", Serving);
    wait_ready(
        health,
        "not serving: the child until `tidegate reset` (recovery is manual)",
    );
    assert_no_flap(&watch);
    // What the app says by now holds from here on: UNKNOWN is passed through, and not stayed in.
    assert_eq!(tidegate.ask(&["reset"]), "UNKNOWN until the next verdict: \"\"\n");
    watch.wait_for(Shown::Serving);
    wait_ready(health, "ok");
    assert_eq!(tidegate.ask(&["reset"]), "nothing is latched\n");
}

#[test]
fn grpcio_is_followed_and_stops_gracefully_without_waiting_for_us() {
    let address = ports::free();
    let health = ports::free();
    // Its stop waits for every call that is open for up to an hour: a Watch of ours would cost the stop timeout.
    let config = format!(
        "{}health: {{listen: {health}, app: {{grpc: '{address}'}}}}\n",
        LONG.unmeasured()
            .replace("stopTimeout: 1000ms", "stopTimeout: 20s")
    );
    let command = [grpc_python(), script("health.py"), address.to_string()];
    let mut tidegate = Tidegate::wrapping(command).config(config).start();
    let watch = watch_serving(health);
    tidegate.signal(Signal::SIGUSR1);
    watch.wait_for(Shown::NotServing);
    tidegate.signal(Signal::SIGUSR2);
    watch.wait_for(Shown::Serving);
    tidegate.signal(Signal::SIGTERM);
    assert_eq!(tidegate.wait().code(), 0);
    tidegate.stdout.wait_for("stopped gracefully");
    assert_eq!(tidegate.termination().verdict(), "unmeasured");
}
