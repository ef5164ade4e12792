//! What the app last said of each name, and for how long that still counts.
//!
//! Neither connections nor a clock: what was heard or lost goes in with the time, and what it makes of
//! the names comes out. A name that is lost keeps its last state for the hold, then it is UNKNOWN.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::health::ruling::{Reason, Ruling, spelt_out};
use crate::health::status::Status;
use crate::health::verdicts::OVERALL;

/// What the app says of one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// A status.
    Status(Status),
    /// It has no such name: NOT_FOUND from Check, SERVICE_UNKNOWN from Watch. The app's [`OVERALL`]
    /// stands for it then.
    NoSuchName,
}

/// Whether what was said is news.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// Other than before.
    Changed,
    /// As before.
    Same,
}

/// Every name the app is asked for.
#[derive(Debug)]
pub(super) struct Book {
    /// Those whose status we show.
    served: Vec<String>,
    entries: BTreeMap<String, Entry>,
    hold: Duration,
    /// The latest reason why something was not heard.
    why: Option<String>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    said: Option<Said>,
    lost: Option<Instant>,
}

impl Book {
    /// A book on `served`, and on [`OVERALL`], which stands for names the app does not know.
    pub(super) fn new(served: Vec<String>, hold: Duration) -> Self {
        let asked = served.iter().cloned().chain([OVERALL.to_owned()]);
        let entries = asked.map(|name| (name, Entry::default())).collect();
        Self {
            served,
            entries,
            hold,
            why: None,
        }
    }

    /// The names to ask the app for.
    pub(super) fn asked(&self) -> Vec<String> {
        self.entries.keys().cloned().collect()
    }

    /// The app said `said` of `name`.
    pub(super) fn heard(&mut self, name: &str, said: Said) -> News {
        let Some(entry) = self.entries.get_mut(name) else {
            return News::Same;
        };
        entry.lost = None;
        match entry.said.replace(said) {
            Some(before) if before == said => News::Same,
            _ => News::Changed,
        }
    }

    /// Nothing is heard of `name` any more since `now`, because of `why`.
    pub(super) fn lost(&mut self, name: &str, why: String, now: Instant) {
        self.why = Some(why);
        if let Some(entry) = self.entries.get_mut(name) {
            entry.lost.get_or_insert(now);
        }
    }

    /// Nothing is heard of any name any more.
    pub(super) fn lost_all(&mut self, why: String, now: Instant) {
        self.why = Some(why);
        for entry in self.entries.values_mut() {
            entry.lost.get_or_insert(now);
        }
    }

    /// When the next name becomes UNKNOWN unless something is heard of it.
    pub(super) fn next_expiry(&self) -> Option<Instant> {
        let held = self.entries.values().filter(|entry| entry.said.is_some());
        // A hold is 30 days at most, so it can be added.
        held.filter_map(|entry| entry.lost)
            .min()
            .map(|lost| lost + self.hold)
    }

    /// Forgets what was held for its time; whether that was anything.
    pub(super) fn expire(&mut self, now: Instant) -> News {
        let mut news = News::Same;
        for entry in self.entries.values_mut() {
            let is_over = entry.lost.is_some_and(|lost| now >= lost + self.hold);
            if is_over && entry.said.take().is_some() {
                news = News::Changed;
            }
        }
        news
    }

    /// Whether every name is known and none is lost.
    pub(super) fn is_complete(&self) -> bool {
        self.entries
            .values()
            .all(|entry| entry.said.is_some() && entry.lost.is_none())
    }

    /// What all this makes of the names we serve.
    pub(super) fn ruling(&self) -> Ruling {
        let mut ruling = Ruling::default();
        let mut refused = Vec::new();
        let (mut unsure, mut nameless, mut silent) = (Vec::new(), Vec::new(), Vec::new());
        for name in &self.served {
            let status = match self.said(name) {
                Some(Said::Status(status)) => {
                    match status {
                        Status::Serving => {}
                        Status::NotServing => refused.push(name.as_str()),
                        Status::Unknown => unsure.push(name.as_str()),
                    }
                    status
                }
                Some(Said::NoSuchName) => {
                    nameless.push(name.as_str());
                    Status::Unknown
                }
                None => {
                    silent.push(name.as_str());
                    Status::Unknown
                }
            };
            ruling.statuses.insert(name.clone(), status);
        }
        let mut because = |status, names: Vec<&str>, words: &dyn Fn(String) -> String| {
            if !names.is_empty() {
                let why = words(spelt_out(names.into_iter()));
                ruling.reasons.push(Reason { status, why });
            }
        };
        because(Status::NotServing, refused, &|names| {
            format!("the app says so of {names}")
        });
        because(Status::Unknown, unsure, &|names| {
            format!("the app says UNKNOWN of {names}")
        });
        because(Status::Unknown, nameless, &|names| {
            format!("the app's health has no name for {names}")
        });
        because(Status::Unknown, silent, &|_| match &self.why {
            Some(why) => format!("the app's health does not answer: {why}"),
            None => "the app's health has not answered yet".to_owned(),
        });
        ruling
    }

    /// What counts for `name`: the app's own word, or its word on the whole if it has none.
    fn said(&self, name: &str) -> Option<Said> {
        let of = |name: &str| self.entries.get(name).and_then(|entry| entry.said);
        match of(name)? {
            Said::NoSuchName => of(OVERALL),
            said => Some(said),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HOLD: Duration = Duration::from_secs(30);
    const SERVING: Said = Said::Status(Status::Serving);
    const NOT_SERVING: Said = Said::Status(Status::NotServing);

    fn book(names: &[&str]) -> Book {
        Book::new(names.iter().map(|name| (*name).to_owned()).collect(), HOLD)
    }

    fn status(book: &Book, name: &str) -> Status {
        book.ruling().statuses[name]
    }

    #[test]
    fn everything_is_unknown_before_the_app_answers() {
        let mut book = book(&["a"]);
        assert_eq!(book.asked(), ["", "a"]);
        assert_eq!(status(&book, "a"), Status::Unknown);
        book.lost_all("connection refused".into(), Instant::now());
        assert_eq!(status(&book, "a"), Status::Unknown);
        assert_eq!(book.next_expiry(), None, "nothing is held");
        let reasons: Vec<_> = book
            .ruling()
            .reasons
            .into_iter()
            .map(|reason| reason.why)
            .collect();
        assert_eq!(reasons, ["the app's health does not answer: connection refused"]);
    }

    #[test]
    fn what_was_said_holds_for_its_time_and_not_longer() {
        let start = Instant::now();
        let mut book = book(&["a"]);
        book.heard("a", SERVING);
        book.heard("", NOT_SERVING);
        book.lost_all("gone".into(), start);
        // A second loss is not a second hold.
        book.lost_all("gone".into(), start + HOLD / 2);
        assert_eq!(book.next_expiry(), Some(start + HOLD));
        let just_before = start + HOLD - Duration::from_nanos(1);
        assert_eq!(book.expire(just_before), News::Same);
        assert_eq!(status(&book, "a"), Status::Serving);
        assert_eq!(book.expire(start + HOLD), News::Changed);
        assert_eq!(status(&book, "a"), Status::Unknown);
        assert_eq!(book.next_expiry(), None);
    }

    #[test]
    fn an_answer_ends_the_hold_of_its_name_alone() {
        let start = Instant::now();
        let mut book = book(&["a", "b"]);
        for name in ["", "a", "b"] {
            book.heard(name, SERVING);
        }
        assert!(book.is_complete());
        book.lost_all("gone".into(), start);
        assert_eq!(book.heard("a", SERVING), News::Same);
        assert!(!book.is_complete());
        book.expire(start + HOLD);
        assert_eq!(status(&book, "a"), Status::Serving);
        assert_eq!(status(&book, "b"), Status::Unknown);
    }

    #[test]
    fn the_whole_stands_for_names_the_app_does_not_know() {
        let mut book = book(&["a"]);
        book.heard("a", Said::NoSuchName);
        assert_eq!(status(&book, "a"), Status::Unknown);
        book.heard("", NOT_SERVING);
        assert_eq!(status(&book, "a"), Status::NotServing);
        book.heard("a", SERVING);
        assert_eq!(status(&book, "a"), Status::Serving);
        book.heard("a", Said::NoSuchName);
        book.heard("", Said::NoSuchName);
        assert_eq!(status(&book, "a"), Status::Unknown);
        let reasons: Vec<_> = book
            .ruling()
            .reasons
            .into_iter()
            .map(|reason| reason.why)
            .collect();
        assert_eq!(reasons, ["the app's health has no name for a"]);
    }

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Heard(bool),
        Lost,
        Pass(u64),
    }

    proptest! {
        /// The rule itself, played against the book: the last state within the hold, else UNKNOWN.
        #[test]
        fn a_state_is_shown_only_while_it_counts(steps in prop::collection::vec(prop_oneof![
            any::<bool>().prop_map(Step::Heard), Just(Step::Lost), (0u64..20).prop_map(Step::Pass),
        ], 0..100)) {
            let mut book = book(&[""]);
            let (mut now, mut last, mut lost) = (Instant::now(), None, None::<Instant>);
            for step in steps {
                match step {
                    Step::Heard(serving) => {
                        let status = if serving { Status::Serving } else { Status::NotServing };
                        book.heard("", Said::Status(status));
                        (last, lost) = (Some(status), None);
                    }
                    Step::Lost => {
                        book.lost_all(String::new(), now);
                        lost = lost.or(Some(now));
                    }
                    Step::Pass(seconds) => now += Duration::from_secs(seconds),
                }
                if book.next_expiry().is_some_and(|expiry| expiry <= now) {
                    book.expire(now);
                }
                if lost.is_some_and(|lost| now >= lost + HOLD) {
                    last = None;
                }
                prop_assert_eq!(status(&book, ""), last.unwrap_or_default());
            }
        }
    }
}
