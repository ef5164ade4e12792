//! The app's own readiness probe, as a check of tidegate's.

use super::super::yaml::{Node, emit, load};
use super::variables;

/// What the check is called in `/readyz` and `status`.
const NAME: &str = "readiness";

/// Has tidegate ask what `probe` asked, as often and as patiently. `None`, and nothing changed, where it cannot: the
/// probe wants what no check has, or the settings have a word of their own about the app's health.
pub fn carry(container: &mut Node, probe: &Node) -> Option<()> {
    let check = check(container, probe)?;
    let key = "TIDEGATE_CONFIG";
    let own = container.list_at("env");
    let place = own
        .iter()
        .rposition(|variable| variable.scalar_at("name") == Some(key));
    let text = match place {
        Some(index) => own[index].scalar_at("value")?.replace("$$", "$"),
        None => String::new(),
    };
    let mut settings = load(&text, 1).ok()?.unwrap_or_else(|| Node::map([]));
    let says = |key| settings.at(&["health", key]).is_some();
    if says("app") || says("checks") {
        return None;
    }
    settings
        .entry("health", || Node::map([]))
        .set("checks", Node::list([check]));
    let text = emit(&settings);
    match place {
        Some(index) => {
            let value = variables::value(container, &text).ok()?;
            container.list_entry("env")[index].set("value", value);
        }
        None => variables::set(container, &text).ok()?,
    }
    Some(())
}

/// The defaults are the kubelet's (API reference, Probe): every 10 s, 1 s each, three failures in a row. A delay at the
/// start is not needed: what has not succeeded yet is not ready.
fn check(container: &Node, probe: &Node) -> Option<Node> {
    let number = |key, default| {
        probe
            .number_at(key)
            .filter(|number| *number > 0)
            .unwrap_or(default)
    };
    let seconds = |key, default| Node::text(format!("{}s", number(key, default)));
    let mut check = vec![("name", Node::text(NAME)), asked(container, probe)?];
    check.push(("interval", seconds("periodSeconds", 10)));
    check.push(("timeout", seconds("timeoutSeconds", 1)));
    check.push(("failures", Node::bare(number("failureThreshold", 3))));
    Some(Node::map(check))
}

/// What is asked, and how. The kubelet asks at the pod's address, we at the loopback's, where a server that listens
/// for others listens too.
fn asked(container: &Node, probe: &Node) -> Option<(&'static str, Node)> {
    if let Some(get) = probe.get("httpGet") {
        let plain = get
            .scalar_at("scheme")
            .is_none_or(|scheme| scheme.eq_ignore_ascii_case("http"));
        let named = get.get("host").is_some() || !get.list_at("httpHeaders").is_empty();
        let port = port(container, get)?;
        let path = get.scalar_at("path").unwrap_or("/").trim_start_matches('/');
        let url = Node::text(format!("http://127.0.0.1:{port}/{path}"));
        return (plain && !named).then_some(("http", url));
    }
    if let Some(socket) = probe.get("tcpSocket") {
        let port = port(container, socket)?;
        let place = Node::text(format!("127.0.0.1:{port}"));
        return socket.get("host").is_none().then_some(("tcp", place));
    }
    if let Some(grpc) = probe.get("grpc") {
        let port = port(container, grpc)?;
        let place = Node::text(format!("127.0.0.1:{port}"));
        return grpc
            .scalar_at("service")
            .is_none_or(str::is_empty)
            .then_some(("grpc", place));
    }
    let command = probe.at(&["exec", "command"])?.clone();
    Some(("exec", Node::map([("command", command)])))
}

/// A port's number, or that of the port with this name.
fn port(container: &Node, place: &Node) -> Option<i64> {
    let name = place.scalar_at("port")?;
    name.parse().ok().or_else(|| {
        let mut ports = container.list_at("ports").iter();
        ports
            .find(|port| port.scalar_at("name") == Some(name))?
            .number_at("containerPort")
    })
}
