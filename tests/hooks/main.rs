//! Hooks: the instance leaves every place that sends it traffic before its calls stop, and comes back.

#[path = "../support/mod.rs"]
mod support;

mod calls;
mod consul;
mod etcd;
mod eureka;
mod every;
mod nacos;
mod nacos_server;
mod order;
mod programs;
mod registry;

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use support::children::telling;
use support::config::{ROOMY, Timing};
use support::{Running, Tidegate};

/// A window in which hooks can fail a few times; budget 24 s.
const WIDE: Timing = Timing {
    grace: Duration::from_secs(30),
    propagation: Duration::from_secs(1),
    ..ROOMY
};

/// The telling child with these hooks, as the YAML of the lists.
fn with_hooks(on_drain: &str, on_resume: &str) -> Tidegate {
    Tidegate::wrapping(telling(&[])).config(format!(
        "{}hooks: {{onDrain: [{on_drain}], onResume: [{on_resume}]}}\n",
        WIDE.unmeasured()
    ))
}

/// The same, up.
fn up(on_drain: &str, on_resume: &str) -> Running {
    let tidegate = with_hooks(on_drain, on_resume).start();
    tidegate.child();
    tidegate
}

/// The same, of a program that does not serve before `ready` exists; so nothing is taken away at the start until then.
fn not_ready(on_drain: &str, ready: &Path) -> (Tidegate, SocketAddr) {
    let health = support::ports::free();
    let check = format!(
        "{{name: ready, exec: {{command: [/usr/bin/test, -e, '{}']}}, interval: 100ms, failures: 1}}",
        ready.display()
    );
    let config = format!(
        "{}health: {{listen: {health}, checks: [{check}]}}\nhooks: {{onDrain: [{on_drain}]}}\n",
        WIDE.unmeasured()
    );
    (Tidegate::wrapping(telling(&[])).config(config), health)
}

/// A hook in `status`.
fn hook(tidegate: &Running, index: usize) -> Value {
    tidegate.status()["hooks"][index].clone()
}

/// Waits until every hook of the round has come to its end.
fn settled(tidegate: &Running) {
    support::patience::eventually("every hook is over", || {
        let status = tidegate.status();
        let hooks = status["hooks"].as_array()?;
        let is_over = |hook: &Value| hook["state"] != "running";
        (!hooks.is_empty() && hooks.iter().all(is_over)).then_some(())
    });
}
