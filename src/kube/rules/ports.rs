//! The ports that tidegate listens at are its alone.

use crate::config::Settings;

use super::super::finding::Finding;
use super::super::yaml::Node;
use super::Case;
use super::catalogue::PORT_TAKEN;
use super::probes::health_port;

/// Where tidegate listens: what for, the port, and the key that chooses another.
fn listeners(settings: &Settings) -> Vec<(&'static str, u16, &'static str)> {
    let health = health_port(settings).map(|at| ("health", at.port(), "health: {listen: 0.0.0.0:9105}"));
    let hooks = settings
        .lifecycle
        .listen
        .map(|at| ("preStop hooks", at.port(), "lifecycle: {listen: 0.0.0.0:9106}"));
    health.into_iter().chain(hooks).collect()
}

/// TG016: the containers of a pod share its ports, and a port that is taken ends the start with 125.
pub fn ports_are_free(case: Case<'_>, findings: &mut Vec<Finding>) {
    let wrapped = case.wrapped;
    let Some(ours) = wrapped.valid().map(listeners) else {
        return;
    };
    let mut found = |message: String, key: &str| {
        let mend = format!("give tidegate another port: {key}");
        findings.push(Finding::in_container(PORT_TAKEN, wrapped, "", message, mend));
    };
    if let [(_, health, _), (_, hooks, key)] = ours[..]
        && health == hooks
    {
        found(
            format!("health and preStop hooks are both served at port {health}"),
            key,
        );
    }
    let siblings = case
        .siblings
        .iter()
        .filter(|sibling| sibling.place != wrapped.place);
    for sibling in siblings {
        let theirs = sibling.valid().map(listeners).unwrap_or_default();
        for (what, port, key) in &ours {
            if theirs.iter().any(|(_, taken, _)| taken == port) {
                let name = sibling.name();
                found(
                    format!("tidegate in {name} listens at port {port} too, which is for {what} here"),
                    key,
                );
            }
        }
    }
    let others = wrapped
        .pod
        .containers()
        .filter(|(place, _)| !case.siblings.iter().any(|sibling| sibling.place == *place));
    for (place, container) in others {
        for (what, port, key) in &ours {
            if lists(container, *port) {
                let name = container.scalar_at("name").unwrap_or(&place);
                found(format!("port {port}, for {what}, is the container {name}'s"), key);
            }
        }
    }
}

/// Whether a container lists a port as its own. One that its hook calls stands there for the hook.
fn lists(container: &Node, port: u16) -> bool {
    let number = i64::from(port);
    let called = container.at(&["lifecycle", "preStop", "httpGet", "port"]);
    let is_called = |entry: &Node| {
        called.is_some_and(|called| {
            called.number() == Some(number) || called.scalar() == entry.scalar_at("name")
        })
    };
    container.list_at("ports").iter().any(|entry| {
        entry.number_at("containerPort") == Some(number)
            && entry.scalar_at("protocol").unwrap_or("TCP") == "TCP"
            && !is_called(entry)
    })
}
