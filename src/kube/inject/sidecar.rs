//! The container beside, and the hook that calls it.

use super::super::yaml::Node;
use super::target::Target;
use super::wrap::{Config, PORT, variable};
use super::{binary, container, ports, unused};

/// The port of preStop hooks where none is written.
const HOOK: i64 = 9096;

/// Puts a native sidecar into the pod, in front of its init containers: it is the first to start, and the last to
/// stop. The program's hook calls it.
pub fn beside(
    pod: &mut Node,
    target: &Target,
    image: &str,
    grace: i64,
    config: Option<&Config>,
    notes: &mut Vec<String>,
) {
    let says = |keys: &[&str]| config.is_some_and(|config| config.says_below(keys));
    let mut variables = Vec::new();
    if !says(&["terminationGracePeriodSeconds"]) {
        variables.push(("TIDEGATE_GRACE_PERIOD", Node::text(format!("{grace}s"))));
    }
    let health = ports::free(pod, PORT);
    if health != PORT && !says(&["health", "listen"]) {
        variables.push(("TIDEGATE_LISTEN", Node::text(format!("0.0.0.0:{health}"))));
    }
    let hook = config.and_then(|config| config.hook).unwrap_or_else(|| {
        let port = ports::free(pod, HOOK.max(health + 1));
        variables.push(("TIDEGATE_LIFECYCLE_LISTEN", Node::text(format!("0.0.0.0:{port}"))));
        port
    });
    if let Some(config) = config {
        variables.push(("TIDEGATE_CONFIG", config.value()));
    }
    let name = unused("tidegate", &ports::container_names(pod));
    let sidecar = Node::map([
        ("name", Node::text(name)),
        ("image", Node::text(image)),
        ("restartPolicy", Node::text("Always")),
        ("command", Node::list(["/tidegate", "sidecar"].map(Node::text))),
        ("env", Node::list(variables.into_iter().map(variable))),
        (
            "ports",
            Node::list([ports::entry(pod, ["prestop", "tidegate-prestop"], hook)]),
        ),
        ("resources", binary::resources()),
        ("securityContext", binary::confined()),
    ]);
    pod.list_entry("initContainers").insert(0, sidecar);
    let get = [("path", Node::text("/prestop")), ("port", Node::bare(hook))];
    let called = Node::map([("httpGet", Node::map(get))]);
    container(pod, target.container)
        .entry("lifecycle", || Node::map([]))
        .set("preStop", called);
    notes.push(format!(
        "{}: tidegate is beside container {}, whose preStop hook calls it",
        target.title, target.name
    ));
    if !says(&["target"]) && !pod.is_true_at("shareProcessNamespace") {
        notes.push(format!(
            "{}: the program is PID 1 of container {}: without a handler for its stop signal it lives until SIGKILL; name it under target in a --config FILE, and tidegate stops it",
            target.title, target.name
        ));
    }
    if says(&["target"]) && !pod.is_true_at("shareProcessNamespace") {
        pod.set("shareProcessNamespace", Node::bare(true));
        notes.push(format!(
            "{}: shareProcessNamespace is true now, so that tidegate sees what target names",
            target.title
        ));
    }
    if says(&["lifecycle", "tokenFile"]) {
        notes.push(format!(
            "{}: lifecycle.tokenFile is set; give the hook the token in httpHeaders, and mount the file in tidegate's container",
            target.title
        ));
    }
}
