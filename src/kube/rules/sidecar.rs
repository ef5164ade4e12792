//! tidegate beside the program: it hears of the stop, and sees whom it is to stop.

use crate::config::Settings;

use super::super::finding::{Finding, Severity};
use super::super::shell;
use super::super::wrapped::{Mode, Wrapped};
use super::super::yaml::Node;
use super::Case;
use super::catalogue::{HOOK_MISSING, SHARED_PROCESSES_MISSING, SIDECAR_NOT_NATIVE, TARGET_OF_ANOTHER};
use super::probes::port_of;

/// The path of the hook.
const PATH: &str = "/prestop";

/// How a preStop hook stands to tidegate.
#[derive(Debug, PartialEq, Eq)]
pub enum Calls {
    /// It is another's.
    Nobody,
    /// It calls tidegate, in vain: why, and the mend.
    InVain(String, String),
    /// It calls tidegate.
    Tidegate,
}

/// Whether a hook calls the tidegate of these settings.
pub fn calls(hook: &Node, container: &Node, settings: &Settings) -> Calls {
    let line = hook.at(&["exec", "command"]).map_or(&[][..], Node::items);
    let words: Vec<&str> = line.iter().filter_map(Node::scalar).collect();
    if let [program, "prestop", ..] = words[..]
        && shell::program(program) == "tidegate"
    {
        return Calls::Tidegate;
    }
    let (Some(get), Some(listen)) = (hook.get("httpGet"), settings.lifecycle.listen) else {
        return Calls::Nobody;
    };
    if port_of(container, get) != Some(i64::from(listen.port())) {
        return Calls::Nobody;
    }
    let path = get.scalar_at("path").unwrap_or("/");
    if path.split('?').next() != Some(PATH) {
        let why = format!("it calls {path}, which is answered with 404");
        return Calls::InVain(why, format!("write path: {PATH}"));
    }
    if get.scalar_at("scheme") == Some("HTTPS") {
        let why = "it speaks TLS, and lifecycle.listen does not".to_owned();
        return Calls::InVain(why, "leave scheme out".to_owned());
    }
    let is_token = |header: &Node| {
        let is_authorization = |name: &str| name.eq_ignore_ascii_case("authorization");
        let scheme = header
            .scalar_at("value")
            .and_then(|value| value.split(' ').next());
        header.scalar_at("name").is_some_and(is_authorization)
            && scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer"))
    };
    if settings.lifecycle.token_file.is_some() && !get.list_at("httpHeaders").iter().any(is_token) {
        let why = "it sends no token, and lifecycle.tokenFile asks for one".to_owned();
        let mend = "write httpHeaders: [{name: Authorization, value: Bearer …}]".to_owned();
        return Calls::InVain(why, mend);
    }
    Calls::Tidegate
}

/// TG029: a plain signal comes to the program and to tidegate together, or to the program first; only the hook
/// comes before it (kubelet, killContainer).
pub fn the_hook_calls_tidegate(case: Case<'_>, findings: &mut Vec<Finding>) {
    let wrapped = case.wrapped;
    let Some(settings) = wrapped.valid().filter(|_| wrapped.mode == Mode::Sidecar) else {
        return;
    };
    let mains = mains(wrapped);
    let mut in_vain = None;
    for (index, container) in &mains {
        let Some(hook) = container.at(&["lifecycle", "preStop"]) else {
            continue;
        };
        let host = hook.at(&["httpGet", "host"]).and_then(Node::scalar);
        match calls(hook, container, settings) {
            // It is the kubelet that calls, from the node.
            Calls::Tidegate if host.is_some() && !wrapped.pod.spec.is_true_at("hostNetwork") => {
                let why = format!(
                    "the kubelet calls {}, which is not the pod",
                    host.unwrap_or_default()
                );
                in_vain = Some((*index, why, "leave host out".to_owned()));
            }
            Calls::Tidegate => return,
            Calls::InVain(why, mend) => in_vain = Some((*index, why, mend)),
            Calls::Nobody => {}
        }
    }
    let (path, message, mend) = match in_vain {
        Some((index, why, mend)) => (
            format!("containers[{index}].lifecycle.preStop"),
            format!("the program's hook is not heard: {why}"),
            mend,
        ),
        None => {
            let index = mains.first().map_or(0, |(index, _)| *index);
            let mend = match settings.lifecycle.listen {
                Some(listen) => format!(
                    "write lifecycle: {{preStop: {{httpGet: {{path: {PATH}, port: {}}}}}}} in the program's container",
                    listen.port()
                ),
                None => format!(
                    "write lifecycle: {{listen: \"0.0.0.0:9096\"}} in tidegate's settings, and lifecycle: {{preStop: {{httpGet: {{path: {PATH}, port: 9096}}}}}} in the program's container"
                ),
            };
            (
                format!("containers[{index}].lifecycle.preStop"),
                "no container's hook calls tidegate: the program has its stop signal before anything is drained".to_owned(),
                mend,
            )
        }
    };
    findings.push(Finding::in_pod(HOOK_MISSING, wrapped, &path, message, mend));
}

/// TG030: without it each container has a process namespace of its own.
pub fn the_target_can_be_seen(case: Case<'_>, findings: &mut Vec<Finding>) {
    let wrapped = case.wrapped;
    let has_target = wrapped.valid().is_some_and(|settings| settings.target.is_some());
    let sees_others = ["shareProcessNamespace", "hostPID"]
        .iter()
        .any(|key| wrapped.pod.spec.is_true_at(key));
    if wrapped.mode == Mode::Sidecar && has_target && !sees_others {
        findings.push(Finding::in_pod(
            SHARED_PROCESSES_MISSING,
            wrapped,
            "shareProcessNamespace",
            "target names a process, and tidegate sees none but its own",
            "write shareProcessNamespace: true, or leave target out and the stop signal to the kubelet",
        ));
    }
}

/// TG031: kill(2) wants the same user or CAP_KILL, and `/proc/PID/fd` and `exe` the same or CAP_SYS_PTRACE (ptrace(2)).
pub fn the_target_can_be_signalled(case: Case<'_>, findings: &mut Vec<Finding>) {
    let wrapped = case.wrapped;
    let Some(settings) = wrapped.valid().filter(|_| wrapped.mode == Mode::Sidecar) else {
        return;
    };
    if settings.target.is_none() || is_privileged(wrapped.node) {
        return;
    }
    let ours = user(wrapped, wrapped.node);
    let Some(theirs) = calling(wrapped, settings)
        .next()
        .and_then(|(_, container)| user(wrapped, container))
    else {
        return;
    };
    if ours == Some(theirs) {
        return;
    }
    let ours = ours.map_or("its image's".to_owned(), |user| format!("user {user}"));
    findings.push(Finding::in_container(
        TARGET_OF_ANOTHER,
        wrapped,
        "securityContext.runAsUser",
        format!("the program is user {theirs} and tidegate is {ours}: it may neither look at the program nor stop it"),
        format!("write runAsUser: {theirs}, in the pod's securityContext for both"),
    ));
}

/// The containers of the pod that are not this one, and their places.
fn mains<'a>(wrapped: &Wrapped<'a>) -> Vec<(usize, &'a Node)> {
    let all = wrapped.pod.spec.list_at("containers").iter().enumerate();
    all.filter(|(index, _)| format!("containers[{index}]") != wrapped.place)
        .collect()
}

/// The containers whose hooks call this tidegate, and their places.
pub fn calling<'a>(wrapped: &Wrapped<'a>, settings: &Settings) -> impl Iterator<Item = (usize, &'a Node)> {
    mains(wrapped).into_iter().filter(|(_, container)| {
        let hook = container.at(&["lifecycle", "preStop"]);
        hook.is_some_and(|hook| calls(hook, container, settings) == Calls::Tidegate)
    })
}

/// Who a container is, as far as the manifest says; else its image does.
fn user<'a>(wrapped: &Wrapped<'a>, container: &'a Node) -> Option<&'a str> {
    let keys = ["securityContext", "runAsUser"];
    container
        .at(&keys)
        .or_else(|| wrapped.pod.spec.at(&keys))?
        .scalar()
}

/// Whether a container may do to others what they may themselves.
fn is_privileged(container: &Node) -> bool {
    let Some(context) = container.get("securityContext") else {
        return false;
    };
    let added = context.at(&["capabilities", "add"]).map_or(&[][..], Node::items);
    let adds = |wanted: &str| {
        let mut names = added.iter().filter_map(Node::scalar);
        names.any(|name| name.trim_start_matches("CAP_").eq_ignore_ascii_case(wanted))
    };
    context.is_true_at("privileged") || (adds("KILL") && adds("SYS_PTRACE"))
}

/// TG021: plain containers all get SIGTERM together, and a Job with one never ends; native sidecars get theirs when
/// every main container is gone (Kubernetes 1.29).
pub fn is_native(case: Case<'_>, findings: &mut Vec<Finding>) {
    let wrapped = case.wrapped;
    if wrapped.mode != Mode::Sidecar || is_native_sidecar(wrapped) {
        return;
    }
    let finding = Finding::in_container(
        SIDECAR_NOT_NATIVE,
        wrapped,
        "restartPolicy",
        "a plain container is told to stop together with the program it drains",
        "make it an init container with restartPolicy: Always",
    );
    findings.push(finding.severity(Severity::Error));
}

fn is_native_sidecar(wrapped: &Wrapped<'_>) -> bool {
    wrapped.place.starts_with("initContainers") && wrapped.node.scalar_at("restartPolicy") == Some("Always")
}
