//! All sources together: polled at once, added up.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use super::prometheus::{Prometheus, PrometheusConfig};
use super::{Reading, Sample, Unknown};

/// A source of the number of calls under way, validated.
#[derive(Clone, Debug)]
pub enum SourceConfig {
    /// A query over the metrics a program exposes.
    Prometheus(PrometheusConfig),
}

/// The sources at work, with their connections.
pub struct Sources {
    sources: Vec<Source>,
}

enum Source {
    Prometheus(Box<Prometheus>),
}

/// What one source said.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Measured {
    pub reading: Reading,
    pub arrivals: Arrivals,
}

/// The calls a source saw begin.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Arrivals {
    /// It does not count them.
    NotCounted,
    /// It should, and could not, and why.
    Unknown(Unknown),
    /// So many, ever.
    Counted(f64),
}

impl Sources {
    /// Makes the sources ready. Nothing is dialled before the first poll.
    pub fn new(configs: Vec<SourceConfig>) -> Self {
        let sources = configs
            .into_iter()
            .map(|SourceConfig::Prometheus(config)| Source::Prometheus(Box::new(Prometheus::new(config))));
        Self {
            sources: sources.collect(),
        }
    }

    /// Whether nothing was configured: the calls under way are then not unknown but `unmeasured`.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// Asks every source at once; each has the whole of `timeout`.
    ///
    /// `&mut self` is why polls never overlap. A poll may be dropped at any point: what was on
    /// its way is then never taken for the next one's answer.
    pub async fn poll(&mut self, timeout: Duration) -> Sample {
        let polls = self
            .sources
            .iter_mut()
            .map(|source| Box::pin(source.poll(timeout)));
        sum(all(polls.collect()).await)
    }
}

impl Source {
    async fn poll(&mut self, timeout: Duration) -> Measured {
        match self {
            Self::Prometheus(source) => source.poll(timeout).await,
        }
    }
}

/// Runs futures side by side, in this task, and gives their outputs in order.
async fn all<F: Future>(mut futures: Vec<Pin<Box<F>>>) -> Vec<F::Output> {
    let mut outputs: Vec<Option<F::Output>> = futures.iter().map(|_| None).collect();
    poll_fn(|context| {
        let mut ready = true;
        for (future, output) in futures.iter_mut().zip(&mut outputs) {
            if output.is_none() {
                match future.as_mut().poll(context) {
                    Poll::Ready(value) => *output = Some(value),
                    Poll::Pending => ready = false,
                }
            }
        }
        if ready { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    outputs.into_iter().flatten().collect()
}

/// One unknown makes the sum unknown, and so does a counter of arrivals that could not be read:
/// without it a gauge that misses short calls would be believed, and nobody would know.
/// Arrivals are the sum of those that are counted, if all of them are known.
fn sum(measured: Vec<Measured>) -> Sample {
    let mut count = 0u64;
    let mut unknown = Vec::new();
    let mut arrivals = Arrivals::NotCounted;
    for Measured {
        reading,
        arrivals: theirs,
    } in measured
    {
        match (reading, &theirs) {
            (Reading::Unknown(Unknown(why)), _) => unknown.push(why),
            (Reading::Count(_), Arrivals::Unknown(Unknown(why))) => unknown.push(format!("arrivals: {why}")),
            (Reading::Count(calls), _) => count = count.saturating_add(calls),
        }
        arrivals = match (arrivals, theirs) {
            (lost @ Arrivals::Unknown(_), _) | (_, lost @ Arrivals::Unknown(_)) => lost,
            (sum, Arrivals::NotCounted) => sum,
            (Arrivals::NotCounted, counted) => counted,
            (Arrivals::Counted(sum), Arrivals::Counted(more)) => Arrivals::Counted(sum + more),
        };
    }
    Sample {
        reading: if unknown.is_empty() {
            Reading::Count(count)
        } else {
            Reading::unknown(unknown.join("; "))
        },
        arrivals: match arrivals {
            Arrivals::Counted(sum) => Some(sum),
            Arrivals::NotCounted | Arrivals::Unknown(_) => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(reading: Reading, arrivals: Arrivals) -> Measured {
        Measured { reading, arrivals }
    }

    #[test]
    fn one_unknown_makes_the_sum_unknown() {
        let sample = sum(vec![
            measured(Reading::Count(0), Arrivals::Counted(1.0)),
            measured(Reading::unknown("a"), Arrivals::Unknown(Unknown("a".into()))),
            measured(Reading::unknown("b"), Arrivals::NotCounted),
        ]);
        assert_eq!(
            sample,
            Sample {
                reading: Reading::unknown("a; b"),
                arrivals: None
            }
        );
    }

    #[test]
    fn arrivals_that_cannot_be_read_make_the_sum_unknown() {
        let sample = sum(vec![
            measured(Reading::Count(0), Arrivals::Counted(1.0)),
            measured(Reading::Count(0), Arrivals::Unknown(Unknown("why".into()))),
        ]);
        assert_eq!(
            sample,
            Sample {
                reading: Reading::unknown("arrivals: why"),
                arrivals: None
            }
        );
    }

    #[test]
    fn counts_and_arrivals_add_up() {
        let sample = sum(vec![
            measured(Reading::Count(2), Arrivals::Counted(10.0)),
            measured(Reading::Count(u64::MAX), Arrivals::NotCounted),
            measured(Reading::Count(3), Arrivals::Counted(5.0)),
        ]);
        assert_eq!(
            sample,
            Sample {
                reading: Reading::Count(u64::MAX),
                arrivals: Some(15.0)
            }
        );
    }
}
