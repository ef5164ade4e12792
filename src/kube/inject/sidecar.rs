//! The container beside, and the hook that calls it.

use super::super::yaml::Node;
use super::target::Target;
use super::wrap::{Config, PORT, variable};
use super::{InjectError, binary, container, ports, unused, variables};

/// The port of preStop hooks where none is written.
const HOOK: i64 = 9096;

/// Puts a native sidecar into the pod, in front of its init containers: it is the first to start, and the last to
/// stop. The program's hook calls it.
///
/// # Errors
/// As [`variables::value`].
pub fn beside(
    pod: &mut Node,
    target: &Target,
    image: &str,
    grace: i64,
    config: Option<&Config>,
    notes: &mut Vec<String>,
) -> Result<(), InjectError> {
    let says = |keys: &[&str]| config.is_some_and(|config| config.says_below(keys));
    let mut own = Vec::new();
    if !says(&["terminationGracePeriodSeconds"]) {
        own.push(("TIDEGATE_GRACE_PERIOD", Node::text(format!("{grace}s"))));
    }
    let health = ports::free(pod, PORT);
    if health != PORT && !says(&["health", "listen"]) {
        own.push(("TIDEGATE_LISTEN", Node::text(format!("0.0.0.0:{health}"))));
    }
    let hook = config.and_then(|config| config.hook).unwrap_or_else(|| {
        let port = ports::free(pod, HOOK.max(health + 1));
        own.push(("TIDEGATE_LIFECYCLE_LISTEN", Node::text(format!("0.0.0.0:{port}"))));
        port
    });
    let name = unused("tidegate", &ports::container_names(pod));
    let mut sidecar = Node::map([
        ("name", Node::text(name)),
        ("image", Node::text(image)),
        ("restartPolicy", Node::text("Always")),
        ("command", Node::list(["/tidegate", "sidecar"].map(Node::text))),
        ("env", Node::list(own.into_iter().map(variable))),
        (
            "ports",
            Node::list([ports::entry(pod, ["prestop", "tidegate-prestop"], hook)]),
        ),
        ("resources", binary::resources()),
        (
            "securityContext",
            binary::confined(&pod.list_at("containers")[target.container]),
        ),
    ]);
    if let Some(config) = config {
        variables::set(&mut sidecar, config.text())?;
    }
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
    let user = ["securityContext", "runAsUser"];
    let is_known = container(pod, target.container).at(&user).is_some() || pod.at(&user).is_some();
    if says(&["target"]) && !is_known {
        notes.push(format!(
            "{}: nothing here says which user the program is; tidegate is its own image's, and has to be the same to stop it: write securityContext: {{runAsUser: N}} in the pod",
            target.title
        ));
    }
    if says(&["lifecycle", "tokenFile"]) {
        notes.push(format!(
            "{}: lifecycle.tokenFile is set; give the hook the token in httpHeaders, and mount the file in tidegate's container",
            target.title
        ));
    }
    Ok(())
}
