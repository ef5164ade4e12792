//! What is found: which rule, where, why, and the mend.

use std::fmt;

use super::objects::{Object, joined};
use super::wrapped::Wrapped;

/// How much it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Allowed, and worth a look. A finding only with `--strict`.
    Note,
    /// Calls can be lost.
    Warning,
    /// It does not start, or does not do what is written.
    Error,
}

impl Severity {
    /// `error`, `warning`, `note`: SARIF's own levels too.
    pub fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// What a rule is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// `TG003`: never given to another rule.
    pub id: &'static str,
    /// `grace-differs`
    pub name: &'static str,
    /// How much it matters, unless the finding says otherwise.
    pub severity: Severity,
    /// What it holds, on one line.
    pub says: &'static str,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule that does not hold.
    pub rule: &'static Rule,
    /// How much it matters here.
    pub severity: Severity,
    /// The input.
    pub file: String,
    /// The line in it, from 1, where it is known.
    pub line: Option<usize>,
    /// The object and the path in its document; none of a config file.
    pub place: Option<Place>,
    /// What is wrong, and why it matters.
    pub message: String,
    /// What to do.
    pub mend: String,
}

/// Where in the manifests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The document in the input, from 1.
    pub document: usize,
    /// `Deployment/library`
    pub object: String,
    /// `spec.template.spec.containers[0].readinessProbe`
    pub path: String,
}

impl Finding {
    /// A finding at `path`, counted from the root of the object's document.
    pub fn at(
        rule: &'static Rule,
        object: &Object<'_>,
        path: String,
        message: impl Into<String>,
        mend: impl Into<String>,
    ) -> Self {
        Self {
            rule,
            severity: rule.severity,
            file: object.file.to_owned(),
            line: Some(object.root.nearest(&path).line).filter(|line| *line > 0),
            place: Some(Place {
                document: object.document,
                object: object.title(),
                path,
            }),
            message: message.into(),
            mend: mend.into(),
        }
    }

    /// A finding in the wrapped container: `path` counts from the container.
    pub fn in_container(
        rule: &'static Rule,
        wrapped: &Wrapped<'_>,
        path: &str,
        message: impl Into<String>,
        mend: impl Into<String>,
    ) -> Self {
        let container = joined(&wrapped.pod.path, &wrapped.place);
        Self::at(rule, &wrapped.pod.object, joined(&container, path), message, mend)
    }

    /// A finding in the pod's spec: `path` counts from there.
    pub fn in_pod(
        rule: &'static Rule,
        wrapped: &Wrapped<'_>,
        path: &str,
        message: impl Into<String>,
        mend: impl Into<String>,
    ) -> Self {
        let path = joined(&wrapped.pod.path, path);
        Self::at(rule, &wrapped.pod.object, path, message, mend)
    }

    /// A finding in the object that makes the pods: `path` counts from there.
    pub fn in_object(
        rule: &'static Rule,
        wrapped: &Wrapped<'_>,
        path: &str,
        message: impl Into<String>,
        mend: impl Into<String>,
    ) -> Self {
        let object = &wrapped.pod.object;
        Self::at(rule, object, joined(&object.path, path), message, mend)
    }

    /// The same, less or more severe.
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }
}

/// One line. A config file's problem is that of the config, which names the file itself.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(place) = &self.place else {
            return f.write_str(&self.message);
        };
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(
            f,
            ": {} {} {} {}: {}",
            self.severity.word(),
            self.rule.id,
            place.object,
            place.path,
            self.message
        )?;
        if !self.mend.is_empty() {
            write!(f, "; {}", self.mend)?;
        }
        Ok(())
    }
}
