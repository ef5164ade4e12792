//! The exposition as it streams by: lines found, unwanted ones passed over, wanted ones tallied.
//!
//! What is kept is one tally a selector, at most one line of [`MAX_LINE`] bytes that is cut by a
//! chunk's end, and a fingerprint of each wanted series up to [`MAX_SERIES`]. None of it grows
//! with the body.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use super::line::{self, Broken};
use super::near::{Misses, Near};
use crate::inflight::query::{Selector, Tally};

/// The longest line that is read, in bytes. Prometheus' own limit on a label value is far below.
pub const MAX_LINE: usize = 64 * 1024;

/// The most series all selectors of a poll may match together.
pub const MAX_SERIES: usize = 64 * 1024;

/// The beginning of a type line as every program writes it.
const TYPE: &[u8] = b"# TYPE ";

/// Reads one exposition for a set of selectors.
pub struct Scanner<'q> {
    selectors: Vec<&'q Selector>,
    tallies: Vec<Tally>,
    /// The names that make a line wanted.
    names: Vec<&'q str>,
    /// A selector without a fixed name: every sample line has to be looked at.
    any_name: bool,
    /// The name of the last sample and the selectors that may mean it: samples of a name stand
    /// together, and a regular expression on names need not be asked for each.
    last: (String, Arc<[usize]>),
    /// The beginning of a line whose end has not come yet.
    partial: Vec<u8>,
    line_number: u64,
    recognised: bool,
    eof_marker: bool,
    hasher: RandomState,
    seen: HashSet<u64>,
    /// One a selector, where misses are noted.
    near: Vec<Near<'q>>,
}

/// What a whole body said.
#[derive(Debug)]
pub struct Scan {
    /// A tally for each selector, in their order.
    pub tallies: Vec<Tally>,
    /// Whether the body had a single line of an exposition. Without one it was something else:
    /// a web page, JSON, nothing at all.
    pub recognised: bool,
    /// Whether `# EOF` was there, with which OpenMetrics ends.
    pub eof_marker: bool,
    /// Whether the last line had no line feed, which every line of the format must have.
    pub unterminated: bool,
    /// What is close to the selectors that matched nothing, a sentence each, where that was noted.
    pub near: Vec<String>,
}

impl<'q> Scanner<'q> {
    /// A scanner that tallies the series of each selector.
    pub fn new(selectors: impl IntoIterator<Item = &'q Selector>) -> Self {
        let selectors: Vec<_> = selectors.into_iter().collect();
        let mut names: Vec<_> = selectors.iter().filter_map(|selector| selector.name()).collect();
        names.sort_unstable();
        names.dedup();
        Self {
            tallies: vec![Tally::default(); selectors.len()],
            any_name: selectors.iter().any(|selector| selector.name().is_none()),
            selectors,
            names,
            last: (String::new(), Arc::new([])),
            partial: Vec::new(),
            line_number: 0,
            recognised: false,
            eof_marker: false,
            hasher: RandomState::new(),
            seen: HashSet::new(),
            near: Vec::new(),
        }
    }

    /// The scanner, noting misses or not.
    #[must_use]
    pub fn with(mut self, misses: Misses) -> Self {
        self.near = match misses {
            Misses::Ignored => Vec::new(),
            Misses::Noted => self.selectors.iter().map(|selector| Near::to(selector)).collect(),
        };
        self
    }

    /// Takes the next piece of the body, cut anywhere.
    pub fn feed(&mut self, chunk: &[u8]) {
        let mut rest = chunk;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            if self.partial.is_empty() {
                self.line(&rest[..end]);
            } else {
                self.keep(&rest[..end]);
                self.partial_line();
            }
            rest = &rest[end + 1..];
        }
        self.keep(rest);
    }

    /// The body has ended.
    pub fn finish(mut self) -> Scan {
        let unterminated = !self.partial.is_empty();
        if unterminated {
            self.partial_line();
        }
        let missed = self
            .near
            .iter()
            .zip(&self.tallies)
            .filter(|(_, tally)| tally.count() == 0);
        Scan {
            near: missed.map(|(near, _)| near.said()).collect(),
            tallies: self.tallies,
            recognised: self.recognised,
            eof_marker: self.eof_marker,
            unterminated,
        }
    }

    /// How many bytes of an unfinished line are kept: never more than [`MAX_LINE`] and one.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.partial.len()
    }

    /// Keeps the beginning of a line; one byte beyond the limit is enough to know it is too long.
    fn keep(&mut self, piece: &[u8]) {
        let room = (MAX_LINE + 1).saturating_sub(self.partial.len());
        self.partial.extend_from_slice(&piece[..piece.len().min(room)]);
    }

    fn partial_line(&mut self) {
        let mut line = std::mem::take(&mut self.partial);
        self.line(&line);
        line.clear();
        self.partial = line;
    }

    fn line(&mut self, line: &[u8]) {
        self.line_number += 1;
        // Until something of an exposition is seen, lines are read only to see it.
        if self.recognised && self.near.is_empty() && !self.may_be_wanted(line) {
            return;
        }
        let text = line::trim(&line[..line.len().min(MAX_LINE)]);
        for near in &mut self.near {
            near.see(text);
        }
        match text.first() {
            None => {}
            Some(b'#') => self.comment(text),
            Some(b'{') => self.braced(text, line.len() > MAX_LINE),
            Some(_) => self.named(text, line.len() > MAX_LINE),
        }
    }

    /// The fast way past everything unwanted: one look at the line's beginning.
    fn may_be_wanted(&self, line: &[u8]) -> bool {
        match line.first() {
            None => false,
            Some(b'#') => {
                (line.starts_with(TYPE) && self.is_type_of_wanted(&line[TYPE.len()..]))
                    || (!self.eof_marker && line.starts_with(b"# EOF"))
            }
            Some(b'{' | b' ' | b'\t') => true,
            Some(_) => {
                self.any_name
                    || self.names.iter().any(|name| {
                        line.starts_with(name.as_bytes())
                            && line.get(name.len()).is_none_or(|&next| !line::is_name_byte(next))
                    })
            }
        }
    }

    fn comment(&mut self, text: &[u8]) {
        let Some(text) = text.strip_prefix(b"#") else {
            return;
        };
        let text = line::trim(text);
        self.eof_marker |= text == b"EOF";
        let keyword = &text[..line::name_length(text)];
        self.recognised |=
            text == b"EOF" || [&b"HELP"[..], b"TYPE", b"UNIT"].contains(&keyword) && text.len() > 4;
        if keyword == b"TYPE" {
            self.type_line(&text[keyword.len()..]);
        }
    }

    /// Whether a TYPE line, from its name on, is one of a name that is wanted.
    fn is_type_of_wanted(&self, line: &[u8]) -> bool {
        let family = &line[..line::name_length(line)];
        self.names
            .iter()
            .any(|name| part_of(family, name.as_bytes()).is_some())
    }

    /// `name type`: what is a counter can only fall by a restart, whatever it is called. So can the
    /// number of what a histogram or summary observed.
    fn type_line(&mut self, text: &[u8]) {
        let text = line::trim(text);
        let (family, kind) = text.split_at(line::name_length(text));
        let kind = line::trim(kind);
        for (selector, tally) in self.selectors.iter().zip(&mut self.tallies) {
            let part = selector.name().and_then(|name| part_of(family, name.as_bytes()));
            let only_rises = match part {
                Some(b"" | b"_total") => kind == b"counter",
                Some(b"_count" | b"_bucket") => kind == b"histogram" || kind == b"summary",
                _ => false,
            };
            if only_rises {
                tally.only_rises();
            }
        }
    }

    /// A line that begins with an unquoted name: only the selectors that want the name read on.
    fn named(&mut self, text: &[u8], overlong: bool) {
        let Some((name, _)) = line::bare_name(text) else {
            return;
        };
        let wanting = self.wanting(name);
        if wanting.is_empty() && self.recognised {
            return;
        }
        let read = if overlong {
            Err(Broken("the line is longer than 64 KiB"))
        } else {
            line::series(text)
        };
        match read {
            Ok((series, rest)) => self.sample(&wanting, &series, rest),
            Err(broken) => self.spoil(&wanting, broken),
        }
    }

    /// A line that begins with a brace, where the name may come last.
    fn braced(&mut self, text: &[u8], overlong: bool) {
        let read = if overlong {
            Err(Broken("the line is longer than 64 KiB"))
        } else {
            line::series(text)
        };
        match read {
            Ok((series, rest)) => {
                let wanting = self.wanting(&series.name);
                self.sample(&wanting, &series, rest);
            }
            Err(broken) => {
                // No name could be read. Whoever's name stands in the line has lost a series.
                let holds = |name: &str| memchr::memmem::find(text, name.as_bytes()).is_some();
                let wanting: Vec<_> = (0..self.selectors.len())
                    .filter(|&at| self.selectors[at].name().is_none_or(holds))
                    .collect();
                self.spoil(&wanting, broken);
            }
        }
    }

    /// The selectors that may mean a metric of this name.
    fn wanting(&mut self, name: &str) -> Arc<[usize]> {
        if self.last.0 != name {
            let wanting = (0..self.selectors.len()).filter(|&at| self.selectors[at].wants_name(name));
            self.last = (name.to_owned(), wanting.collect());
        }
        self.last.1.clone()
    }

    fn sample(&mut self, wanting: &[usize], series: &line::Series<'_>, rest: &[u8]) {
        let wanting: Vec<_> = wanting
            .iter()
            .copied()
            .filter(|&at| self.selectors[at].wants_labels(|label| series.value_of(label)))
            .collect();
        if wanting.is_empty() && self.recognised {
            return;
        }
        let value = match line::value(rest) {
            Ok(value) => value,
            Err(broken) => return self.spoil(&wanting, broken),
        };
        self.recognised = true;
        if wanting.is_empty() {
            return;
        }
        if self.seen.len() >= MAX_SERIES {
            return self.spoil(&wanting, Broken("there are more than 65536 series"));
        }
        if !self
            .seen
            .insert(self.hasher.hash_one((&series.name, &series.labels)))
        {
            return self.spoil(&wanting, Broken("the series was there before"));
        }
        for at in wanting {
            self.tallies[at].add(value);
        }
    }

    fn spoil(&mut self, wanting: &[usize], Broken(why): Broken) {
        for &at in wanting {
            self.tallies[at].spoil(|| format!("{why} at line {}", self.line_number));
        }
    }
}

/// What a metric's name has beyond its family's, if it is of the family.
fn part_of<'n>(family: &[u8], name: &'n [u8]) -> Option<&'n [u8]> {
    let part = name.strip_prefix(family)?;
    (!family.is_empty() && [&b""[..], b"_total", b"_count", b"_bucket"].contains(&part)).then_some(part)
}
