//! `tidegate inflight`: what do the in-flight sources say now?
//!
//! The same polls as in a drain, by the same code, told one source a line.

use std::io::{self, Write};
use std::time::{Duration, Instant, SystemTime};

use tokio::runtime::Builder;

use super::args::Times;
use crate::child::{ENDING, Inherited, Reaper, Role, Signals};
use crate::config::Settings;
use crate::inflight::{Part, Reading, Sample, Sources, Unknown};

/// How the last poll came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The sum is known.
    Known = 0,
    /// It is not.
    Unknown = 1,
}

impl Outcome {
    /// The exit code.
    pub fn code(self) -> u8 {
        self as u8
    }

    fn of(sample: &Sample) -> Self {
        match sample.reading {
            Reading::Count(_) => Self::Known,
            Reading::Unknown(_) => Self::Unknown,
        }
    }
}

/// Why nothing was polled, or polling broke off.
#[derive(Debug, thiserror::Error)]
pub enum InflightError {
    /// Nothing is configured.
    #[error("inflight: no source; name a --config FILE that has one, or --inflight-url and --inflight-query")]
    NoSource,
    /// What the kernel refused, or stdout.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Polls the sources once or until a signal ends it, and prints what they say.
///
/// # Errors
/// [`InflightError`]
pub fn run(
    settings: &Settings,
    inherited: Inherited,
    times: Times,
    out: &mut impl Write,
) -> Result<Outcome, InflightError> {
    if settings.inflight.is_empty() {
        return Err(InflightError::NoSource);
    }
    let reaper = Reaper::open(inherited, Role::take())?;
    let mut signals = Signals::open()?;
    let sources = Sources::new(settings.inflight.clone())
        .started_by(&reaper.spawner())
        .explaining();
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let outcome = runtime.block_on(async {
        tokio::spawn(reaper.run());
        let mut desk = Desk {
            sources,
            timeout: settings.drain.poll_timeout,
            times,
            out,
            outcome: Outcome::Unknown,
        };
        tokio::select! {
            polled = desk.work(settings.drain.poll_interval) => polled?,
            ended = ended(&mut signals) => ended?,
        }
        Ok(desk.outcome)
    });
    // Dropping it would wait for a name lookup that hangs.
    runtime.shutdown_background();
    outcome
}

/// Waits for a signal that ends programs. They are all blocked: it is for us to end.
async fn ended(signals: &mut Signals) -> io::Result<()> {
    while !ENDING.contains(&signals.next().await?.signal) {}
    Ok(())
}

/// Where the polls are made and told.
struct Desk<'o, W> {
    sources: Sources,
    timeout: Duration,
    times: Times,
    out: &'o mut W,
    outcome: Outcome,
}

impl<W: Write> Desk<'_, W> {
    async fn work(&mut self, interval: Duration) -> io::Result<()> {
        let mut beat = tokio::time::interval(interval);
        beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            beat.tick().await;
            let (parts, sample) = self.sources.survey(self.timeout, Instant::now).await;
            self.outcome = Outcome::of(&sample);
            let told = told(&parts, &sample, self.stamp());
            if let Err(why) = self
                .out
                .write_all(told.as_bytes())
                .and_then(|()| self.out.flush())
            {
                // Nobody reads on, as with `| head`.
                return if why.kind() == io::ErrorKind::BrokenPipe {
                    Ok(())
                } else {
                    Err(why)
                };
            }
            if self.times == Times::Once {
                return Ok(());
            }
        }
    }

    fn stamp(&self) -> String {
        match self.times {
            Times::Once => String::new(),
            Times::Repeatedly => format!("{} ", humantime::format_rfc3339_millis(SystemTime::now())),
        }
    }
}

/// A line a source, and one for the sum where that says more.
fn told(parts: &[Part], sample: &Sample, stamp: String) -> String {
    let mut lines = String::new();
    for part in parts {
        let arrivals = match &part.arrivals {
            None => String::new(),
            Some(Ok(count)) => format!(", {count} begun"),
            Some(Err(why)) => format!(", begun: {}", unknown(&part.name, why)),
        };
        let note = part
            .note
            .as_ref()
            .map_or(String::new(), |note| format!("; {note}"));
        let millis = part.took.as_secs_f64() * 1000.0;
        let reading = match &part.reading {
            Reading::Unknown(why) => unknown(&part.name, why),
            reading => reading.to_string(),
        };
        let line = format!("{}: {reading}{arrivals}, in {millis:.1}ms{note}", part.name);
        push_line(&mut lines, &stamp, &line);
    }
    let sum = match &sample.reading {
        Reading::Count(count) => format!("sum: {count}"),
        // Why stands above.
        Reading::Unknown(_) => "sum: unknown".to_owned(),
    };
    push_line(&mut lines, &stamp, &sum);
    lines
}

/// Why it is not known, less the source's name, which the line begins with.
fn unknown(name: &str, why: &Unknown) -> String {
    let why = why
        .0
        .strip_prefix(name)
        .and_then(|rest| rest.strip_prefix(": "))
        .unwrap_or(&why.0);
    format!("unknown ({why})")
}

/// What a page or a user wrote may hold line breaks; a line stays a line.
fn push_line(lines: &mut String, stamp: &str, line: &str) {
    lines.push_str(stamp);
    lines.extend(line.chars().map(|c| if c.is_control() { ' ' } else { c }));
    lines.push('\n');
}
