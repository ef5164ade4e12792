//! `tidegate check FILE…`: is every key known, does the arithmetic hold?

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::config::{self, ConfigError};

/// How a check ended; the worst of all files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Nothing is wrong.
    Well = 0,
    /// At least one problem was printed.
    Findings = 1,
    /// At least one file could not be read, or is of a kind this version does not check.
    Unreadable = 2,
}

impl Outcome {
    /// The exit code.
    pub fn code(self) -> u8 {
        self as u8
    }
}

/// Checks each file by itself, without the environment's settings, and prints a line for each
/// problem. A note on what is allowed and can hardly be meant is no problem.
///
/// # Errors
/// Only when nothing can be printed.
pub fn run(files: &[PathBuf], out: &mut impl Write) -> io::Result<Outcome> {
    let mut worst = Outcome::Well;
    for file in files {
        worst = worst.max(check(file, out)?);
    }
    Ok(worst)
}

fn check(file: &Path, out: &mut impl Write) -> io::Result<Outcome> {
    let problems = match config::check(file) {
        Ok(settings) => {
            if let Some(warning) = settings.warning() {
                writeln!(out, "{}: note: {warning}", file.to_string_lossy().escape_debug())?;
            }
            return Ok(Outcome::Well);
        }
        Err(problems) => problems,
    };
    if problems.iter().any(ConfigError::is_of_a_manifest) {
        let name = file.to_string_lossy();
        writeln!(
            out,
            "{}: a Kubernetes manifest (apiVersion, kind), which this version does not check; name a file of tidegate's own settings",
            name.escape_debug()
        )?;
        return Ok(Outcome::Unreadable);
    }
    for problem in &problems {
        writeln!(out, "{problem}")?;
    }
    let unreadable = |problem: &ConfigError| matches!(problem, ConfigError::Unreadable { .. });
    Ok(if problems.iter().any(unreadable) {
        Outcome::Unreadable
    } else {
        Outcome::Findings
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> (Outcome, String) {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("tidegate.yaml");
        std::fs::write(&file, text).expect("a file");
        let mut out = Vec::new();
        let outcome = run(std::slice::from_ref(&file), &mut out).expect("written");
        let out = String::from_utf8(out).expect("text");
        (outcome, out.replace(&file.display().to_string(), "tidegate.yaml"))
    }

    #[test]
    fn a_good_file_says_nothing() {
        assert_eq!(told("drain: {quiet: 2s}\n"), (Outcome::Well, String::new()));
        assert_eq!(told(""), (Outcome::Well, String::new()));
    }

    #[test]
    fn every_problem_has_its_line() {
        let (outcome, out) = told(
            "drain:\n  propagaton: 5s\n  quiet: 5\nchild:\n  stopSignal: SIGTREM\ninflight:\n  - prometheus: {url: x, query: y}\n  - {}\n",
        );
        assert_eq!(outcome, Outcome::Findings);
        assert_eq!(
            out.lines().collect::<Vec<_>>(),
            [
                "tidegate.yaml:2: drain.propagaton: unknown key; did you mean drain.propagation?",
                "tidegate.yaml:3: drain.quiet: 5 has no unit; write 5s",
                "tidegate.yaml:5: child.stopSignal: \"SIGTREM\" is no signal; did you mean SIGTERM?",
                "tidegate.yaml:7: inflight[0].prometheus.url: \"x\" is no URL; write it like http://127.0.0.1:9090/metrics",
                "tidegate.yaml:8: inflight[1]: says nothing; write one of prometheus, json, tcp, exec, file, preset",
            ]
        );
    }

    #[test]
    fn every_unsupported_key_has_its_line() {
        let (outcome, out) = told("health: {tls: {cert: /c, key: /k}}\nhooks: {onDrain: [{signal: TSTP}]}\n");
        assert_eq!(outcome, Outcome::Findings);
        assert_eq!(
            out,
            "tidegate.yaml: health.tls: not supported by this version; leave it out\n\
             tidegate.yaml: hooks.onDrain: not supported by this version; leave it out\n"
        );
    }

    #[test]
    fn arithmetic_that_does_not_hold_is_found() {
        let (outcome, out) = told("terminationGracePeriodSeconds: 10\ndrain: {propagation: 20s}\n");
        assert_eq!(outcome, Outcome::Findings);
        assert!(
            out.starts_with("the budget does not hold: drain.propagation 20s + "),
            "{out}"
        );
        assert!(out.contains("drain.propagation from tidegate.yaml"), "{out}");
    }

    #[test]
    fn a_quiet_that_cannot_come_is_noted_and_no_finding() {
        let source = "inflight: [{prometheus: {url: 'http://127.0.0.1/', query: calls}}]\n";
        let (outcome, out) = told(&format!("drain: {{quiet: 20s}}\n{source}"));
        assert_eq!(outcome, Outcome::Well);
        assert_eq!(
            out,
            "tidegate.yaml: note: drain.quiet 20s is longer than the 13s there are between propagation and the stop signal, so that no drain ends before its deadline; shorten it or raise terminationGracePeriodSeconds\n"
        );
        assert_eq!(told("drain: {quiet: 20s}\n"), (Outcome::Well, String::new()));
    }

    #[test]
    fn manifests_and_missing_files_are_said_plainly() {
        let (outcome, out) = told("apiVersion: apps/v1\nkind: Deployment\nspec: {}\n---\nkind: Service\n");
        assert_eq!(outcome, Outcome::Unreadable);
        assert_eq!(
            out,
            "tidegate.yaml: a Kubernetes manifest (apiVersion, kind), which this version does not check; name a file of tidegate's own settings\n"
        );
        let mut out = Vec::new();
        let outcome = run(&["/nonexistent/tidegate.yaml".into()], &mut out).expect("written");
        assert_eq!(outcome.code(), 2);
        let out = String::from_utf8(out).expect("text");
        assert!(
            out.starts_with("/nonexistent/tidegate.yaml: cannot be read: No such file"),
            "{out}"
        );
    }
}
