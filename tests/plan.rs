//! `tidegate plan` and `tidegate completions`: what a person asks before trusting a config.

use std::process::{Command, Output};

fn tidegate(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("TIDEGATE_")) {
        command.env_remove(name);
    }
    command.args(arguments).output().expect("tidegate starts")
}

fn drawn(arguments: &[&str]) -> String {
    let output = tidegate(arguments);
    assert!(output.status.success(), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

const MEASURED: [&str; 4] = [
    "--inflight-url",
    "http://127.0.0.1:9090/metrics",
    "--inflight-query",
    "calls",
];

#[test]
fn the_timeline_is_drawn_to_scale_with_the_sums() {
    let text = drawn(&[&["plan", "--grace-period", "30"], &MEASURED[..]].concat());
    let expected = "\
terminationGracePeriodSeconds 30s, of which 24s may be used

  propagation ████████                                          5s: load balancers notice; the program serves on
  in-flight           ██░░░░░░░░░░░░░░░░░░░                     until quiet for 1s, 13s at most
  stop                                     ████████             SIGTERM here at the latest; SIGKILL 5s later
  kill                                             █            SIGKILL, the dead reaped, the report: 1s
  margin                                            ··········  never used; at its end the kubelet kills
              0s                                           30s

drain.propagation 5s + child.stopTimeout 5s + child.killWait 1s = 11s, within 24s
An idle pod gets its stop signal after 6s, a busy one after 18s at the latest.
";
    assert_eq!(text, expected);
}

#[test]
fn without_a_source_nobody_waits_for_calls_and_the_plan_says_so() {
    let text = drawn(&["plan"]);
    assert!(text.contains("SIGTERM here; SIGKILL 18s later"), "{text}");
    assert!(
        text.contains("without an in-flight source nobody knows"),
        "{text}"
    );
}

#[test]
fn a_grace_period_without_waits_says_so() {
    let text = drawn(&["plan", "--grace-period", "2", "--stop-signal", "QUIT"]);
    assert!(!text.contains("propagation"), "{text}");
    assert!(text.contains("SIGQUIT here"), "{text}");
    assert!(text.contains("too short for any wait"), "{text}");
}

#[test]
fn a_window_between_min_and_max_shows_both() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), "drain: {propagation: {min: 3s, max: 9s}}").expect("written");
    let text = drawn(&["plan", "--config", &file.path().display().to_string()]);
    assert!(
        text.contains("3s to 9s: until everyone who asks has been told"),
        "{text}"
    );
    assert!(text.contains("propagation █████░░░░░░░░░ "), "{text}");
}

#[test]
fn what_run_refuses_is_refused_in_the_same_words() {
    let settings = ["--grace-period", "5", "--stop-timeout", "4s"];
    let planned = tidegate(&[&["plan"], &settings[..]].concat());
    let ran = tidegate(&[&["run"], &settings[..], &["--", "true"]].concat());
    assert_eq!(planned.status.code(), Some(125));
    assert!(planned.stdout.is_empty());
    assert_eq!(planned.stderr, ran.stderr);
    assert_eq!(String::from_utf8_lossy(&planned.stderr).lines().count(), 1);
}

#[test]
fn every_shell_has_completions_that_know_the_flags() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let text = drawn(&["completions", shell]);
        for word in ["grace-period", "inflight-query", "plan", "install"] {
            assert!(text.contains(word), "{shell} does not complete {word}");
        }
    }
}

#[test]
fn bash_accepts_its_completions() {
    let script = drawn(&["completions", "bash"]);
    let output = Command::new("bash")
        .args(["-n", "-c", &script])
        .output()
        .expect("bash starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn the_man_page_has_every_flag() {
    let text = drawn(&["completions", "man"]);
    assert!(text.contains(".TH"), "{text}");
    // roff writes a dash as \-
    assert!(text.contains(r"\-\-stop\-timeout"), "{text}");
}

#[test]
fn an_unknown_shell_is_one_line_with_the_known_ones() {
    let output = tidegate(&["completions", "tcsh"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(125));
    assert!(
        said.contains("tcsh is no shell") && said.contains("bash, zsh"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
}
