//! Eureka, as its REST operations are documented.

use crate::registry::{Asked, Registry, Turn, fine};
use crate::{hook, settled, up};

const INSTANCE: &str = "/eureka/apps/WEB/host%3Aweb%3A8080";

/// A server whose instance has this override, if it has the instance.
fn server_with(found: Option<(&'static str, &'static str)>) -> Registry {
    Registry::start(move |asked: &Asked, _| {
        let (method, target) = asked.line.split_once(' ').expect("a request line");
        let below = target.strip_prefix(INSTANCE);
        match (method, below, found) {
            ("GET", Some(""), Some((name, value))) => {
                // It would be XML.
                assert_eq!(asked.headers["accept"], "application/json");
                let instance = serde_json::json!({"instance": {"instanceId": "host:web:8080", "status": value, name: value}});
                Turn::Answer(200, instance.to_string())
            }
            ("PUT", Some("/status?value=OUT_OF_SERVICE"), Some(_))
            | ("DELETE", Some("/status?value=UP" | "/status" | ""), Some(_)) => fine(),
            _ => Turn::Answer(404, String::new()),
        }
    })
}

fn server() -> Registry {
    server_with(Some(("overriddenStatus", "UNKNOWN")))
}

fn eureka(registry: &Registry, more: &str) -> String {
    format!(
        "{{eureka: {{address: '{}/eureka/', app: WEB, instanceId: 'host:web:8080', retries: 0{more}}}}}",
        registry.url()
    )
}

#[test]
fn its_status_is_overridden_and_that_is_taken_back() {
    let registry = server();
    let tidegate = up(&eureka(&registry, ""), "");
    registry.wait_for(1);
    for _ in 0..3 {
        for way in ["drain", "resume"] {
            tidegate.ask(&[way]);
            settled(&tidegate);
            assert_eq!(hook(&tidegate, 0)["state"], "done", "{:?}", registry.lines());
        }
    }
    let turn = [
        format!("PUT {INSTANCE}/status?value=OUT_OF_SERVICE"),
        format!("DELETE {INSTANCE}/status?value=UP"),
    ];
    let lines = registry.lines();
    assert_eq!(
        lines[0],
        format!("GET {INSTANCE}"),
        "an earlier container's is looked for"
    );
    assert_eq!(lines[1..], [&turn[..], &turn, &turn].concat());
}

/// Its client alone knows whether the program is up: until it says so, the status is UNKNOWN.
#[test]
fn an_override_of_an_earlier_container_is_taken_away_at_the_start_and_no_other() {
    for (found, ours) in [
        (Some(("overriddenStatus", "OUT_OF_SERVICE")), true),
        (Some(("overriddenstatus", "OUT_OF_SERVICE")), true),
        (Some(("overriddenStatus", "DOWN")), false),
        (Some(("overriddenStatus", "UNKNOWN")), false),
        (None, false),
    ] {
        let registry = server_with(found);
        let tidegate = up(&eureka(&registry, ""), "");
        registry.wait_for(1);
        settled(&tidegate);
        let hook = hook(&tidegate, 0);
        assert_eq!(
            (&hook["on"], &hook["state"]),
            (&"start".into(), &"done".into()),
            "{found:?} {hook}"
        );
        let mut expected = vec![format!("GET {INSTANCE}")];
        expected.extend(ours.then(|| format!("DELETE {INSTANCE}/status")));
        assert_eq!(registry.lines(), expected, "{found:?}");
    }
}

#[test]
fn leaving_what_is_not_registered_is_a_failure() {
    let registry = server_with(None);
    let tidegate = up(&eureka(&registry, ""), "");
    registry.wait_for(1);
    tidegate.ask(&["drain"]);
    settled(&tidegate);
    assert_eq!(
        (
            hook(&tidegate, 0)["on"].as_str(),
            hook(&tidegate, 0)["state"].as_str()
        ),
        (Some("onDrain"), Some("failed"))
    );
}

#[test]
fn a_deregistration_is_the_clients_to_undo() {
    let registry = server();
    let tidegate = up(&eureka(&registry, ", mode: deregister"), "");
    tidegate.ask(&["drain"]);
    settled(&tidegate);
    assert_eq!(hook(&tidegate, 0)["state"], "done");
    tidegate.ask(&["resume"]);
    assert_eq!(tidegate.status()["hooks"].as_array().map(Vec::len), Some(0));
    assert_eq!(registry.lines(), ["DELETE /eureka/apps/WEB/host%3Aweb%3A8080"]);
}

#[test]
fn a_server_that_fails_at_the_start_is_said() {
    let registry = Registry::start(|_, _| Turn::Answer(503, String::new()));
    let tidegate = up(&eureka(&registry, ""), "");
    registry.wait_for(1);
    settled(&tidegate);
    let hook = hook(&tidegate, 0);
    assert_eq!((&hook["on"], &hook["state"]), (&"start".into(), &"failed".into()));
    assert!(
        hook["why"]
            .as_str()
            .is_some_and(|why| why.starts_with("it answered 503")),
        "{hook}"
    );
}
