//! What a page has that is close to a series it does not have, for the person who mistyped it.

use crate::inflight::query::Selector;

use super::line;

/// So many are named.
const NAMED: usize = 3;

/// The longest series that is named, in bytes.
const LONGEST: usize = 200;

/// Whether a scan notes what is close to series that are not there, which reads every line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Misses {
    /// It passes over everything unwanted.
    #[default]
    Ignored,
    /// It notes the few that are closest.
    Noted,
}

/// The closest to one selector, so far.
pub(super) struct Near<'q> {
    selector: &'q Selector,
    /// Other names with their distance, the closest first.
    names: Vec<(usize, String)>,
    /// Series of the very name, with other labels.
    series: Vec<String>,
}

impl<'q> Near<'q> {
    pub fn to(selector: &'q Selector) -> Self {
        Self {
            selector,
            names: Vec::new(),
            series: Vec::new(),
        }
    }

    /// Takes in a trimmed line that may be a sample.
    pub fn see(&mut self, text: &[u8]) {
        let (Some(wanted), Some((name, _))) = (self.selector.name(), line::bare_name(text)) else {
            return;
        };
        if name == wanted {
            if self.series.len() < NAMED
                && let Ok((_, rest)) = line::series(text)
            {
                let series = String::from_utf8_lossy(&text[..text.len() - rest.len()]);
                self.series
                    .push(series.trim_end().chars().take(LONGEST).collect());
            }
            return;
        }
        // Samples of a name stand together, so that few names are weighed twice.
        if name.len() > LONGEST || self.names.iter().any(|(_, known)| known == name) {
            return;
        }
        // A third of the letters may differ, or the whole of a beginning or an end be missing.
        let distance = strsim::osa_distance(name, wanted);
        if distance > wanted.len() / 3 && !name.contains(wanted) && !wanted.contains(name) {
            return;
        }
        let at = self.names.partition_point(|(known, _)| *known <= distance);
        if at < NAMED {
            self.names.insert(at, (distance, name.to_owned()));
            self.names.truncate(NAMED);
        }
    }

    /// What was found, as a sentence.
    pub fn said(&self) -> String {
        let text = self.selector.text();
        let found: Vec<&str> = match self.series[..] {
            [] => self.names.iter().map(|(_, name)| name.as_str()).collect(),
            [..] => self.series.iter().map(String::as_str).collect(),
        };
        match found[..] {
            [] => format!("there is nothing like `{text}`"),
            [..] => format!("close to `{text}` there is {}", found.join(", ")),
        }
    }
}
