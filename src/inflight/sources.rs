//! All sources together: polled at once, added up.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use super::exec::{Exec, ExecConfig};
use super::file::{File, FileConfig};
use super::json::{Json, JsonConfig};
use super::prometheus::{Prometheus, PrometheusConfig};
use super::stub_status::{StubStatus, StubStatusConfig};
use super::tcp::{Tcp, TcpConfig};
use super::{Reading, Sample, Unknown};
use crate::child::Spawner;

/// A source of the number of calls under way, validated.
#[derive(Clone, Debug)]
pub enum SourceConfig {
    /// A query over the metrics a program exposes.
    Prometheus(PrometheusConfig),
    /// A number in a JSON document.
    Json(JsonConfig),
    /// The kernel's socket table.
    Tcp(TcpConfig),
    /// A program that prints the number.
    Exec(ExecConfig),
    /// A file that holds the number.
    File(FileConfig),
    /// nginx's `stub_status` page.
    StubStatus(StubStatusConfig),
}

/// The sources at work, with their connections.
pub struct Sources {
    sources: Vec<Source>,
}

enum Source {
    Prometheus(Box<Prometheus>),
    Json(Box<Json>),
    Tcp(Tcp),
    Exec(Exec),
    File(File),
    StubStatus(Box<StubStatus>),
}

/// What one source said.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Measured {
    pub reading: Reading,
    pub arrivals: Arrivals,
    /// What else there is to know, for who looks at this one source.
    pub note: Option<String>,
}

impl Measured {
    /// A reading by a source that counts no arrivals.
    pub fn of(reading: Reading) -> Self {
        Self {
            reading,
            arrivals: Arrivals::NotCounted,
            note: None,
        }
    }
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

/// One source's part in a [survey](Sources::survey).
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The source, without secrets.
    pub name: String,
    /// What it says of the calls under way.
    pub reading: Reading,
    /// What it says of the calls ever begun: the number, or why it could not be read; nothing
    /// where it does not count them.
    pub arrivals: Option<Result<f64, Unknown>>,
    /// What else there is to know, as names close to one that is not there.
    pub note: Option<String>,
    /// How long it took.
    pub took: Duration,
}

impl Sources {
    /// Makes the sources ready. Nothing is dialled before the first poll.
    pub fn new(configs: Vec<SourceConfig>) -> Self {
        Self {
            sources: configs.into_iter().map(Source::new).collect(),
        }
    }

    /// The sources with one who starts the processes of `exec` sources. Without, these are unknown.
    #[must_use]
    pub fn started_by(mut self, spawner: &Spawner) -> Self {
        for source in &mut self.sources {
            if let Source::Exec(exec) = source {
                exec.start_with(spawner.clone());
            }
        }
        self
    }

    /// The sources at pains to say what is close to a series that is not there. That reads every
    /// line of a page, so it is for a person who looks, not for a drain.
    #[must_use]
    pub fn explaining(mut self) -> Self {
        for source in &mut self.sources {
            if let Source::Prometheus(prometheus) = source {
                prometheus.explain();
            }
        }
        self
    }

    /// Whether nothing was configured: the calls under way are then not unknown but `unmeasured`.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// Asks every source at once; each has the whole of `timeout`, but `exec` its own.
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

    /// A [poll](Self::poll) that tells what each source said and how long it took by the clock
    /// `now`.
    pub async fn survey(&mut self, timeout: Duration, now: fn() -> Instant) -> (Vec<Part>, Sample) {
        let polls = self.sources.iter_mut().map(|source| {
            Box::pin(async move {
                let begun = now();
                let measured = source.poll(timeout).await;
                let took = now().saturating_duration_since(begun);
                (Part::new(source.name(), &measured, took), measured)
            })
        });
        let (parts, measured) = all(polls.collect()).await.into_iter().unzip();
        (parts, sum(measured))
    }
}

impl Part {
    fn new(name: String, measured: &Measured, took: Duration) -> Self {
        Self {
            name,
            reading: measured.reading.clone(),
            arrivals: match &measured.arrivals {
                Arrivals::NotCounted => None,
                Arrivals::Unknown(why) => Some(Err(why.clone())),
                Arrivals::Counted(count) => Some(Ok(*count)),
            },
            note: measured.note.clone(),
            took,
        }
    }
}

impl Source {
    fn new(config: SourceConfig) -> Self {
        match config {
            SourceConfig::Prometheus(config) => Self::Prometheus(Box::new(Prometheus::new(config))),
            SourceConfig::Json(config) => Self::Json(Box::new(Json::new(config))),
            SourceConfig::Tcp(config) => Self::Tcp(Tcp::new(config)),
            SourceConfig::Exec(config) => Self::Exec(Exec::new(config)),
            SourceConfig::File(config) => Self::File(File::new(config)),
            SourceConfig::StubStatus(config) => Self::StubStatus(Box::new(StubStatus::new(config))),
        }
    }

    async fn poll(&mut self, timeout: Duration) -> Measured {
        match self {
            Self::Prometheus(source) => source.poll(timeout).await,
            Self::Json(source) => source.poll(timeout).await,
            Self::Tcp(source) => source.poll(timeout).await,
            Self::Exec(source) => source.poll().await,
            Self::File(source) => source.poll(timeout).await,
            Self::StubStatus(source) => source.poll(timeout).await,
        }
    }

    /// What a person calls it, without secrets.
    fn name(&self) -> String {
        match self {
            Self::Prometheus(source) => source.config().endpoint().to_string(),
            Self::Json(source) => source.config().endpoint().to_string(),
            Self::Tcp(source) => source.config().to_string(),
            Self::Exec(source) => source.config().program().to_string_lossy().into_owned(),
            Self::File(source) => source.config().path().display().to_string(),
            Self::StubStatus(source) => source.endpoint().to_string(),
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
        note: _,
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
        Measured {
            arrivals,
            ..Measured::of(reading)
        }
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
