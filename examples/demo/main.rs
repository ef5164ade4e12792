//! One release, twice: the same program, the same clients, the same load balancer that notices late; once under
//! tidegate and once without. `make demo` runs it.
//!
//! It takes about 20 seconds, uses free ports on the loopback, leaves nothing running, and exits with 1 when a
//! call was lost under tidegate or a step did not come about.

mod act;
mod balancer;
mod load;
mod page;
mod pod;
mod process;
mod report;

use std::process::ExitCode;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};

use act::Act;
use page::Page;

/// What did not come about, as a sentence.
type Failure = String;

/// Both acts take about 8 and 4 seconds; a machine that needs longer than this is not worth waiting for.
const PATIENCE: Duration = Duration::from_secs(38);

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let page = Page::new();
    let outcome = tokio::select! {
        outcome = tokio::time::timeout(PATIENCE, both_acts(&page)) => outcome
            .unwrap_or_else(|_| Err(format!("it is not over after {} s", PATIENCE.as_secs()))),
        name = interrupted() => Err(format!("interrupted by {name}")),
    };
    // Whatever happened, the processes of an act ended with it: `process::Process` kills what it started when dropped.
    match outcome {
        Ok(0) => ExitCode::SUCCESS,
        Ok(lost) => {
            page.failure(&format!(
                "{lost} calls were lost under tidegate: there should be none"
            ));
            ExitCode::FAILURE
        }
        Err(failure) => {
            page.failure(&failure);
            ExitCode::FAILURE
        }
    }
}

/// Plays both acts, puts them side by side and says how many calls were lost under tidegate.
async fn both_acts(page: &Page) -> Result<usize, Failure> {
    page.opening();
    let with = act::play(Act::WithTidegate, Duration::ZERO, page)
        .await
        .map_err(|failure| format!("with tidegate: {failure}"))?;
    let without = act::play(Act::Without, with.loaded_for, page)
        .await
        .map_err(|failure| format!("without tidegate: {failure}"))?;
    page.side_by_side(&with, &without);
    Ok(with.tally.failed())
}

/// Waits for a signal that asks the demo itself to end, and names it.
async fn interrupted() -> &'static str {
    let (Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)) = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
        signal(SignalKind::hangup()),
    ) else {
        // Without handlers the default action ends the demo, which is as good.
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => "SIGINT",
        _ = terminate.recv() => "SIGTERM",
        _ = hangup.recv() => "SIGHUP",
    }
}
