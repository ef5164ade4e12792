//! Consul's agent, as its API is documented.

use crate::registry::{Asked, Registry, Turn, fine};
use crate::support::Signal;
use crate::support::http::get;
use crate::support::patience::eventually;
use crate::{hook, settled, up};

/// Answers as the agent: 403 without the token, 404 for what it does not know, 405 for another method.
fn agent(asked: &Asked, _: usize) -> Turn {
    if asked.headers.get("x-consul-token").map(String::as_str) != Some("t0ken") {
        return Turn::Answer(403, "Permission denied".into());
    }
    let (method, target) = asked.line.split_once(' ').expect("a request line");
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    match (method, path, query) {
        ("GET", "/v1/agent/checks", MARKS) => Turn::Answer(200, "{}".into()),
        ("PUT", "/v1/agent/service/maintenance/web-1%2Fa", "enable=true&reason=tidegate%3A%20draining")
        | ("PUT", "/v1/agent/service/maintenance/web-1%2Fa", "enable=false")
        | ("PUT", "/v1/agent/service/deregister/web-1%2Fa", "") => fine(),
        ("PUT", "/v1/agent/service/register", "") => {
            let body: serde_json::Value = serde_json::from_str(&asked.body).expect("JSON");
            assert_eq!(body["ID"], "web-1/a");
            assert_eq!(asked.headers["content-type"], "application/json");
            fine()
        }
        ("PUT", ..) => Turn::Answer(404, String::new()),
        _ => Turn::Answer(405, String::new()),
    }
}

/// `CheckID == "_service_maintenance:web-1/a"`
const MARKS: &str = "filter=CheckID%20%3D%3D%20%22_service_maintenance%3Aweb-1%2Fa%22";

/// What is asked at the start: is there a mark of ours?
fn looked() -> String {
    format!("GET /v1/agent/checks?{MARKS}")
}

fn consul(registry: &Registry, more: &str) -> String {
    format!(
        "{{consul: {{address: '{}', serviceId: web-1/a, token: {{env: TOKEN}}, retries: 0{more}}}}}",
        registry.url()
    )
}

#[test]
fn maintenance_begins_and_ends() {
    let registry = Registry::start(agent);
    let tidegate = crate::with_hooks(&consul(&registry, ""), "")
        .env("TOKEN", "t0ken")
        .start();
    tidegate.child();
    registry.wait_for(1);
    for _ in 0..10 {
        tidegate.ask(&["drain"]);
        settled(&tidegate);
        assert_eq!(hook(&tidegate, 0)["state"], "done");
        assert_eq!(hook(&tidegate, 0)["name"], "consul web-1/a");
        tidegate.ask(&["resume"]);
        settled(&tidegate);
        assert_eq!(
            (&hook(&tidegate, 0)["state"], &hook(&tidegate, 0)["on"]),
            (&"done".into(), &"onResume".into())
        );
    }
    let begin = "PUT /v1/agent/service/maintenance/web-1%2Fa?enable=true&reason=tidegate%3A%20draining";
    let end = "PUT /v1/agent/service/maintenance/web-1%2Fa?enable=false";
    let lines = registry.lines();
    assert_eq!((&lines[0], lines.len()), (&looked(), 21));
    assert!(lines[1..].chunks(2).all(|turn| turn == [begin, end]), "{lines:?}");
}

#[test]
fn a_mark_of_an_earlier_container_is_taken_away_at_the_start_and_nobody_elses() {
    for (reason, ours) in [("tidegate: draining", true), ("disk to be replaced", false)] {
        let registry = Registry::start(move |asked: &Asked, before| match asked.line.starts_with("GET") {
            true => {
                let check = serde_json::json!({"CheckID": "_service_maintenance:web-1/a", "Notes": reason, "Status": "critical"});
                Turn::Answer(
                    200,
                    serde_json::json!({"_service_maintenance:web-1/a": check}).to_string(),
                )
            }
            false => agent(asked, before),
        });
        let tidegate = crate::with_hooks(&consul(&registry, ""), "")
            .env("TOKEN", "t0ken")
            .start();
        tidegate.child();
        registry.wait_for(1);
        settled(&tidegate);
        let hook = hook(&tidegate, 0);
        assert_eq!((&hook["on"], &hook["state"]), (&"start".into(), &"done".into()));
        let end = "PUT /v1/agent/service/maintenance/web-1%2Fa?enable=false".to_owned();
        let mut expected = vec![looked()];
        expected.extend(ours.then_some(end));
        assert_eq!(registry.lines(), expected);
    }
}

#[test]
fn a_stop_during_a_resume_leaves_it_in_maintenance() {
    let registry = Registry::start(
        |asked: &Asked, before| match asked.line.contains("enable=false") {
            true => Turn::Late(std::time::Duration::from_millis(300), 200),
            false => agent(asked, before),
        },
    );
    let mut tidegate = crate::with_hooks(&consul(&registry, ""), "")
        .env("TOKEN", "t0ken")
        .start();
    tidegate.child();
    registry.wait_for(1);
    tidegate.ask(&["drain"]);
    registry.wait_for(2);
    tidegate.ask(&["resume"]);
    let back = registry.wait_for(3);
    tidegate.signal(Signal::SIGTERM);
    let left = registry.wait_for(4);
    assert!(back.line.ends_with("enable=false") && left.line.contains("enable=true"));
    assert!(left.at - back.at >= std::time::Duration::from_millis(300));
    tidegate.wait();
    assert_eq!(registry.asked().len(), 4);
}

#[test]
fn a_deregistered_service_is_registered_again_by_what_is_configured() {
    let registry = Registry::start(agent);
    let more =
        ", mode: deregister, registration: '{\"ID\": \"web-1/a\", \"Name\": \"web\", \"Port\": 50051}'";
    let tidegate = crate::with_hooks(&consul(&registry, more), "")
        .env("TOKEN", "t0ken")
        .start();
    tidegate.child();
    tidegate.ask(&["drain"]);
    registry.wait_for(1);
    tidegate.ask(&["resume"]);
    registry.wait_for(2);
    settled(&tidegate);
    assert_eq!(hook(&tidegate, 0)["state"], "done");
    assert_eq!(
        registry.lines(),
        [
            "PUT /v1/agent/service/deregister/web-1%2Fa",
            "PUT /v1/agent/service/register"
        ]
    );
}

#[test]
fn a_deregistration_that_nothing_is_known_to_undo_is_the_apps_to_undo() {
    let registry = Registry::start(agent);
    let tidegate = crate::with_hooks(&consul(&registry, ", mode: deregister"), "")
        .env("TOKEN", "t0ken")
        .start();
    tidegate.child();
    tidegate.ask(&["drain"]);
    settled(&tidegate);
    tidegate.ask(&["resume"]);
    assert_eq!(tidegate.status()["hooks"].as_array().map(Vec::len), Some(0));
    assert_eq!(registry.lines(), ["PUT /v1/agent/service/deregister/web-1%2Fa"]);
}

#[test]
fn what_the_agent_refuses_is_said() {
    let registry = Registry::start(agent);
    let mut tidegate = up(&consul(&registry, ""), "");
    tidegate.signal(Signal::SIGTERM);
    tidegate.stderr.wait_for("the variable TOKEN is not set");
    tidegate.wait();
    assert!(registry.asked().is_empty());
}

#[test]
fn a_mark_of_an_earlier_container_stays_until_the_program_serves() {
    let registry = Registry::start(agent);
    let room = tempfile::tempdir().expect("a directory");
    let ready = room.path().join("ready");
    let (tidegate, health) = crate::not_ready(&consul(&registry, ""), &ready);
    let tidegate = tidegate.env("TOKEN", "t0ken").start();
    tidegate.child();
    eventually("it is known not to be ready", || {
        let answer = get(health, "/readyz").ok()?;
        answer.body.starts_with("not serving").then_some(())
    });
    assert!(registry.asked().is_empty(), "{:?}", registry.lines());
    std::fs::write(&ready, "").expect("written");
    assert_eq!(registry.wait_for(1).line, looked());
    settled(&tidegate);
    // Only the first time.
    std::fs::remove_file(&ready).expect("removed");
    eventually("it is not ready again", || {
        (get(health, "/readyz").ok()?.status == 503).then_some(())
    });
    std::fs::write(&ready, "").expect("written");
    eventually("it is ready again", || {
        (get(health, "/readyz").ok()?.status == 200).then_some(())
    });
    tidegate.ask(&["drain"]);
    settled(&tidegate);
    assert!(
        registry.lines()[1].contains("enable=true"),
        "{:?}",
        registry.lines()
    );
}
