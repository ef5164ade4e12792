//! The release drill: three instances of the example server behind a real load balancer, a steady load, and each
//! instance in turn told to stop, waited for and started anew; once for each way people end their programs today, and
//! once under tidegate. `make drill` runs it; docs/drill.md says how to read what comes out.
//!
//! It exits with 1 when a call was lost under tidegate, or a step did not come about.

mod balancer;
mod chaos;
mod clients;
mod contestant;
mod endpoints;
mod envoy;
mod explain;
mod figures;
mod front;
mod haproxy;
mod http;
mod instance;
mod load;
#[path = "../../tests/support/patience.rs"]
#[allow(dead_code)]
mod patience;
mod picture;
#[path = "../../tests/support/ports.rs"]
#[allow(dead_code)]
mod ports;
#[path = "../demo/process.rs"]
mod process;
mod run;
mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use tokio::signal::unix::{SignalKind, signal};

use balancer::Balancer;
use chaos::Chaos;
use contestant::{Contestant, GRACE, Setup};
use run::{Outcome, Plan};

/// What did not come about, as a sentence.
type Failure = String;

/// A rolling restart under load, side by side.
#[derive(Parser)]
struct Options {
    /// The load balancers, one after another.
    #[arg(
        long,
        value_delimiter = ',',
        value_enum,
        default_value = "endpoints,health-checked,endpoints-late,client-side,haproxy"
    )]
    balancers: Vec<Balancer>,
    /// How the instances end, all of them at the same time on the same machine.
    #[arg(
        long,
        value_delimiter = ',',
        value_enum,
        default_value = "alone,tini,graceful,sleep,sleep-graceful,tidegate"
    )]
    contestants: Vec<Contestant>,
    /// Something goes wrong in the middle, instead: each of these, side by side, under tidegate.
    #[arg(long, value_delimiter = ',', value_enum)]
    chaos: Vec<Chaos>,
    /// Calls a second, of each contestant.
    #[arg(long, default_value_t = 150, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rate: u32,
    /// How long the load runs before the first restart, in seconds.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    baseline: u64,
    /// How often each instance is restarted.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rounds: u32,
    /// Restarts go on until so many calls have begun, of each contestant.
    #[arg(long, default_value_t = 0)]
    calls: u64,
    /// A picture of each load balancer's runs, as SVG: `drill-health-checked.svg` and so on, in this directory.
    #[arg(long, value_name = "DIRECTORY")]
    pictures: Option<PathBuf>,
    /// All that was measured, as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let options = Options::parse();
    let outcome = tokio::select! {
        outcome = drill(&options) => outcome,
        name = interrupted() => Err(format!("interrupted by {name}")),
    };
    // Whatever happened, what was started ended with its `process::Process`.
    match outcome {
        Ok(0) => ExitCode::SUCCESS,
        Ok(lost) => {
            eprintln!("drill: {lost} calls were lost under tidegate: there should be none");
            ExitCode::FAILURE
        }
        Err(failure) => {
            eprintln!("drill: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// All of it, and how many calls were lost under tidegate.
async fn drill(options: &Options) -> Result<usize, Failure> {
    can_be_written(options)?;
    let plan = Plan {
        rate: options.rate,
        baseline: Duration::from_secs(options.baseline),
        rounds: options.rounds,
        calls: options.calls,
    };
    if !options.chaos.is_empty() {
        return chaotic(options, plan).await;
    }
    let mut outcomes = Vec::new();
    for &balancer in &options.balancers {
        eprintln!("drill: {}", balancer.title());
        let side_by_side = options.contestants.iter().map(|&contestant| {
            let setup = Setup {
                balancer,
                contestant,
                grace: GRACE,
            };
            tokio::spawn(run::play(setup, plan))
        });
        let side_by_side: Vec<_> = side_by_side.collect();
        let mut played = Vec::new();
        for (task, contestant) in side_by_side.into_iter().zip(&options.contestants) {
            let outcome = task
                .await
                .map_err(|error| error.to_string())
                .and_then(|outcome| outcome);
            let title = contestant.title();
            played.push(outcome.map_err(|failure| format!("{}, {title}: {failure}", balancer.title()))?);
        }
        table::print(balancer, &played);
        if let Some(directory) = &options.pictures {
            let file = directory.join(format!("drill-{}.svg", balancer.name()));
            write(&file, &picture::svg(balancer, &played))?;
        }
        outcomes.extend(played);
    }
    if let Some(file) = &options.json {
        write(file, &figures::json(&outcomes))?;
    }
    Ok(outcomes
        .iter()
        .filter(|outcome| outcome.contestant == Contestant::Tidegate)
        .map(Outcome::failed)
        .sum())
}

/// The chaos forms, side by side. What they lose is theirs to lose.
async fn chaotic(options: &Options, plan: Plan) -> Result<usize, Failure> {
    let side_by_side = options
        .chaos
        .iter()
        .map(|&chaos| tokio::spawn(chaos::play(chaos, plan.rate, plan.baseline)));
    let side_by_side: Vec<_> = side_by_side.collect();
    let mut played = Vec::new();
    for (task, &chaos) in side_by_side.into_iter().zip(&options.chaos) {
        let outcome = task
            .await
            .map_err(|error| error.to_string())
            .and_then(|outcome| outcome);
        played.push((
            chaos,
            outcome.map_err(|failure| format!("{}: {failure}", chaos.name()))?,
        ));
    }
    for (chaos, outcome) in &played {
        table::print_chaos(*chaos, outcome);
    }
    if let Some(file) = &options.json {
        let outcomes: Vec<_> = played.into_iter().map(|(_, outcome)| outcome).collect();
        write(file, &figures::json(&outcomes))?;
    }
    Ok(0)
}

/// What would be found out only after minutes.
fn can_be_written(options: &Options) -> Result<(), Failure> {
    if let Some(directory) = &options.pictures {
        std::fs::create_dir_all(directory)
            .map_err(|error| format!("cannot make {}: {error}", directory.display()))?;
    }
    options.json.as_deref().map_or(Ok(()), |file| write(file, ""))
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(file, text).map_err(|error| format!("cannot write {}: {error}", file.display()))
}

/// Waits for a signal that asks the drill itself to end, and names it.
async fn interrupted() -> &'static str {
    let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        // Without handlers the default action ends the drill, which is as good.
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => "SIGINT",
        _ = terminate.recv() => "SIGTERM",
    }
}
