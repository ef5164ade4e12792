//! Who asks gets an answer, the right one, in time.

use std::net::SocketAddr;
use std::time::Duration;

use crate::config::Settings;
use crate::drain::budget::{Seconds, Waits};
use crate::health::{LIVENESS, Listen};

use super::super::finding::Finding;
use super::super::wrapped::{Mode, Wrapped};
use super::super::yaml::{Body, Node, Style};
use super::Case;
use super::catalogue::{
    LIVENESS_AS_READINESS, PROBE_UNANSWERED, READINESS_ELSEWHERE, READINESS_MISSING, READINESS_SLOW,
};

const PROBES: [&str; 3] = ["readinessProbe", "livenessProbe", "startupProbe"];

/// The paths of the health port that answer a GET.
const PATHS: [&str; 3] = ["/readyz", "/healthz", "/metrics"];

/// The API's own defaults.
const DEFAULT_PERIOD: i64 = 10;
const DEFAULT_FAILURES: i64 = 3;

/// What a probe asks.
struct Asks<'a> {
    /// `grpc`, `httpGet` or `tcpSocket`
    kind: &'static str,
    handler: &'a Node,
    /// The number of the port; none for a name that the container does not have.
    port: Option<i64>,
}

fn asks<'a>(container: &'a Node, probe: &str) -> Option<Asks<'a>> {
    let probe = container.get(probe)?;
    ["grpc", "httpGet", "tcpSocket"].into_iter().find_map(|kind| {
        let handler = probe.get(kind)?;
        handler.get("port")?;
        let port = port_of(container, handler);
        Some(Asks { kind, handler, port })
    })
}

/// The number of the port that a probe's or a hook's handler names.
pub fn port_of(container: &Node, handler: &Node) -> Option<i64> {
    let written = handler.get("port")?;
    written.number().or_else(|| {
        let name = written.scalar()?;
        named(container, name).or_else(|| match &written.body {
            // The API takes a number in quotes for a name; the kubelet then reads it as a number.
            Body::Scalar(text, Style::Quoted) => text.parse().ok(),
            _ => None,
        })
    })
}

impl Asks<'_> {
    /// The path of an `httpGet`, without its query.
    fn path(&self) -> &str {
        let path = self.handler.scalar_at("path").unwrap_or("/");
        path.split('?').next().unwrap_or(path)
    }

    /// What it asks that stays well in a drain, if it does.
    fn stays_well(&self) -> Option<String> {
        match self.kind {
            "grpc" if self.handler.scalar_at("service") == Some(LIVENESS) => {
                Some(format!("the service {LIVENESS}"))
            }
            "httpGet" if matches!(self.path(), "/healthz" | "/metrics") => Some(self.path().to_owned()),
            _ => None,
        }
    }
}

fn named(container: &Node, name: &str) -> Option<i64> {
    let mut ports = container.list_at("ports").iter();
    ports
        .find(|port| port.scalar_at("name") == Some(name))
        .and_then(|port| port.number_at("containerPort"))
}

pub fn health_port(settings: &Settings) -> Option<SocketAddr> {
    match &settings.health.listen {
        Listen::Tcp(address) => Some(*address),
        _ => None,
    }
}

/// Whether the pod serves calls: what a Job runs nobody calls.
fn serves(wrapped: &Wrapped<'_>) -> bool {
    let is_there = wrapped.mode == Mode::Sidecar || wrapped.place.starts_with("containers");
    is_there && !matches!(wrapped.pod.object.kind(), "Job" | "CronJob")
}

/// Whether another container's readiness asks at `port`: the containers of a pod have one address, and the pod
/// is ready when all of them are.
fn another_asks(wrapped: &Wrapped<'_>, port: u16) -> bool {
    let others = wrapped
        .pod
        .containers()
        .filter(|(place, _)| *place != wrapped.place);
    let asked = others.filter_map(|(_, container)| asks(container, "readinessProbe"));
    asked.into_iter().any(|asks| {
        asks.port == Some(i64::from(port)) && asks.kind != "tcpSocket" && asks.stays_well().is_none()
    })
}

/// TG010, TG011: NOT_SERVING reaches the EndpointSlice, and every load balancer that lives by it, through the
/// readiness probe.
pub fn readiness_asks_tidegate(case: Case<'_>, findings: &mut Vec<Finding>) {
    let wrapped = case.wrapped;
    let Some(settings) = wrapped.valid().filter(|_| serves(wrapped)) else {
        return;
    };
    let Some(listen) = health_port(settings) else {
        return;
    };
    let port = listen.port();
    let asking = if settings.health.tls.is_some() {
        format!("httpGet: {{path: /readyz, port: {port}, scheme: HTTPS}}")
    } else {
        format!("grpc: {{port: {port}}}")
    };
    let mend = format!("write readinessProbe: {{{asking}, periodSeconds: 2, failureThreshold: 1}}");
    if wrapped.mode == Mode::Sidecar && another_asks(wrapped, port) {
        return;
    }
    let Some(probe) = wrapped.node.get("readinessProbe") else {
        findings.push(Finding::in_container(
            READINESS_MISSING,
            wrapped,
            "readinessProbe",
            "there is none, so that nobody who goes by readiness hears of a drain",
            mend,
        ));
        return;
    };
    let asks = asks(wrapped.node, "readinessProbe");
    // A port nobody has is the finding of probes_are_answered.
    if asks.as_ref().is_some_and(|asks| asks.port.is_none()) {
        return;
    }
    let ours = asks.filter(|asks| asks.port == Some(i64::from(port)) && asks.kind != "tcpSocket");
    let message = match ours.as_ref().map(Asks::stays_well) {
        Some(None) => return,
        Some(Some(asked)) => {
            format!("it asks for {asked}, which a drain leaves well: a draining pod stays ready")
        }
        None => format!(
            "it does not ask tidegate at port {port}: a draining pod stays ready, and its endpoint serving"
        ),
    };
    if probe.get("exec").is_none() {
        findings.push(Finding::in_container(
            READINESS_ELSEWHERE,
            wrapped,
            "readinessProbe",
            message,
            mend,
        ));
    }
}

/// TG012: the kubelet asks the pod's IP address, a name tidegate knows, a path it has.
pub fn probes_are_answered(case: Case<'_>, findings: &mut Vec<Finding>) {
    let wrapped = case.wrapped;
    for probe in PROBES {
        let Some(asks) = asks(wrapped.node, probe) else {
            continue;
        };
        let path = format!("{probe}.{}", asks.kind);
        let mut found = |key: &str, message: String, mend: String| {
            let path = format!("{path}{key}");
            findings.push(Finding::in_container(
                PROBE_UNANSWERED,
                wrapped,
                &path,
                message,
                mend,
            ));
        };
        let Some(port) = asks.port else {
            let name = asks.handler.scalar_at("port").unwrap_or("");
            found(
                ".port",
                format!("no port of this container is called {name}: the probe always fails"),
                "write its number, or name it in ports".to_owned(),
            );
            continue;
        };
        let Some(settings) = wrapped.valid() else {
            continue;
        };
        match health_port(settings) {
            Some(listen) if i64::from(listen.port()) == port => {
                if listen.ip().is_loopback() {
                    found(
                        ".port",
                        format!(
                            "health listens at {listen}, and the kubelet asks the pod's own address: the probe always fails"
                        ),
                        format!("write health: {{listen: 0.0.0.0:{port}}}"),
                    );
                }
                if let Some((key, message, mend)) = question(settings, &asks) {
                    found(key, message, mend);
                }
            }
            // The default port is nobody else's: whoever asks it means tidegate.
            _ if port == 9095 && named_or_listed(wrapped.node, port).is_none() => found(
                ".port",
                format!("tidegate does not listen on port {port}"),
                "write the port of health.listen".to_owned(),
            ),
            _ => {}
        }
    }
}

/// The entry of `ports` that is not called like ours.
fn named_or_listed(container: &Node, port: i64) -> Option<&Node> {
    let mut ports = container.list_at("ports").iter();
    ports.find(|entry| {
        entry.number_at("containerPort") == Some(port) && entry.scalar_at("name") != Some("health")
    })
}

/// What is wrong with a question to the health port.
fn question(settings: &Settings, asks: &Asks<'_>) -> Option<(&'static str, String, String)> {
    let has_tls = settings.health.tls.is_some();
    match asks.kind {
        "grpc" if has_tls => Some((
            "",
            "the health port speaks TLS, and the kubelet's gRPC probes do not: the probe always fails"
                .to_owned(),
            format!(
                "write httpGet: {{path: /readyz, port: {}, scheme: HTTPS}}",
                asks.port.unwrap_or_default()
            ),
        )),
        "grpc" => {
            let service = asks.handler.scalar_at("service").unwrap_or("");
            let known = settings.health.services.iter().any(|name| name == service);
            (!known && !service.is_empty() && service != LIVENESS).then(|| {
                (
                    ".service",
                    format!("health does not know {service} and answers NOT_FOUND: the probe always fails"),
                    format!("add it to health.services, as in [\"\", {service}]"),
                )
            })
        }
        "httpGet" => {
            let path = asks.path();
            let asks_tls = asks.handler.scalar_at("scheme") == Some("HTTPS");
            if asks_tls && !has_tls {
                let message = "the health port speaks plain HTTP: the probe always fails";
                return Some((".scheme", message.to_owned(), "leave it out".to_owned()));
            }
            if has_tls && !asks_tls {
                let message = "the health port speaks TLS: the probe always fails";
                return Some((".scheme", message.to_owned(), "write scheme: HTTPS".to_owned()));
            }
            (!PATHS.contains(&path)).then(|| {
                (
                    ".path",
                    format!("the health port has no {path} and answers 404: the probe always fails"),
                    "write /readyz, or /healthz for liveness".to_owned(),
                )
            })
        }
        _ => None,
    }
}

/// TG013: a load balancer that goes by readiness still sends calls when the window is over.
pub fn readiness_is_quick(case: Case<'_>, findings: &mut Vec<Finding>) {
    let wrapped = case.wrapped;
    let (Some(settings), Some(probe)) = (wrapped.valid(), wrapped.node.get("readinessProbe")) else {
        return;
    };
    let ours = asks(wrapped.node, "readinessProbe").and_then(|asks| asks.port)
        == health_port(settings).map(|listen| i64::from(listen.port()));
    if !ours || settings.plan.waits == Waits::Skipped || !serves(wrapped) {
        return;
    }
    let period = probe.number_at("periodSeconds").unwrap_or(DEFAULT_PERIOD);
    let failures = probe.number_at("failureThreshold").unwrap_or(DEFAULT_FAILURES);
    let takes = Duration::from_secs(u64::try_from(period.saturating_mul(failures)).unwrap_or(0));
    // 1 s is the shortest period there is.
    let window = settings.plan.propagation.max.max(Duration::from_secs(1));
    if takes > window {
        findings.push(Finding::in_container(
            READINESS_SLOW,
            wrapped,
            "readinessProbe",
            format!(
                "it notices after periodSeconds {period} × failureThreshold {failures} = {}, and the propagation window is over after {}",
                Seconds(takes),
                Seconds(window)
            ),
            format!(
                "write periodSeconds: {} and failureThreshold: 1, or a longer drain.propagation",
                window.as_secs().clamp(1, 2)
            ),
        ));
    }
}

/// TG014: while it drains on hold the pod is alive, and NOT_SERVING by the names of readiness.
pub fn liveness_is_its_own(case: Case<'_>, findings: &mut Vec<Finding>) {
    let wrapped = case.wrapped;
    let (Some(settings), Some(asks)) = (wrapped.valid(), asks(wrapped.node, "livenessProbe")) else {
        return;
    };
    if asks.port.is_none() || asks.port != health_port(settings).map(|listen| i64::from(listen.port())) {
        return;
    }
    let (asked, mend) = match asks.kind {
        "grpc" => {
            let service = asks.handler.scalar_at("service").unwrap_or("");
            if service == LIVENESS {
                return;
            }
            (format!("the service {service:?}"), "write service: liveness")
        }
        "httpGet" if asks.path() == "/readyz" => ("/readyz".to_owned(), "write path: /healthz"),
        _ => return,
    };
    findings.push(Finding::in_container(
        LIVENESS_AS_READINESS,
        wrapped,
        &format!("livenessProbe.{}", asks.kind),
        format!("it asks for {asked}, which a drain turns NOT_SERVING: a pod on hold would be killed for it"),
        mend,
    ));
}
