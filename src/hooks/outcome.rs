//! What has become of a hook.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Way;

/// A hook in `status` and in the termination message; the field names are stable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// The hook, like `consul web-1`.
    pub name: String,
    /// `onDrain` or `onResume`.
    pub on: String,
    /// How it stands.
    pub state: HookState,
    /// Tries so far.
    pub tries: u32,
    /// How long it took, or has taken, in milliseconds; null before it began and while it runs.
    pub millis: Option<u64>,
    /// Why the last try failed; null if it did not.
    pub why: Option<String>,
}

/// How a hook stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum HookState {
    /// It is being tried.
    Running,
    /// It was done.
    Done,
    /// It was given up.
    Failed,
    /// The other way was wanted before it was done, or the run ended.
    Abandoned,
}

impl Outcome {
    pub(super) fn running(name: &str, way: Way) -> Self {
        Self {
            name: name.to_owned(),
            on: way.key().to_owned(),
            state: HookState::Running,
            tries: 0,
            millis: None,
            why: None,
        }
    }

    pub(super) fn over(&mut self, state: HookState, lasted: Duration) {
        self.state = state;
        self.millis = Some(u64::try_from(lasted.as_millis()).unwrap_or(u64::MAX));
    }
}

/// What the hooks of a leaving came to, for the termination message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Hooks that did what they were for.
    pub done: usize,
    /// Hooks that did not, or not in time.
    pub failed: usize,
    /// The first of those, and why; null where there is none.
    pub first_failure: Option<String>,
}

/// Letters of a reason in the termination message, which has 4096 bytes for everything.
const LONGEST_REASON: usize = 200;

impl Summary {
    /// Of the hooks as they stand. What was done of coming back, or at the start, is no leaving.
    pub fn of(outcomes: &[Outcome]) -> Self {
        let leaving: Vec<&Outcome> = outcomes
            .iter()
            .filter(|outcome| outcome.on == Way::Out.key())
            .collect();
        let is_done = |outcome: &&Outcome| outcome.state == HookState::Done;
        let done = leaving.iter().copied().filter(is_done).count();
        let first = leaving.iter().find(|outcome| outcome.state != HookState::Done);
        Self {
            done,
            failed: leaving.len() - done,
            first_failure: first.map(|outcome| {
                let why = outcome.why.as_deref().unwrap_or("it was not done in time");
                let text = format!("{}: {why}", outcome.name);
                text.chars().take(LONGEST_REASON).collect()
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_names_the_first_failure_and_is_not_endless() {
        let mut done = Outcome::running("consul web-1", Way::Out);
        done.over(HookState::Done, Duration::from_millis(3));
        let mut failed = Outcome::running("http http://a/", Way::Out);
        failed.why = Some("x".repeat(10_000));
        failed.over(HookState::Failed, Duration::ZERO);
        let summary = Summary::of(&[done.clone(), failed, Outcome::running("exec a", Way::Out)]);
        assert_eq!((summary.done, summary.failed), (1, 2));
        let first = summary.first_failure.expect("a failure");
        assert!(first.starts_with("http http://a/: xxx") && first.len() == LONGEST_REASON);
        assert_eq!(Summary::of(&[done]).first_failure, None);
        assert_eq!(Summary::of(&[]), Summary::default());
        let others = [Way::Back, Way::Anew].map(|way| Outcome::running("consul web-1", way));
        assert_eq!(Summary::of(&others), Summary::default());
    }
}
