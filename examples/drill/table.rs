//! The table of a load balancer, in Markdown, and why calls failed behind it.

use crate::balancer::Balancer;
use crate::chaos::Chaos;
use crate::explain::summary;
use crate::figures::{Figures, Latency};
use crate::run::Outcome;

/// Prints it.
pub fn print(balancer: Balancer, outcomes: &[Outcome]) {
    println!("\n{}\n", balancer.title());
    println!(
        "| | calls | failed | p50/p95/p99/max before (ms) | in the release (ms) | p99 ratio | added p99 before → in the release (ms) | a restart (s) | wasted (s) |"
    );
    println!("| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    for outcome in outcomes {
        println!("{}", row(outcome));
    }
    for outcome in outcomes.iter().filter(|outcome| outcome.failed() > 0) {
        println!("\n{}:", outcome.contestant.title());
        for line in summary(outcome) {
            println!("- {line}");
        }
    }
}

/// Prints what came of something going wrong.
pub fn print_chaos(chaos: Chaos, outcome: &Outcome) {
    println!("\n{}: {}", chaos.name(), chaos.says());
    println!("- {} calls, {} failed", outcome.calls.len(), outcome.failed());
    for line in summary(outcome) {
        println!("- {line}");
    }
    for restart in &outcome.restarts {
        let lived = (restart.gone - restart.told).as_secs_f64();
        let said = restart
            .report
            .as_ref()
            .and_then(|report| report["message"].as_str());
        println!(
            "- {} lived on for {lived:.1} s: {}",
            restart.name,
            said.unwrap_or("it left no last words")
        );
    }
}

fn row(outcome: &Outcome) -> String {
    let figures = Figures::of(outcome);
    format!(
        "| {} | {} | {} | {} | {} | {:.2} | {:.1} → {:.1} | {:.1} | {:.1} |",
        outcome.contestant.title(),
        outcome.calls.len(),
        failed(outcome, &figures),
        latency(figures.baseline),
        latency(figures.window),
        figures.window.p99 / figures.baseline.p99,
        figures.added_baseline.p99,
        figures.added_window.p99,
        figures.restart,
        figures.wasted,
    )
}

fn failed(outcome: &Outcome, figures: &Figures) -> String {
    if figures.failed.is_empty() {
        return "0".to_owned();
    }
    let codes: Vec<_> = figures
        .failed
        .iter()
        .map(|(code, count)| format!("{count} {code}"))
        .collect();
    format!("**{}**: {}", outcome.failed(), codes.join(", "))
}

fn latency(latency: Latency) -> String {
    format!(
        "{:.0}/{:.0}/{:.0}/{:.0}",
        latency.p50, latency.p95, latency.p99, latency.max
    )
}
