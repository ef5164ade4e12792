//! What those who follow see: a live line on a terminal, one line a change anywhere else.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::colour::Colours;
use super::story;
use crate::drain::status::Status;

/// From one redraw of the countdown to the next.
pub(super) const TICK: Duration = Duration::from_millis(100);

/// Stdout, in one way or the other.
pub(super) enum Screen {
    /// A terminal: one line that is drawn over.
    Live {
        bar: ProgressBar,
        last: Option<(Box<Status>, Instant)>,
    },
    /// A pipe or a file.
    Lines { last: String },
}

/// Nobody reads stdout any more.
pub(super) struct Closed;

impl Screen {
    pub fn of_stdout() -> Self {
        if ProgressDrawTarget::stdout().is_hidden() || !io::stdout().is_terminal() {
            return Self::Lines { last: String::new() };
        }
        // Hidden until there is something to show: each setting is drawn at once.
        let bar = ProgressBar::hidden();
        Self::Live { bar, last: None }
    }

    /// Whether it wants to be redrawn each [`TICK`].
    pub fn is_live(&self) -> bool {
        matches!(self, Self::Live { .. })
    }

    /// Shows what was heard at `now`.
    pub fn show(&mut self, status: Box<Status>, now: Instant) -> Result<(), Closed> {
        match self {
            Self::Live { last, .. } => {
                *last = Some((status, now));
                self.redraw(now);
                Ok(())
            }
            Self::Lines { last } => {
                let line = story::line(&status.facts);
                if line == *last {
                    return Ok(());
                }
                let text = match status.times.time_left_millis {
                    Some(left) => format!("{line}; {} left\n", story::seconds(left)),
                    None => format!("{line}\n"),
                };
                *last = line;
                io::stdout().write_all(text.as_bytes()).map_err(|_| Closed)
            }
        }
    }

    /// Lets the countdown go on.
    pub fn redraw(&mut self, now: Instant) {
        let Self::Live {
            bar,
            last: Some((status, heard)),
        } = self
        else {
            return;
        };
        let passed = now.saturating_duration_since(*heard).as_millis() as u64;
        let times = &status.times;
        let line = story::line(&status.facts);
        match (times.spent_millis, times.time_left_millis) {
            (Some(spent), Some(left)) => {
                bar.set_style(style("{spinner:.cyan} {msg} [{bar:24.cyan}] {prefix}"));
                bar.set_length(times.budget_millis.max(1));
                bar.set_position(spent + passed.min(left));
                bar.set_prefix(format!("{} left", story::seconds(left.saturating_sub(passed))));
            }
            _ => {
                bar.set_style(style("{spinner:.cyan} {msg} {prefix}"));
                let held = times.held_millis.map(|held| story::seconds(held + passed));
                bar.set_prefix(held.map_or(String::new(), |held| format!("for {held}")));
            }
        }
        bar.set_message(line);
        if bar.is_hidden() {
            bar.set_draw_target(ProgressDrawTarget::stdout());
        }
        bar.tick();
    }

    /// What a live line said last: drawn over, it would be lost with its verdict.
    pub fn lost(&self) -> Option<String> {
        match self {
            Self::Live { last, .. } => last.as_ref().map(|(status, _)| story::line(&status.facts)),
            Self::Lines { .. } => None,
        }
    }

    /// The last words. On a terminal they take the live line's place.
    pub fn end(self, text: &str) {
        if let Self::Live { bar, .. } = &self {
            bar.finish_and_clear();
        }
        super::asking::print(text);
    }
}

fn style(template: &str) -> ProgressStyle {
    let template = match Colours::of_stdout() {
        Colours::Yes => template.to_owned(),
        Colours::No => template.replace(".cyan", ""),
    };
    ProgressStyle::with_template(&template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ")
}
