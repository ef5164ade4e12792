//! `tidegate check FILE…`: config files and manifests; is every key known, does the arithmetic hold?

use std::io::{self, Write};

use crate::kube::check::{Checked, check};
use crate::kube::finding::{Rule, Severity};
use crate::kube::input::Source;
use crate::kube::report;
use crate::kube::rules::catalogue;

use super::args::{Check, CheckOutput, Notes};

/// How a check ended; the worst of all files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Nothing is wrong.
    Well = 0,
    /// At least one problem was printed.
    Findings = 1,
    /// At least one file could not be read.
    Unreadable = 2,
}

impl Outcome {
    /// The exit code.
    pub fn code(self) -> u8 {
        self as u8
    }
}

/// Why nothing was checked.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// `--ignore` of something else.
    #[error("check: --ignore {0}: no such rule; docs/checks.md lists them, TG001 and on")]
    NoRule(String),
    /// Nothing can be printed.
    #[error("check: cannot write: {0}")]
    Write(#[from] io::Error),
}

/// Checks the files together, without the environment's settings, and prints what is found. A note is no
/// problem unless notes count.
///
/// # Errors
/// [`CheckError`]: an unknown rule, or nothing can be printed.
pub fn run(asked: &Check, out: &mut impl Write) -> Result<Outcome, CheckError> {
    let rule = |word: &String| catalogue::find(word.trim()).ok_or_else(|| CheckError::NoRule(word.clone()));
    let silenced: Vec<&'static Rule> = asked.ignore.iter().map(rule).collect::<Result<_, _>>()?;
    let mut sources = Vec::new();
    let mut unread = Vec::new();
    for file in &asked.files {
        match Source::read(file) {
            Ok(source) => sources.push(source),
            Err(error) => unread.push(error),
        }
    }
    let mut checked = check(&sources, &silenced);
    checked.unreadable.extend(unread);
    match asked.output {
        CheckOutput::Text => report::text(&checked, out)?,
        CheckOutput::Json => writeln!(out, "{:#}", report::json(&checked))?,
        CheckOutput::Sarif => writeln!(out, "{:#}", report::sarif(&checked))?,
    }
    Ok(outcome(&checked, asked.notes))
}

fn outcome(checked: &Checked, notes: Notes) -> Outcome {
    let counts = |severity| severity > Severity::Note || notes == Notes::Count;
    if !checked.unreadable.is_empty() {
        Outcome::Unreadable
    } else if checked.findings.iter().any(|finding| counts(finding.severity)) {
        Outcome::Findings
    } else {
        Outcome::Well
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(file: &std::path::Path) -> Check {
        Check {
            files: vec![file.to_owned()],
            output: CheckOutput::Text,
            notes: Notes::Pass,
            ignore: Vec::new(),
        }
    }

    fn told(text: &str) -> (Outcome, String) {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("tidegate.yaml");
        std::fs::write(&file, text).expect("a file");
        let mut out = Vec::new();
        let outcome = run(&asked(&file), &mut out).expect("written");
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
                "tidegate.yaml:7: inflight[0].prometheus.url: \"x\" has no scheme; write http:// in front of it",
                "tidegate.yaml:8: inflight[1]: says nothing; write one of prometheus, json, tcp, exec, file, preset",
            ]
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
        assert_eq!((outcome, out), (Outcome::Well, String::new()));
        let mut out = Vec::new();
        let outcome = run(&asked("/nonexistent/tidegate.yaml".as_ref()), &mut out).expect("written");
        assert_eq!(outcome.code(), 2);
        let out = String::from_utf8(out).expect("text");
        assert!(
            out.starts_with("/nonexistent/tidegate.yaml: cannot be read: No such file"),
            "{out}"
        );
    }
}
