//! The settings are valid, known, and seen by the kubelet.

use crate::config::ConfigError;

use super::super::finding::Finding;
use super::super::wrapped::Known;
use super::Case;
use super::catalogue::{
    BUDGET, CONFIG_INVALID, HOOK_LOOPBACK, HOOK_SECRET, HOOK_SLOW, HOOK_VARIABLE, TERMINATION_MESSAGE,
    UNPROVEN,
};

/// Where the kubelet looks for last words unless it is told otherwise (the API's own default).
const DEFAULT_MESSAGE_PATH: &str = "/dev/termination-log";

/// TG001, TG002: tidegate would start with them.
pub fn are_valid(case: Case<'_>, findings: &mut Vec<Finding>) {
    let wrapped = case.wrapped;
    if let Some(usage) = &wrapped.usage {
        let usage = usage.trim_end_matches("; see tidegate --help");
        findings.push(Finding::in_container(
            CONFIG_INVALID,
            wrapped,
            "command",
            usage,
            "",
        ));
    }
    match &wrapped.settings {
        Known::Refused(error @ ConfigError::Budget { .. }) => {
            findings.push(Finding::in_container(BUDGET, wrapped, "", error.to_string(), ""));
        }
        Known::Refused(error) => {
            let said = error.to_string();
            let key = if said.starts_with("TIDEGATE_") {
                "env"
            } else {
                "command"
            };
            findings.push(Finding::in_container(CONFIG_INVALID, wrapped, key, said, ""));
        }
        Known::Valid(settings) => {
            let severity = super::super::finding::Severity::Note;
            let note = |said| Finding::in_container(BUDGET, wrapped, "", said, "").severity(severity);
            findings.extend(settings.quiet_too_long().map(note));
        }
        Known::Unknown(_) => {}
    }
}

/// TG026, TG027, TG028: hooks are in time, keep their secrets, and can be called.
pub fn hooks_are_sound(case: Case<'_>, findings: &mut Vec<Finding>) {
    let Known::Valid(settings) = &case.wrapped.settings else {
        return;
    };
    let slow = settings.slow_hooks().into_iter().map(|said| (HOOK_SLOW, said));
    let plain = settings
        .plain_secrets()
        .into_iter()
        .map(|said| (HOOK_SECRET, said));
    let loopback = settings.unreachable_hook().map(|said| (HOOK_LOOPBACK, said));
    findings.extend(
        slow.chain(plain)
            .chain(loopback)
            .map(|(rule, said)| Finding::in_container(rule, case.wrapped, "", said, "")),
    );
}

/// TG032: what a hook needs is there, as far as the manifest says.
pub fn hooks_have_their_variables(case: Case<'_>, findings: &mut Vec<Finding>) {
    let wrapped = case.wrapped;
    let Some(settings) = wrapped.valid() else {
        return;
    };
    for (key, hook) in settings.hooks.each() {
        for name in hook.variables() {
            if !wrapped.environment.may_have(name) {
                findings.push(Finding::in_container(
                    HOOK_VARIABLE,
                    wrapped,
                    "env",
                    format!(
                        "{key} ({}) takes a secret from {name}, which the container does not have",
                        hook.name
                    ),
                    format!(
                        "write {{name: {name}, valueFrom: {{secretKeyRef: …}}}}, unless the image has it"
                    ),
                ));
            }
        }
    }
}

/// TG023: nothing that could be wrong is out of sight.
pub fn are_known(case: Case<'_>, findings: &mut Vec<Finding>) {
    let Known::Unknown(why) = &case.wrapped.settings else {
        return;
    };
    if case.wrapped.usage.is_some() {
        return;
    }
    findings.push(Finding::in_container(
        UNPROVEN,
        case.wrapped,
        "",
        format!("what depends on tidegate's settings is not proven: {why}"),
        "check the files together, or write the settings where they can be read",
    ));
}

/// TG022: the kubelet reads what tidegate writes.
pub fn termination_message_is_read(case: Case<'_>, findings: &mut Vec<Finding>) {
    let Some(settings) = case.wrapped.valid() else {
        return;
    };
    let read = case.wrapped.node.scalar_at("terminationMessagePath");
    let read = read.unwrap_or(DEFAULT_MESSAGE_PATH);
    let written = settings.telemetry.termination_log.to_string_lossy();
    if read != written {
        findings.push(Finding::in_container(
            TERMINATION_MESSAGE,
            case.wrapped,
            "terminationMessagePath",
            format!("the kubelet reads {read}, and tidegate writes its report to {written}"),
            format!("write telemetry.terminationLog: {read}"),
        ));
    }
}
