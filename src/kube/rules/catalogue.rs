//! Every rule's id, name and meaning.

use super::super::finding::{Rule, Severity};

macro_rules! rules {
    ($($constant:ident $id:literal $name:literal $severity:ident $says:literal;)*) => {
        $(
            #[doc = $says]
            pub const $constant: &Rule = &Rule {
                id: $id,
                name: $name,
                severity: Severity::$severity,
                says: $says,
            };
        )*

        /// All of them, by their ids.
        pub const ALL: &[&Rule] = &[$($constant),*];
    };
}

rules! {
    CONFIG_INVALID "TG001" "config-invalid" Error "tidegate's settings and command line are valid";
    BUDGET "TG002" "budget" Error "the phases of a drain fit in the grace period";
    GRACE_DIFFERS "TG003" "grace-differs" Error "tidegate counts on the pod's own grace period";
    GRACE_SHORT "TG004" "grace-short" Warning "the grace period leaves time to wait for anything";
    PRE_STOP_UNDECLARED "TG005" "pre-stop-undeclared" Error "the grace a preStop hook spends is declared";
    SHELL_IN_FRONT "TG006" "shell-in-front" Error "no shell stands between the kubelet's signal and tidegate";
    NOT_FIRST "TG007" "not-first" Warning "tidegate is the container's command, and so PID 1";
    NOT_INSTALLED "TG008" "not-installed" Error "the binary is where the command looks for it";
    SHELL_CHILD "TG009" "shell-child" Warning "the program gets the stop signal, not a shell around it";
    READINESS_MISSING "TG010" "readiness-missing" Warning "a readiness probe shows that the pod drains";
    READINESS_ELSEWHERE "TG011" "readiness-elsewhere" Warning "the readiness probe asks tidegate";
    PROBE_UNANSWERED "TG012" "probe-unanswered" Error "tidegate answers what the probes ask, where they ask it";
    READINESS_SLOW "TG013" "readiness-slow" Warning "the readiness probe notices within the propagation window";
    LIVENESS_AS_READINESS "TG014" "liveness-as-readiness" Error "a draining pod is not taken for a dead one";
    PROBE_GRACE "TG015" "probe-grace" Error "no probe shortens the grace period";
    PORT_TAKEN "TG016" "port-taken" Error "the ports tidegate listens at are its alone";
    STOP_SIGNAL "TG017" "stop-signal" Error "the signal the kubelet sends starts the drain";
    MIN_READY "TG018" "min-ready-seconds" Warning "new pods are known to load balancers before old ones turn NOT_SERVING";
    ALL_AT_ONCE "TG019" "all-at-once" Warning "a rollout leaves pods that serve";
    SHARED_PROCESSES "TG020" "shared-processes" Note "tidegate has a process namespace of its own";
    SIDECAR_NOT_NATIVE "TG021" "sidecar-not-native" Error "tidegate beside a program outlives it";
    TERMINATION_MESSAGE "TG022" "termination-message" Note "the kubelet reads tidegate's last words";
    UNPROVEN "TG023" "unproven" Note "all of the settings are in the input";
    NOTHING_WRAPPED "TG024" "nothing-wrapped" Note "some container runs tidegate";
    UNKNOWN_SILENCE "TG025" "unknown-silence" Note "what is silenced is a rule";
    HOOK_SLOW "TG026" "hook-slow" Warning "a hook has left the registry before the calls stop";
    HOOK_SECRET "TG027" "hook-secret" Warning "tokens and passwords of hooks do not stand in the config";
    HOOK_LOOPBACK "TG028" "hook-loopback" Error "the kubelet reaches the port of preStop hooks";
    HOOK_MISSING "TG029" "hook-missing" Error "the program's preStop hook tells a sidecar that the pod stops";
    SHARED_PROCESSES_MISSING "TG030" "shared-processes-missing" Error "a sidecar sees the process that its target names";
    TARGET_OF_ANOTHER "TG031" "target-of-another" Warning "a sidecar may look at the process that its target names, and signal it";
    HOOK_VARIABLE "TG032" "hook-variable" Warning "the variables that hooks take their secrets from are in the container";
}

/// The rule of an id, or of a name.
pub fn find(word: &str) -> Option<&'static Rule> {
    let fits = |rule: &&&Rule| rule.id.eq_ignore_ascii_case(word) || rule.name == word;
    ALL.iter().find(fits).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_an_id_of_its_own_and_its_section_in_the_docs() {
        let docs = include_str!("../../../docs/checks.md");
        for (index, rule) in ALL.iter().enumerate() {
            assert_eq!(rule.id, format!("TG{:03}", index + 1));
            assert!(ALL[..index].iter().all(|other| other.name != rule.name));
            let heading = format!("\n## {} {}\n", rule.id, rule.name);
            assert!(docs.contains(&heading), "{heading} is missing");
            assert!(docs.contains(&format!("**{}**", rule.severity.word())));
        }
        assert_eq!(docs.matches("\n## TG").count(), ALL.len());
    }
}
