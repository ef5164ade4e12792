//! Eureka, as its REST operations are documented.

use crate::registry::{Asked, Registry, Turn, fine};
use crate::{hook, settled, up};

fn server(asked: &Asked, _: usize) -> Turn {
    match asked.line.as_str() {
        "PUT /eureka/apps/WEB/host%3Aweb%3A8080/status?value=OUT_OF_SERVICE"
        | "DELETE /eureka/apps/WEB/host%3Aweb%3A8080/status?value=UP"
        | "DELETE /eureka/apps/WEB/host%3Aweb%3A8080" => fine(),
        _ => Turn::Answer(404, String::new()),
    }
}

fn eureka(registry: &Registry, more: &str) -> String {
    format!(
        "{{eureka: {{address: '{}/eureka/', app: WEB, instanceId: 'host:web:8080', retries: 0{more}}}}}",
        registry.url()
    )
}

#[test]
fn its_status_is_overridden_and_that_is_taken_back() {
    let registry = Registry::start(server);
    let tidegate = up(&eureka(&registry, ""), "");
    registry.wait_for(1);
    for way in ["drain", "resume"] {
        tidegate.ask(&[way]);
        settled(&tidegate);
        assert_eq!(hook(&tidegate, 0)["state"], "done", "{:?}", registry.lines());
    }
    assert_eq!(
        registry.lines(),
        [
            // Of an earlier container, perhaps.
            "DELETE /eureka/apps/WEB/host%3Aweb%3A8080/status?value=UP",
            "PUT /eureka/apps/WEB/host%3Aweb%3A8080/status?value=OUT_OF_SERVICE",
            "DELETE /eureka/apps/WEB/host%3Aweb%3A8080/status?value=UP",
        ]
    );
}

#[test]
fn an_instance_that_has_not_registered_has_nothing_to_be_taken_away() {
    let registry = Registry::start(|_, _| Turn::Answer(404, String::new()));
    let tidegate = up(&eureka(&registry, ""), "");
    registry.wait_for(1);
    settled(&tidegate);
    assert_eq!(
        (
            hook(&tidegate, 0)["state"].as_str(),
            hook(&tidegate, 0)["on"].as_str()
        ),
        (Some("done"), Some("start"))
    );
    // A leaving of what is not there is a failure.
    tidegate.ask(&["drain"]);
    settled(&tidegate);
    assert_eq!(hook(&tidegate, 0)["state"], "failed");
}

#[test]
fn a_deregistration_is_the_clients_to_undo() {
    let registry = Registry::start(server);
    let tidegate = up(&eureka(&registry, ", mode: deregister"), "");
    tidegate.ask(&["drain"]);
    settled(&tidegate);
    assert_eq!(hook(&tidegate, 0)["state"], "done");
    tidegate.ask(&["resume"]);
    assert_eq!(tidegate.status()["hooks"].as_array().map(Vec::len), Some(0));
    assert_eq!(registry.lines(), ["DELETE /eureka/apps/WEB/host%3Aweb%3A8080"]);
}
