//! What the demo prints: plain text, in colour only on a terminal that has not asked for none.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use crate::act::{Act, Outcome};
use crate::balancer::LAG;
use crate::report::Report;

/// The printed page.
#[derive(Clone)]
pub struct Page {
    ink: Ink,
}

/// Whether colours are used (<https://no-color.org>).
#[derive(Clone, Copy)]
enum Ink {
    Coloured,
    Plain,
}

#[derive(Clone, Copy)]
enum Tone {
    Bold,
    Dim,
    Good,
    Bad,
}

impl Page {
    /// A page on standard output.
    pub fn new() -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let ink = if std::io::stdout().is_terminal() && !refused {
            Ink::Coloured
        } else {
            Ink::Plain
        };
        Self { ink }
    }

    /// What is about to be shown.
    pub fn opening(&self) {
        self.line(
            "One release of a gRPC service, twice: 4 connections, 40 calls a second, and a load balancer",
        );
        self.line(&format!(
            "that acts {:.1} s after it has learnt that a pod is going.",
            LAG.as_secs_f64()
        ));
    }

    /// The heading of an act.
    pub fn act(&self, act: Act) {
        self.line("");
        self.line(&self.toned(
            Tone::Bold,
            match act {
                Act::WithTidegate => "With tidegate: tidegate run -- library",
                Act::Without => "Without: library",
            },
        ));
    }

    /// One line of the timeline, at this moment.
    pub fn moment(&self, told: Instant, what: &str, more: &str) {
        self.entry(told.elapsed(), what, more);
    }

    /// The phases, from tidegate's own report.
    pub fn phases(&self, report: &Report) {
        let mut at = Duration::ZERO;
        for (name, length) in &report.phases {
            let what = match *name {
                "notify" => "readiness and every Watch turn NOT_SERVING",
                "propagation" => "the time load balancers need; nothing is refused",
                "inFlight" => "until the last call was over, and quiet",
                "stop" => "the program got its SIGTERM and ended",
                _ => "SIGKILL, and what was left",
            };
            let span = format!("{} to {}", seconds(at), seconds(at + *length));
            let line = format!("             {name:<12}{span:<20}    {what}");
            self.line(&self.toned(Tone::Dim, &line));
            at += *length;
        }
    }

    /// The end of the old pod.
    pub fn gone(&self, told: Instant, gone: Instant, report: Option<&Report>) {
        let more = match report {
            None => "and every call under way with it".to_owned(),
            Some(report) => {
                let verdict = report.verdict.as_deref().unwrap_or("no verdict");
                let left = report
                    .in_flight_at_stop
                    .map_or_else(|| "unknown".to_owned(), |left| left.to_string());
                let budget = report
                    .budget
                    .map(|budget| format!(", budget {}", seconds(budget)))
                    .unwrap_or_default();
                format!("verdict: {verdict}; in flight at the stop signal: {left}{budget}")
            }
        };
        self.entry(gone - told, "the old pod is gone", &more);
    }

    /// Both acts, side by side.
    pub fn side_by_side(&self, with: &Outcome, without: &Outcome) {
        self.line("");
        self.line(&self.toned(Tone::Bold, &row("", "with tidegate", "without")));
        let counts = |name: &str, of: fn(&Outcome) -> usize| {
            self.line(&row(name, &of(with).to_string(), &of(without).to_string()));
        };
        counts("calls begun", |outcome| outcome.tally.begun);
        counts("  finished by the old pod", |outcome| outcome.tally.by_old);
        counts("  finished by the next pod", |outcome| outcome.tally.by_next);
        counts("  cut half-way", |outcome| outcome.tally.cut);
        counts("  refused", |outcome| outcome.tally.refused);
        let mark = |lost: usize| if lost == 0 { Tone::Good } else { Tone::Bad };
        let lost = [with.tally.failed(), without.tally.failed()];
        let [left, right] = lost.map(|lost| self.toned(mark(lost), &format!("{lost:>15}")));
        self.line(&format!("{:<28}{left}{right}", "calls failed"));
        self.line(&row(
            "SIGTERM to gone",
            &seconds(with.gone_after),
            &seconds(without.gone_after),
        ));
        if with.report.is_none() {
            self.line("");
            self.line("tidegate left no termination message: its phases are not shown.");
        }
    }

    /// What went wrong, on standard error.
    pub fn failure(&self, why: &str) {
        let _ = writeln!(std::io::stderr(), "demo: {why}");
    }

    fn entry(&self, at: Duration, what: &str, more: &str) {
        self.line(&format!("  {:>9}  {what:<26}  {more}", seconds(at)));
    }

    /// Whoever reads may have gone (`make demo | head`): that is no reason to leave processes behind.
    fn line(&self, text: &str) {
        let _ = writeln!(std::io::stdout(), "{}", text.trim_end());
    }

    fn toned(&self, tone: Tone, text: &str) -> String {
        let code = match (self.ink, tone) {
            (Ink::Plain, _) => return text.to_owned(),
            (Ink::Coloured, Tone::Bold) => "1",
            (Ink::Coloured, Tone::Dim) => "2",
            (Ink::Coloured, Tone::Good) => "32",
            (Ink::Coloured, Tone::Bad) => "31",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

fn row(name: &str, left: &str, right: &str) -> String {
    format!("{name:<28}{left:>15}{right:>15}")
}

fn seconds(time: Duration) -> String {
    format!("{:.3} s", time.as_secs_f64())
}
