//! `drain`: from the trigger to the stop signal.

use std::time::Duration;

use serde::de::MapAccess;

use crate::drain::machine::OnUnknown;

use super::super::entry::{Entry, Form, Key, Refusal, Scalar};
use super::super::reading::At;
use super::super::section::{Shape, required, section};
use super::super::signal::Trigger;

section! {
    /// `drain`: from the trigger to the stop signal.
    Drain {
        /// How long load balancers need to notice.
        propagation: Propagation = "propagation",
        /// How long in-flight has to stay quiet to be believed.
        quiet: Duration = "quiet",
        /// Up to so many calls under way are quiet.
        threshold: u64 = "threshold",
        /// From the begin of one poll to the begin of the next.
        poll_interval: Duration = "pollInterval",
        /// A slower poll is unknown.
        poll_timeout: Duration = "pollTimeout",
        /// What an unknown reading does.
        on_unknown: OnUnknown = "onUnknown",
        /// A gauge that stands still above the threshold for so long is reported.
        stalled_after: Duration = "stalledAfter",
        /// The signals that start the drain.
        triggers: Vec<Trigger> = "triggers",
    }
}

impl Shape for Drain {}

section! {
    /// `{min: 5s, max: 10s}`
    Range {
        /// It lasts this long, whatever is known.
        min: Duration = "min",
        /// It never lasts longer.
        max: Duration = "max",
    }
}

impl Shape for Range {}

/// `drain.propagation`: `5s`, which sets both ends, or `{min: 5s, max: 10s}`.
#[derive(Clone, Debug, Default)]
pub struct Propagation(pub Range);

impl Entry for Propagation {
    const EXPECTS: &'static str = "a duration like 5s, or {min: 5s, max: 10s}";

    fn scalar(written: Scalar<'_>) -> Result<Self, Refusal> {
        let window = Some(Duration::scalar(written)?);
        Ok(Self(Range {
            min: window,
            max: window,
        }))
    }

    fn mapping<'de, A: MapAccess<'de>>(at: &At<'_>, map: A) -> Result<Self, A::Error> {
        Range::mapping(at, map).map(Self)
    }

    fn merge(&mut self, later: Self) {
        self.0.merge(later.0);
    }

    fn assign(slot: &mut Option<Self>, steps: &[&str], text: &str) -> Result<(), Refusal> {
        if steps.is_empty() {
            *slot = Some(Self::scalar(Scalar::Text(text))?);
            return Ok(());
        }
        let mut range = slot.take().map(|Self(range)| range);
        let done = Range::assign(&mut range, steps, text);
        *slot = range.map(Self);
        done
    }

    fn holds(&self, steps: &[&str]) -> bool {
        self.0.holds(steps)
    }

    fn find(rest: &str, path: &mut String) -> Option<Form> {
        match rest {
            "" => Some(Form::Scalar),
            _ => Range::find(rest, path),
        }
    }

    fn list(path: &str, keys: &mut Vec<Key>) {
        keys.push(Key {
            path: path.to_owned(),
            form: Form::Scalar,
        });
        Range::list(path, keys);
    }
}

section! {
    /// `{proceedAfter: 10s}`
    Proceed {
        /// So long without a break.
        after: Duration = "proceedAfter",
    }
}

impl Shape for Proceed {
    fn shape(&self) -> Result<(), Refusal> {
        required("proceedAfter", &self.after)
    }
}

/// `drain.onUnknown`: `wait`, or `{proceedAfter: 10s}`.
impl Entry for OnUnknown {
    const EXPECTS: &'static str = "wait, or {proceedAfter: 10s}";

    fn scalar(written: Scalar<'_>) -> Result<Self, Refusal> {
        match written {
            Scalar::Text("wait") => Ok(Self::Wait),
            other => Err(Refusal::unexpected(Self::EXPECTS, &other.to_string())),
        }
    }

    fn mapping<'de, A: MapAccess<'de>>(at: &At<'_>, map: A) -> Result<Self, A::Error> {
        let after = Proceed::mapping(at, map)?.after;
        Ok(after.map_or(Self::Wait, Self::ProceedAfter))
    }

    fn assign(slot: &mut Option<Self>, steps: &[&str], text: &str) -> Result<(), Refusal> {
        *slot = Some(match steps {
            [] => Self::scalar(Scalar::Text(text))?,
            _ => {
                let mut proceed = None;
                Proceed::assign(&mut proceed, steps, text)?;
                let after = proceed.and_then(|proceed| proceed.after);
                after.map_or(Self::Wait, Self::ProceedAfter)
            }
        });
        Ok(())
    }

    fn find(rest: &str, path: &mut String) -> Option<Form> {
        match rest {
            "" => Some(Form::Scalar),
            _ => Proceed::find(rest, path),
        }
    }

    fn list(path: &str, keys: &mut Vec<Key>) {
        keys.push(Key {
            path: path.to_owned(),
            form: Form::Scalar,
        });
        Proceed::list(path, keys);
    }
}
