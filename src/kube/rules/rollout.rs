//! The new pods are known before the old ones go.

use crate::drain::budget::{Seconds, Waits};

use super::super::finding::{Finding, Severity};
use super::super::wrapped::{Mode, Wrapped};
use super::super::yaml::Node;
use super::Case;
use super::catalogue::{ALL_AT_ONCE, MIN_READY};

/// The API's own default of maxUnavailable, in percent.
const DEFAULT_UNAVAILABLE: i64 = 25;

/// TG018: the rollout takes the next old pod when a new one has been ready for minReadySeconds; a slow load
/// balancer has to know the new one by then.
pub fn new_pods_are_known(case: Case<'_>, findings: &mut Vec<Finding>) {
    let wrapped = case.wrapped;
    let Some(settings) = wrapped
        .valid()
        .filter(|settings| settings.plan.waits == Waits::Kept)
    else {
        return;
    };
    let rolls = matches!(
        wrapped.pod.object.kind(),
        "Deployment" | "StatefulSet" | "DaemonSet"
    );
    let is_there = wrapped.mode == Mode::Sidecar || wrapped.place.starts_with("containers");
    if !rolls || !is_there {
        return;
    }
    let written = wrapped
        .pod
        .object
        .node
        .at(&["spec", "minReadySeconds"])
        .and_then(Node::number);
    let window = settings.plan.propagation.min;
    let least = i64::try_from(window.as_millis().div_ceil(1000)).unwrap_or(i64::MAX);
    let seconds = written.unwrap_or(0);
    if seconds < least {
        findings.push(Finding::in_object(
            MIN_READY,
            wrapped,
            "spec.minReadySeconds",
            format!(
                "a new pod counts after {seconds} s, and load balancers are given {} to learn of a change: an old pod can go before the new one is known",
                Seconds(window)
            ),
            format!("write minReadySeconds: {least}"),
        ));
    }
}

/// TG019: a drain saves the calls under way; there has to be someone for the next ones.
pub fn not_all_at_once(case: Case<'_>, findings: &mut Vec<Finding>) {
    let wrapped = case.wrapped;
    if wrapped.pod.object.kind() != "Deployment" {
        return;
    }
    let Some(spec) = wrapped.pod.object.node.get("spec") else {
        return;
    };
    let strategy = spec.get("strategy");
    let replicas = spec.number_at("replicas").unwrap_or(1);
    if strategy.and_then(|strategy| strategy.scalar_at("type")) == Some("Recreate") {
        findings.push(
            finding(
                wrapped,
                "spec.strategy.type",
                "Recreate ends every old pod before a new one starts: between them calls have nowhere to go"
                    .to_owned(),
                "leave it out, for RollingUpdate, unless two versions must never run together",
            )
            .severity(Severity::Note),
        );
        return;
    }
    let unavailable = strategy.and_then(|strategy| strategy.at(&["rollingUpdate", "maxUnavailable"]));
    let most = match unavailable {
        None => replicas * DEFAULT_UNAVAILABLE / 100,
        Some(node) => match node.scalar().and_then(|text| text.strip_suffix('%')) {
            // Rounded down (Deployment API).
            Some(percent) => replicas.saturating_mul(percent.parse().unwrap_or(0)) / 100,
            None => node.number().unwrap_or(0),
        },
    };
    if replicas > 0 && most >= replicas {
        findings.push(finding(
            wrapped,
            "spec.strategy.rollingUpdate.maxUnavailable",
            format!("all {replicas} pods may be unavailable at once: calls have nowhere to go"),
            "write maxUnavailable: 0 and maxSurge: 1",
        ));
    }
}

fn finding(wrapped: &Wrapped<'_>, path: &str, message: String, mend: &str) -> Finding {
    Finding::in_object(ALL_AT_ONCE, wrapped, path, message, mend)
}
