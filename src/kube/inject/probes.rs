//! Who asks, and what the rollout waits for.

use crate::drain::budget::Waits;
use crate::health::Listen;

use super::super::environment::ConfigMaps;
use super::super::objects::{Object, pod_steps};
use super::super::wrapped::{Role, find};
use super::super::yaml::Node;
use super::{at, ports, readiness};

/// A readiness probe may fail for as long as it likes; a startup probe that had to take its place gets so many seconds.
const START_WITHIN: i64 = 600;

/// What the probes have to know of the settings.
struct Asked {
    port: Option<u16>,
    has_tls: bool,
    period: u64,
    min_ready: Option<i64>,
}

impl Asked {
    /// The kubelet's gRPC probes speak no TLS; its HTTP probes do, and believe any certificate.
    fn question(&self, port: u16) -> (&'static str, Node) {
        if !self.has_tls {
            return ("grpc", Node::map([("port", Node::bare(port))]));
        }
        let get = [
            ("path", Node::text("/readyz")),
            ("port", Node::bare(port)),
            ("scheme", Node::text("HTTPS")),
        ];
        ("httpGet", Node::map(get))
    }
}

/// The container that has the probe.
pub enum Asker {
    /// The program's, which is wrapped: of `containers`, by its index.
    Program(usize),
    /// tidegate's own, the first of `initContainers`.
    Sidecar,
}

impl Asker {
    fn place(&self) -> (&'static str, usize) {
        match self {
            Self::Program(index) => ("containers", *index),
            Self::Sidecar => ("initContainers", 0),
        }
    }
}

/// Points the readiness probe at tidegate, which goes on asking the app what it was asked before. Beside a sidecar
/// the app's own stays: the pod is ready when both are.
pub fn ask_tidegate(object: &mut Node, asker: &Asker, title: &str, notes: &mut Vec<String>) {
    let (Some(asked), Some(steps)) = (asked(object, asker), pod_steps(object)) else {
        return;
    };
    let kind = object.scalar_at("kind").unwrap_or("").to_owned();
    if matches!(kind.as_str(), "Job" | "CronJob") {
        return;
    }
    if let Some(port) = asked.port {
        let pod = at(object, steps);
        let entry = ports::entry(pod, ["health", "tidegate-health"], i64::from(port));
        let (key, index) = asker.place();
        let container = &mut pod.list_entry(key)[index];
        container.list_entry("ports").push(entry);
        if let Some(own) = container.remove("readinessProbe") {
            notes.push(hand_over(container, own, title));
        }
        container.set(
            "readinessProbe",
            Node::map([
                asked.question(port),
                ("periodSeconds", Node::bare(asked.period)),
                ("failureThreshold", Node::bare(1)),
            ]),
        );
    }
    if let (Some(least), "Deployment" | "StatefulSet" | "DaemonSet") = (asked.min_ready, kind.as_str()) {
        let spec = at(object, &["spec"]);
        if spec.number_at("minReadySeconds").unwrap_or(0) < least {
            spec.set("minReadySeconds", Node::bare(least));
        }
    }
}

/// The settings that are in force now, as `check` would find them.
fn asked(object: &Node, asker: &Asker) -> Option<Asked> {
    let objects = Object::of("", 1, object);
    let pod = objects.first()?.pod()?;
    let (key, index) = asker.place();
    let container = pod.spec.list_at(key).get(index)?;
    let place = format!("{key}[{index}]");
    let Some(Role::Runs(wrapped)) = find(&pod, place, container, &ConfigMaps::default()) else {
        return None;
    };
    let settings = wrapped.valid()?;
    let window = settings.plan.propagation;
    let kept = settings.plan.waits == Waits::Kept;
    Some(Asked {
        port: match &settings.health.listen {
            Listen::Tcp(address) if !address.ip().is_loopback() => Some(address.port()),
            _ => None,
        },
        has_tls: settings.health.tls.is_some(),
        period: window.max.as_secs().clamp(1, 2),
        min_ready: kept.then(|| i64::try_from(window.min.as_millis().div_ceil(1000)).unwrap_or(i64::MAX)),
    })
}

/// Makes a check of the app's own readiness probe. Where none does, it becomes the startup probe, unless there is one:
/// then at least the pod is not ready, and no rollout goes on, before the app answers.
fn hand_over(container: &mut Node, mut own: Node, title: &str) -> String {
    if readiness::carry(container, &own).is_some() {
        return format!(
            "{title}: readiness is tidegate's now; what the app's own readiness probe asked is its check of that name"
        );
    }
    if container.get("startupProbe").is_some() {
        return format!(
            "{title}: readiness is tidegate's now; the app's own readiness probe is gone, for no check asks that; its startup probe stays"
        );
    }
    let period = own.number_at("periodSeconds").unwrap_or(10).max(1);
    own.remove("successThreshold");
    own.set(
        "failureThreshold",
        Node::bare((START_WITHIN + period - 1) / period),
    );
    container.set("startupProbe", own);
    format!(
        "{title}: readiness is tidegate's now; the app's own readiness probe became its startup probe, for no check asks that; what else readiness hangs on, write under health in a --config FILE"
    )
}
