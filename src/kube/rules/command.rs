//! tidegate is there, and in front.

use crate::child::Target;

use super::super::finding::Finding;
use super::super::shell;
use super::super::volumes::{Place, look};
use super::super::wrapped::{Front, Mode};
use super::super::yaml::Node;
use super::Case;
use super::catalogue::{
    NOT_FIRST, NOT_INSTALLED, SHARED_PROCESSES, SHELL_CHILD, SHELL_IN_FRONT, STOP_SIGNAL,
};

/// TG006, TG007: the kubelet's signal goes to PID 1, and a shell that waits for a program does not
/// hand it on.
pub fn nothing_is_in_front(case: Case<'_>, findings: &mut Vec<Finding>) {
    let wrapped = case.wrapped;
    let (rule, message, mend) = match &wrapped.front {
        Front::Nothing => return,
        // Only its settings are seen: then the image is taken at its word.
        Front::Entrypoint if wrapped.binary.is_none() => return,
        Front::Shell => (
            SHELL_IN_FRONT,
            "a shell is PID 1 and gets the stop signal; it passes none on, so that tidegate drains nothing"
                .to_owned(),
            "write the command without a shell, or exec before tidegate",
        ),
        Front::ShellGone => return,
        Front::Program(program) => (
            NOT_FIRST,
            format!("{program} is PID 1 and tidegate is not: whether it hears the stop signal is {program}'s affair"),
            "make tidegate the first word of command",
        ),
        Front::Entrypoint => (
            NOT_FIRST,
            "tidegate is in args and there is no command: the image's ENTRYPOINT runs first, and gets it as an argument"
                .to_owned(),
            "move it to command",
        ),
    };
    let key = if wrapped.node.get("command").is_some() {
        "command"
    } else {
        "args"
    };
    findings.push(Finding::in_container(rule, wrapped, key, message, mend));
}

/// TG008: the path of the command lies in the image, or in a volume that someone fills.
pub fn binary_is_brought(case: Case<'_>, findings: &mut Vec<Finding>) {
    let wrapped = case.wrapped;
    let Some(binary) = wrapped.binary.as_deref().filter(|path| path.starts_with('/')) else {
        return;
    };
    let (message, mend) = match look(wrapped.pod, wrapped.node, binary) {
        Place::Image => {
            let Some(installer) = case.installers.first() else {
                return;
            };
            let volume = volume_of(case, installer.node, &installer.directory);
            if volume.is_none() {
                return;
            }
            (
                format!(
                    "{binary} lies in no volume of this container, while an init container installs tidegate into one"
                ),
                "mount that volume here, with its path in front of the command".to_owned(),
            )
        }
        Place::NoVolume(name) => (
            format!("{binary} lies in the volume {name}, which the pod does not have"),
            format!("add {{name: {name}, emptyDir: {{}}}} to volumes"),
        ),
        Place::Volume(volume, inside) => {
            let name = volume.scalar_at("name");
            let brought = case.installers.iter().any(|installer| {
                match look(wrapped.pod, installer.node, &installer.directory) {
                    Place::Volume(to, directory) => {
                        let copy = [directory.as_str(), "tidegate"].join("/");
                        to.scalar_at("name") == name && copy.trim_start_matches('/') == inside
                    }
                    _ => false,
                }
            });
            if brought || volume.get("emptyDir").is_none() {
                return;
            }
            (
                format!(
                    "{binary} lies in the emptyDir {}, and no init container installs tidegate there",
                    name.unwrap_or("")
                ),
                "add an init container that runs tidegate install on that volume".to_owned(),
            )
        }
    };
    findings.push(Finding::in_container(
        NOT_INSTALLED,
        wrapped,
        "command",
        message,
        mend,
    ));
}

fn volume_of<'a>(case: Case<'a>, container: &'a Node, path: &str) -> Option<&'a Node> {
    match look(case.wrapped.pod, container, path) {
        Place::Volume(volume, _) => Some(volume),
        Place::Image | Place::NoVolume(_) => None,
    }
}

/// TG009: a shell that waits for the program dies of the signal, or ignores it; the program never
/// gets it.
pub fn child_gets_the_signal(case: Case<'_>, findings: &mut Vec<Finding>) {
    let wrapped = case.wrapped;
    let Some(settings) = wrapped.valid() else {
        return;
    };
    if settings.child.signal_target == Target::Process && is_unreplaced_shell(&wrapped.child) {
        findings.push(Finding::in_container(
            SHELL_CHILD,
            wrapped,
            "command",
            "the child is a shell, which gets the stop signal and does not hand it on to the program",
            "write exec before the program in the script, or child: {signalGroup: true}",
        ));
    }
}

/// Whether a command line is a shell that goes on beside the program it starts. A script that is a file may do
/// either, and is not judged.
pub fn is_unreplaced_shell(line: &[String]) -> bool {
    shell::script(line).is_some_and(|script| {
        let commands = shell::commands(script);
        !commands.iter().any(shell::Command::replaces_the_shell)
    })
}

/// TG017: `lifecycle.stopSignal` (ContainerStopSignals, alpha in Kubernetes 1.33) replaces the image's own.
pub fn stop_signal_starts_the_drain(case: Case<'_>, findings: &mut Vec<Finding>) {
    let wrapped = case.wrapped;
    let signal = wrapped
        .node
        .at(&["lifecycle", "stopSignal"])
        .and_then(Node::scalar);
    let (Some(settings), Some(signal)) = (wrapped.valid(), signal) else {
        return;
    };
    let triggers = &settings.drain.triggers;
    if !triggers.iter().any(|trigger| trigger.to_string() == signal) {
        let listed: Vec<String> = triggers.iter().map(ToString::to_string).collect();
        findings.push(Finding::in_container(
            STOP_SIGNAL,
            wrapped,
            "lifecycle.stopSignal",
            format!(
                "the kubelet stops the container with {signal}, and the drain starts at {}: {signal} is handed to the child instead",
                listed.join(", ")
            ),
            format!("write drain: {{triggers: [{signal}]}}"),
        ));
    }
}

/// TG020: in a shared namespace PID 1 is the pause container (kubernetes.io, share-process-namespace).
pub fn processes_are_its_own(case: Case<'_>, findings: &mut Vec<Finding>) {
    let wrapped = case.wrapped;
    if wrapped.mode == Mode::Wrap && wrapped.pod.spec.is_true_at("shareProcessNamespace") {
        findings.push(Finding::in_pod(
            SHARED_PROCESSES,
            wrapped,
            "shareProcessNamespace",
            "tidegate is not PID 1 here: it reaps and ends only what descends from its child",
            "leave it out unless the containers have to see each other",
        ));
    }
}
