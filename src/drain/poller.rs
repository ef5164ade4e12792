//! Looking at the in-flight sources: one look after the other, and nothing before somebody asks.

use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tracing::{debug, info, warn};

use super::hands::Heard;
use super::quiet::{InFlight, Look};
use crate::inflight::{Reading, Sample, Sources, Unknown};
use crate::telemetry::metrics::Metrics;

/// The task that looks at the in-flight sources, one look after the other.
pub struct Poller {
    state: PollerState,
    last_unknown: Option<Unknown>,
    glimpsed: Option<InFlight>,
}

enum PollerState {
    /// Not started: nothing is dialled, and nobody wakes up, before a drain.
    Idle {
        sources: Sources,
        timeout: Duration,
    },
    Working {
        ask: mpsc::Sender<Instant>,
    },
}

impl Poller {
    /// Polls `sources`, each look within `timeout`.
    pub fn new(sources: Sources, timeout: Duration) -> Self {
        Self {
            state: PollerState::Idle { sources, timeout },
            last_unknown: None,
            glimpsed: None,
        }
    }

    /// What was seen when somebody last asked, outside a drain.
    pub(super) fn glimpsed(&self) -> Option<InFlight> {
        self.glimpsed
    }

    /// What is seen now; `None` while that is still to come.
    pub(super) fn note_glimpse(&mut self, in_flight: Option<InFlight>) {
        self.glimpsed = in_flight;
    }

    /// What a sample means to the machine; a reason for not knowing is logged once.
    pub(super) fn note(&mut self, begun: Instant, sample: Sample, metrics: &Metrics) -> Look {
        debug!(target: "inflight", reading = %sample.reading, "polled");
        let in_flight = match sample.reading {
            Reading::Count(count) => {
                if self.last_unknown.take().is_some() {
                    info!(target: "inflight", in_flight = count, "known again");
                }
                InFlight::Count(count)
            }
            Reading::Unknown(why) => {
                if self.last_unknown.as_ref() != Some(&why) {
                    warn!(target: "inflight", "unknown: {}", why.0);
                    self.last_unknown = Some(why);
                }
                InFlight::Unknown
            }
        };
        metrics.update(|numbers| match in_flight {
            InFlight::Count(count) => {
                numbers.in_flight = Some(count);
                numbers.polls_counted += 1;
            }
            InFlight::Unknown => {
                numbers.in_flight = None;
                numbers.polls_unknown += 1;
            }
        });
        Look {
            begun,
            in_flight,
            arrivals: sample.arrivals,
        }
    }

    /// Begins a look; the answer comes as [`Heard::Sample`].
    pub(super) fn look(&mut self, now: Instant, tell: &mpsc::Sender<Heard>) {
        if let PollerState::Idle { sources, timeout } = &mut self.state {
            let sources = std::mem::replace(sources, Sources::new(Vec::new()));
            let ask = start_polling(sources, *timeout, tell.clone());
            self.state = PollerState::Working { ask };
        }
        if let PollerState::Working { ask } = &self.state {
            // The machine asks for a look only when its last one was answered, and so does the desk:
            // there is room.
            let _ = ask.try_send(now);
        }
    }
}

fn start_polling(
    mut sources: Sources,
    timeout: Duration,
    tell: mpsc::Sender<Heard>,
) -> mpsc::Sender<Instant> {
    let (ask, mut asked) = mpsc::channel(2);
    tokio::spawn(async move {
        while let Some(begun) = asked.recv().await {
            let sample = sources.poll(timeout).await;
            if tell.send(Heard::Sample { begun, sample }).await.is_err() {
                return;
            }
        }
    });
    ask
}
