//! Grace here is grace there; hooks and probes leave it alone.

use std::time::Duration;

use crate::drain::budget::{SHORT_GRACE, Seconds};

use super::super::finding::{Finding, Severity};
use super::super::shell;
use super::super::wrapped::{Mode, Wrapped};
use super::super::yaml::Node;
use super::Case;
use super::catalogue::{GRACE_DIFFERS, GRACE_SHORT, PRE_STOP_UNDECLARED, PROBE_GRACE};
use super::sidecar::{Calls, calling, calls};

/// TG003: the downward API does not tell the grace period, so it is written twice.
pub fn grace_is_the_same(case: Case<'_>, findings: &mut Vec<Finding>) {
    let wrapped = case.wrapped;
    let Some(settings) = wrapped.valid() else {
        return;
    };
    let there = Duration::from_secs(u64::try_from(wrapped.pod.grace()).unwrap_or(0));
    let here = settings.plan.grace.0;
    if here == there {
        return;
    }
    let harm = if here > there {
        "so that the kubelet's SIGKILL comes in the middle of a drain"
    } else {
        "so that calls are cut that there was time for"
    };
    findings.push(Finding::in_pod(
        GRACE_DIFFERS,
        wrapped,
        "terminationGracePeriodSeconds",
        format!(
            "the pod has {} and tidegate counts on {}, {harm}",
            Seconds(there),
            Seconds(here)
        ),
        format!(
            "write terminationGracePeriodSeconds: {} in tidegate's settings, or {} here",
            there.as_secs(),
            here.as_secs()
        ),
    ));
}

/// TG004: at 2 s or less every wait is skipped.
pub fn grace_is_long_enough(case: Case<'_>, findings: &mut Vec<Finding>) {
    let grace = case.wrapped.pod.grace();
    let seconds = u64::try_from(grace).unwrap_or(0);
    if Duration::from_secs(seconds) <= SHORT_GRACE {
        findings.push(Finding::in_pod(
            GRACE_SHORT,
            case.wrapped,
            "terminationGracePeriodSeconds",
            format!("{grace} s leave no time to wait for anything: the stop signal goes out at once"),
            "write 5 or more; 30 is Kubernetes' own default",
        ));
    }
}

/// What a preStop hook takes.
enum Hook {
    /// So many seconds, at least.
    Sleeps(u64),
    /// Nobody knows.
    Unknown,
}

/// TG005: the hook runs before the stop signal and in the same grace period (kubelet,
/// killContainer), and tidegate does not see it.
pub fn pre_stop_is_declared(case: Case<'_>, findings: &mut Vec<Finding>) {
    let wrapped = case.wrapped;
    let (Some(settings), Some(hook)) = (wrapped.valid(), wrapped.node.at(&["lifecycle", "preStop"])) else {
        return;
    };
    // tidegate sees that one itself, and the drain begins with it.
    if calls(hook, wrapped.node, settings) != Calls::Nobody {
        return;
    }
    let declared = settings.pre_stop.as_secs();
    let (message, mend, severity) = match takes(hook) {
        Hook::Sleeps(seconds) if seconds > declared => (
            format!(
                "the hook spends {seconds} s of the grace period, and tidegate counts on {declared} s of it"
            ),
            format!("take the hook out, for tidegate waits itself, or write preStopSeconds: {seconds}"),
            Severity::Error,
        ),
        Hook::Unknown if declared == 0 => (
            "the hook spends grace that tidegate does not know of".to_owned(),
            "write preStopSeconds: the longest it takes".to_owned(),
            Severity::Warning,
        ),
        Hook::Sleeps(_) | Hook::Unknown => return,
    };
    let finding = Finding::in_container(PRE_STOP_UNDECLARED, wrapped, "lifecycle.preStop", message, mend);
    findings.push(finding.severity(severity));
}

/// The seconds that are asleep in a hook, as far as can be read.
pub fn sleeps(hook: &Node) -> Option<u64> {
    match takes(hook) {
        Hook::Sleeps(seconds) => Some(seconds),
        Hook::Unknown => None,
    }
}

fn takes(hook: &Node) -> Hook {
    if let Some(seconds) = hook.at(&["sleep", "seconds"]).and_then(Node::number) {
        return Hook::Sleeps(u64::try_from(seconds).unwrap_or(0));
    }
    let line = hook.at(&["exec", "command"]).map_or(&[][..], Node::items);
    let line: Vec<String> = line.iter().filter_map(Node::scalar).map(str::to_owned).collect();
    let words = match shell::script(&line).map(shell::commands).as_deref() {
        Some([command]) => command.words.iter().map(|word| word.text.clone()).collect(),
        Some(_) => return Hook::Unknown,
        None => line,
    };
    match words.as_slice() {
        [program, span] if shell::program(program) == "sleep" => {
            span_of(span).map_or(Hook::Unknown, Hook::Sleeps)
        }
        _ => Hook::Unknown,
    }
}

/// `10`, `0.5`, `10s`, `1m`, up to whole seconds.
fn span_of(text: &str) -> Option<u64> {
    let (number, unit) = match text.strip_suffix('m') {
        Some(number) => (number, 60.0),
        None => (text.strip_suffix('s').unwrap_or(text), 1.0),
    };
    let seconds = number.parse::<f64>().ok()? * unit;
    (0.0..1e9).contains(&seconds).then_some(seconds.ceil() as u64)
}

/// TG015: a probe with a grace period of its own stops the container by that one (KEP-2238).
pub fn probes_leave_the_grace(case: Case<'_>, findings: &mut Vec<Finding>) {
    let wrapped = case.wrapped;
    the_grace_of(wrapped, &wrapped.place, wrapped.node, findings);
    // A container that a probe restarts has its preStop hook called first, in the probe's grace.
    let Some(settings) = wrapped.valid().filter(|_| wrapped.mode == Mode::Sidecar) else {
        return;
    };
    for (index, container) in calling(wrapped, settings) {
        the_grace_of(wrapped, &format!("containers[{index}]"), container, findings);
    }
}

fn the_grace_of(wrapped: &Wrapped<'_>, place: &str, container: &Node, findings: &mut Vec<Finding>) {
    let pods = wrapped.pod.grace();
    for probe in ["livenessProbe", "startupProbe", "readinessProbe"] {
        let key = "terminationGracePeriodSeconds";
        let Some(own) = container.get(probe).and_then(|node| node.number_at(key)) else {
            continue;
        };
        let (message, mend) = if probe == "readinessProbe" {
            let message = "a readiness probe stops nothing, and the API refuses a grace period on it";
            (message.to_owned(), "leave it out".to_owned())
        } else if own < pods {
            let message = format!(
                "when this probe fails the container gets {own} s, less than the {pods} s tidegate shares out: SIGKILL comes in the middle of the drain"
            );
            (message, format!("leave it out, or write {pods}"))
        } else {
            continue;
        };
        let path = format!("{place}.{probe}.{key}");
        findings.push(Finding::in_pod(PROBE_GRACE, wrapped, &path, message, mend));
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::yaml::load;
    use super::*;

    #[test]
    fn sleeps_are_read_and_nothing_else_is_guessed() {
        let seconds = |text: &str| sleeps(&load(text, 1).expect(text).expect("a hook"));
        assert_eq!(seconds("sleep: {seconds: 7}"), Some(7));
        assert_eq!(seconds("exec: {command: [sleep, '10']}"), Some(10));
        assert_eq!(seconds("exec: {command: [/bin/sh, -c, 'sleep 1m']}"), Some(60));
        assert_eq!(
            seconds("exec: {command: [/bin/sh, -c, 'sleep 5; nginx -s quit']}"),
            None
        );
        assert_eq!(seconds("exec: {command: [/drain]}"), None);
        assert_eq!(seconds("httpGet: {port: 80}"), None);
    }
}
