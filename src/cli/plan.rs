//! `tidegate plan`: the timeline that a config gives, drawn to scale.

use std::fmt::Write;
use std::time::Duration;

use crate::config::Settings;
use crate::drain::budget::{Plan, Seconds, Waits};

/// Columns of the drawing itself; the words stand beside it, so that a line stays below 120.
const COLUMNS: usize = 48;

/// One bar of the drawing.
struct Bar {
    name: &'static str,
    /// What is certain of it.
    sure: Span,
    /// Up to where it may last.
    at_most: Duration,
    fill: char,
    says: String,
}

#[derive(Clone, Copy)]
struct Span {
    from: Duration,
    to: Duration,
}

/// The drawing of `settings`, with the sums.
pub fn draw(settings: &Settings) -> String {
    let plan = &settings.plan;
    let mut text = head(settings);
    for bar in bars(settings) {
        line(&mut text, plan, &bar);
    }
    scale(&mut text, plan);
    sums(&mut text, settings);
    for warning in settings.warnings() {
        let _ = writeln!(text, "\nNote: {warning}");
    }
    text
}

fn head(settings: &Settings) -> String {
    let plan = &settings.plan;
    format!(
        "terminationGracePeriodSeconds {}, of which {} may be used\n\n",
        Seconds(plan.grace.0),
        Seconds(plan.budget.0)
    )
}

/// The phases in their order. Time 0 is the trigger; a hook that cannot be seen came before it.
fn bars(settings: &Settings) -> Vec<Bar> {
    let plan = &settings.plan;
    let budget = plan.budget.0;
    let kill = budget.saturating_sub(plan.kill_wait);
    let bound = kill.saturating_sub(plan.stop_timeout);
    let mut bars = Vec::new();
    if plan.waits == Waits::Kept {
        bars.push(propagation(plan, bound));
        bars.push(in_flight(settings, bound));
    }
    bars.push(stop(settings, bound, kill));
    bars.push(Bar {
        name: "kill",
        sure: Span {
            from: kill,
            to: budget,
        },
        at_most: budget,
        fill: '█',
        says: format!("SIGKILL, the dead reaped, the report: {}", Seconds(budget - kill)),
    });
    bars.push(Bar {
        name: "margin",
        sure: Span {
            from: budget,
            to: plan.grace.0.max(budget),
        },
        at_most: plan.grace.0,
        fill: '·',
        says: "never used; at its end the kubelet kills".to_owned(),
    });
    bars
}

fn stop(settings: &Settings, bound: Duration, kill: Duration) -> Bar {
    let plan = &settings.plan;
    let (from, when) = match (plan.waits, settings.inflight.is_empty()) {
        (Waits::Skipped, _) => (Duration::ZERO, "here"),
        (Waits::Kept, true) => (plan.propagation.min, "here"),
        (Waits::Kept, false) => (bound, "here at the latest"),
    };
    let signal = settings.child.stop_signal;
    Bar {
        name: "stop",
        sure: Span { from, to: kill },
        at_most: kill,
        fill: '█',
        says: format!(
            "{signal} {when}; SIGKILL {} later",
            Seconds(kill.saturating_sub(from))
        ),
    }
}

fn propagation(plan: &Plan, bound: Duration) -> Bar {
    let window = plan.propagation;
    let says = match window.max > window.min {
        true => format!(
            "{} to {}: until everyone who asks has been told; the program serves on",
            Seconds(window.min),
            Seconds(window.max)
        ),
        false => format!(
            "{}: load balancers notice; the program serves on",
            Seconds(window.min)
        ),
    };
    Bar {
        name: "propagation",
        sure: Span {
            from: Duration::ZERO,
            to: window.min,
        },
        at_most: window.max.min(bound),
        fill: '█',
        says,
    }
}

fn in_flight(settings: &Settings, bound: Duration) -> Bar {
    let plan = &settings.plan;
    let from = plan.propagation.min;
    let most = bound.saturating_sub(from);
    let says = match settings.inflight.is_empty() {
        true => "no source: the stop signal comes at once".to_owned(),
        false => format!(
            "until quiet for {}, {} at most",
            Seconds(plan.quiet),
            Seconds(most)
        ),
    };
    let least = if settings.inflight.is_empty() {
        Duration::ZERO
    } else {
        plan.quiet.min(most)
    };
    let at_most = if settings.inflight.is_empty() { from } else { bound };
    Bar {
        name: "in-flight",
        sure: Span {
            from,
            to: from + least,
        },
        at_most,
        fill: '█',
        says,
    }
}

fn line(text: &mut String, plan: &Plan, bar: &Bar) {
    let whole = plan.grace.0.max(plan.budget.0);
    let column = |at: Duration| match whole.is_zero() {
        true => 0,
        false => (at.as_secs_f64() / whole.as_secs_f64() * COLUMNS as f64).round() as usize,
    };
    let (from, to) = (column(bar.sure.from), column(bar.sure.to));
    // However short, what happens is seen.
    let to = if bar.sure.to > bar.sure.from {
        to.max(from + 1)
    } else {
        to
    };
    let most = column(bar.at_most).max(to);
    let mut drawing = " ".repeat(from);
    drawing.extend(std::iter::repeat_n(bar.fill, to - from));
    drawing.push_str(&"░".repeat(most - to));
    let _ = writeln!(text, "  {:<12}{drawing:<COLUMNS$}  {}", bar.name, bar.says);
}

/// The times at which phases begin at the latest, below the drawing.
fn scale(text: &mut String, plan: &Plan) {
    let end = Seconds(plan.grace.0).to_string();
    let gap = COLUMNS.saturating_sub("0s".len() + end.len());
    let _ = writeln!(text, "  {:<12}0s{}{end}\n", "", " ".repeat(gap));
}

fn sums(text: &mut String, settings: &Settings) {
    let plan = &settings.plan;
    let mut parts = Vec::new();
    if plan.waits == Waits::Kept {
        parts.push(("drain.propagation", plan.propagation.min));
    }
    parts.push(("child.stopTimeout", plan.stop_timeout));
    parts.push(("child.killWait", plan.kill_wait));
    let sum: Duration = parts.iter().map(|(_, part)| *part).sum();
    let spelt: Vec<_> = parts
        .iter()
        .map(|(name, part)| format!("{name} {}", Seconds(*part)))
        .collect();
    let _ = writeln!(
        text,
        "{} = {}, within {}",
        spelt.join(" + "),
        Seconds(sum),
        Seconds(plan.budget.0)
    );
    let stop = plan.propagation.min;
    let bound = plan.budget.0.saturating_sub(plan.kill_wait + plan.stop_timeout);
    let _ = match (plan.waits, settings.inflight.is_empty()) {
        (Waits::Skipped, _) => {
            writeln!(
                text,
                "The grace period is too short for any wait: the stop signal comes at once."
            )
        }
        (Waits::Kept, true) => writeln!(
            text,
            "The stop signal comes after {}, calls or no calls: without an in-flight source nobody knows.",
            Seconds(stop)
        ),
        (Waits::Kept, false) => writeln!(
            text,
            "An idle pod gets its stop signal after {}, a busy one after {} at the latest.",
            Seconds(stop + plan.quiet),
            Seconds(bound)
        ),
    };
}
