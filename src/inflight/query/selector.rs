//! Which series a query means: a metric name and label matchers, as PromQL has them.

use regex_lite::Regex;

/// The condition a label's value, or the metric's name, has to meet. A label that is absent has
/// the value "".
#[derive(Clone, Debug)]
pub(super) enum Test {
    Equal(String),
    NotEqual(String),
    Matches(Regex),
    NotMatches(Regex),
}

impl Test {
    pub fn accepts(&self, value: &str) -> bool {
        match self {
            Self::Equal(wanted) => value == wanted,
            Self::NotEqual(unwanted) => value != unwanted,
            Self::Matches(regex) => regex.is_match(value),
            Self::NotMatches(regex) => !regex.is_match(value),
        }
    }
}

/// Compiles a regular expression the way Prometheus does: it has to match the whole value, and a
/// dot matches newlines too (`^(?s:…)$`, `model/labels/regexp.go`).
pub(super) fn anchored(pattern: &str) -> Result<Regex, String> {
    let bad = |error: regex_lite::Error| {
        format!(
            "the regular expression `{pattern}` is not understood: {}",
            one_line(&error.to_string())
        )
    };
    // By itself first: `a)(b` would be made valid by the brackets around it.
    Regex::new(pattern).map_err(bad)?;
    Regex::new(&format!("^(?s:{pattern})$")).map_err(bad)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A selector: the series with a name that meets every name test and labels that meet every
/// matcher.
#[derive(Clone, Debug)]
pub struct Selector {
    pub(super) text: String,
    pub(super) name: Option<String>,
    pub(super) name_tests: Vec<Test>,
    pub(super) matchers: Vec<(String, Test)>,
}

impl Selector {
    /// The selector as the user wrote it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The one name a series must have, where there is one. It is what lets the scanner pass over
    /// all other lines without reading them.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Whether a metric of this name may be meant.
    pub fn wants_name(&self, name: &str) -> bool {
        self.name.as_ref().is_none_or(|wanted| wanted == name)
            && self.name_tests.iter().all(|test| test.accepts(name))
    }

    /// Whether a series with these labels is meant. `value_of` gives a label's value, "" when the
    /// series does not have it.
    pub fn wants_labels<'l>(&self, value_of: impl Fn(&str) -> &'l str) -> bool {
        self.matchers
            .iter()
            .all(|(label, test)| test.accepts(value_of(label)))
    }

    /// Whether the metric is a counter by its name: OpenMetrics requires `_total` of counters, and
    /// Prometheus' naming practice asks for it.
    pub fn is_counter(&self) -> bool {
        self.name.as_ref().is_some_and(|name| name.ends_with("_total"))
    }

    /// Whether it names anything that only exists in an exposition with quoted UTF-8 names.
    pub fn needs_utf8_names(&self) -> bool {
        self.name.iter().any(|name| !is_legacy(name))
            || self.matchers.iter().any(|(label, _)| !is_legacy(label))
    }
}

/// Whether a name fits the character set Prometheus had before version 3.
fn is_legacy(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ':')
}
