//! A status in words: one line for those who follow, a few for those who ask.

use std::time::Duration;

use super::colour::{Colour, Colours};
use crate::drain::status::{Facts, Status};
use crate::drain::table::Phase;
use crate::hooks::{HookState, Outcome, Way};

/// What is going on, without the time: it changes when there is news.
pub(super) fn line(facts: &Facts) -> String {
    let name = &facts.phase;
    match facts.known_phase() {
        Some(Phase::Serving | Phase::Held) => match facts.in_flight {
            Some(count) => format!("{name}: {}", calls(count)),
            None => name.clone(),
        },
        Some(Phase::Notify | Phase::Propagation) => match told(facts) {
            Some(told) => format!("{name}: {told}"),
            None => format!("{name}: nobody asks for health"),
        },
        Some(Phase::InFlight) => match facts.in_flight {
            Some(count) if facts.stalled => format!("{name}: stands still at {}", calls(count)),
            Some(count) => format!("{name}: {}", calls(count)),
            None => format!("{name}: unknown how many calls are under way"),
        },
        Some(Phase::Stop | Phase::Kill | Phase::Leftovers | Phase::Over) => {
            format!("{name}: {}", facts.ending())
        }
        Some(Phase::Starting) | None => name.clone(),
    }
}

fn calls(count: u64) -> String {
    match count {
        1 => "1 call under way".to_owned(),
        count => format!("{count} calls under way"),
    }
}

fn told(facts: &Facts) -> Option<String> {
    let told = &facts.propagation;
    let of = |told, all, whom: &str| (all > 0).then(|| format!("{told} of {all} {whom}"));
    let both = [
        of(told.watchers_told, told.watchers, "watchers"),
        of(told.probers_told, told.probers, "probers"),
    ];
    let both: Vec<_> = both.into_iter().flatten().collect();
    (!both.is_empty()).then(|| format!("{} told", both.join(", ")))
}

/// `3.2 s`
pub(super) fn seconds(millis: u64) -> String {
    format!("{:.1} s", Duration::from_millis(millis).as_secs_f64())
}

/// A few aligned lines.
pub(super) fn page(status: &Status, colours: Colours) -> String {
    let (facts, times) = (&status.facts, &status.times);
    let mut rows = vec![
        (
            "tidegate",
            format!("{}, up {}", status.version, seconds(times.uptime_millis)),
        ),
        ("child", child(facts)),
        ("phase", colours.paint(colour(facts), &since(status))),
    ];
    if let (Some(spent), Some(left)) = (times.spent_millis, times.time_left_millis) {
        let (spent, left, budget) = (seconds(spent), seconds(left), seconds(times.budget_millis));
        rows.push(("time", format!("{spent} of {budget} spent, {left} left")));
    }
    let in_flight = facts
        .in_flight
        .map_or("unknown".to_owned(), |count| count.to_string());
    rows.push((
        "in-flight",
        match facts.unknown_polls {
            0 => in_flight,
            1 => format!("{in_flight} (1 poll gave no count)"),
            polls => format!("{in_flight} ({polls} polls gave no count)"),
        },
    ));
    rows.push(("told", audience(facts)));
    for (name, state) in &facts.services {
        rows.push((
            "health",
            format!("{} {state}", if name.is_empty() { "\"\"" } else { name }),
        ));
    }
    rows.extend(facts.hooks.iter().map(|outcome| ("hook", hook(outcome))));
    if let Some(why) = &facts.not_ready {
        rows.push(("not ready", why.clone()));
    }
    if let Some(verdict) = &facts.verdict {
        rows.push(("verdict", verdict.clone()));
    }
    let row = |(name, text): (&str, String)| {
        let text: String = text.chars().filter(|&c| !c.is_control() || c == '\x1b').collect();
        format!("{} {text}\n", colours.paint(Colour::Dim, &format!("{name:<10}")))
    };
    rows.into_iter().map(row).collect()
}

fn hook(outcome: &Outcome) -> String {
    let state = match outcome.state {
        HookState::Running => "running",
        HookState::Done => "done",
        HookState::Failed => "failed",
        HookState::Abandoned => "abandoned",
    };
    let name = match outcome.on == Way::Anew.key() {
        true => format!("{}, at the start", outcome.name),
        false => outcome.name.clone(),
    };
    match &outcome.why {
        Some(why) => format!("{name}: {state}, try {}: {why}", outcome.tries),
        None => format!("{name}: {state}"),
    }
}

fn child(facts: &Facts) -> String {
    let pid = match facts.child.pid {
        Some(pid) => format!("pid {pid}"),
        None if facts.sidecar => "in the container beside".to_owned(),
        None => "not known".to_owned(),
    };
    match &facts.child.end {
        Some(end) => format!("{pid}, {end}"),
        None => pid,
    }
}

fn since(status: &Status) -> String {
    let facts = &status.facts;
    match (&facts.trigger, status.times.held_millis) {
        (Some(trigger), _) => format!("{}, stopped by {trigger}", facts.phase),
        (None, Some(held)) => format!("{} for {}", facts.phase, seconds(held)),
        (None, None) => facts.phase.clone(),
    }
}

fn audience(facts: &Facts) -> String {
    let who = match told(facts) {
        Some(told) if facts.known_phase() >= Some(Phase::Held) => told,
        _ => {
            let listening = &facts.propagation;
            format!(
                "{} watchers and {} probers listen",
                listening.watchers, listening.probers
            )
        }
    };
    match facts.propagation.untold.as_slice() {
        [] => who,
        untold => format!("{who}; not yet {}", untold.join(", ")),
    }
}

fn colour(facts: &Facts) -> Colour {
    match facts.known_phase() {
        Some(Phase::Serving) => Colour::Green,
        Some(Phase::Held) => Colour::Yellow,
        _ => Colour::Cyan,
    }
}
