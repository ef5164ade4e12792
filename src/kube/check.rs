//! Inputs in, findings out.

use crate::config::{self, ConfigError};

use super::environment::ConfigMaps;
use super::finding::{Finding, Rule, Severity};
use super::input::{InputError, Source};
use super::objects::{Object, Pod, joined};
use super::rules::catalogue::{self, BUDGET, CONFIG_INVALID, NOTHING_WRAPPED, UNKNOWN_SILENCE};
use super::rules::{Case, hold};
use super::wrapped::{Installer, Role, Wrapped, find};

/// The annotation, of the object or its pod template, that silences rules: `TG003,TG007`.
pub const SILENCE: &str = "tidegate.dev/ignore";

/// What came out.
#[derive(Debug, Default)]
pub struct Checked {
    /// In the order of the inputs.
    pub findings: Vec<Finding>,
    /// What could not be read.
    pub unreadable: Vec<InputError>,
}

/// Checks inputs together: a ConfigMap in one is known to the pods of another.
pub fn check(sources: &[Source], silenced: &[&'static Rule]) -> Checked {
    let mut checked = Checked::default();
    let mut read = Vec::new();
    for source in sources {
        if !source.is_manifests() {
            settings(source, &mut checked.findings);
            continue;
        }
        match source.documents() {
            Ok(documents) => read.extend(documents.into_iter().map(|document| (source, document))),
            Err(error) => checked.unreadable.push(error),
        }
    }
    let objects: Vec<Object<'_>> = read
        .iter()
        .filter_map(|(source, document)| {
            let node = document.node.as_ref()?;
            Some(Object::of(&source.name, document.number, node))
        })
        .flatten()
        .collect();
    manifests(&objects, &mut checked.findings);
    checked
        .findings
        .retain(|finding| !silenced.iter().any(|rule| rule.id == finding.rule.id));
    checked
}

fn manifests(objects: &[Object<'_>], findings: &mut Vec<Finding>) {
    let maps = ConfigMaps::among(objects);
    let pods: Vec<Pod<'_>> = objects.iter().filter_map(Object::pod).collect();
    let mut wrapped = 0;
    for pod in &pods {
        wrapped += one_pod(pod, &maps, findings);
    }
    if let (0, Some(pod)) = (wrapped, pods.first()) {
        findings.push(Finding::at(
            NOTHING_WRAPPED,
            &pod.object,
            joined(&pod.path, "containers"),
            "no container here or in what follows runs tidegate: there was nothing to check",
            "tidegate inject -f FILE adds it",
        ));
    }
}

/// Checks one pod and says how many of its containers run tidegate.
fn one_pod(pod: &Pod<'_>, maps: &ConfigMaps<'_>, findings: &mut Vec<Finding>) -> usize {
    let mut runs: Vec<Wrapped<'_>> = Vec::new();
    let mut installers: Vec<Installer<'_>> = Vec::new();
    for (place, container) in pod.containers() {
        match find(pod, place, container, maps) {
            Some(Role::Runs(wrapped)) => runs.push(*wrapped),
            Some(Role::Installs(installer)) => installers.push(installer),
            None => {}
        }
    }
    let mut found = Vec::new();
    for wrapped in &runs {
        let case = Case {
            wrapped,
            siblings: &runs,
            installers: &installers,
        };
        hold(case, &mut found);
    }
    let silenced = silenced(pod, &mut found);
    found.retain(|finding| !silenced.contains(&finding.rule.id));
    // Two containers of one pod are told of what is the pod's only once.
    for finding in found {
        if !findings.contains(&finding) {
            findings.push(finding);
        }
    }
    runs.len()
}

fn silenced(pod: &Pod<'_>, findings: &mut Vec<Finding>) -> Vec<&'static str> {
    let mut ids = Vec::new();
    let words = pod
        .annotations()
        .filter_map(|annotations| annotations.scalar_at(SILENCE));
    for word in words.flat_map(|words| words.split([',', ' '])) {
        match catalogue::find(word) {
            Some(rule) => ids.push(rule.id),
            None if word.is_empty() => {}
            None => findings.push(Finding::at(
                UNKNOWN_SILENCE,
                &pod.object,
                joined(&pod.object.path, "metadata.annotations"),
                format!("{SILENCE}: {} is no rule", word.escape_debug()),
                "write ids like TG018, with commas between them",
            )),
        }
    }
    ids
}

/// A config file of our own.
fn settings(source: &Source, findings: &mut Vec<Finding>) {
    let finding = |rule: &'static Rule, line, message| Finding {
        rule,
        severity: rule.severity,
        file: source.name.clone(),
        line,
        place: None,
        message,
        mend: String::new(),
    };
    match config::check(source.name.as_ref(), &source.text) {
        Ok(settings) => findings.extend(settings.warnings().map(|warning| {
            let message = format!("{}: note: {warning}", source.name);
            finding(BUDGET, None, message).severity(Severity::Note)
        })),
        Err(problems) => findings.extend(problems.iter().map(|problem| {
            let rule = match problem {
                ConfigError::Budget { .. } => BUDGET,
                _ => CONFIG_INVALID,
            };
            finding(rule, problem.line(), problem.to_string())
        })),
    }
}
