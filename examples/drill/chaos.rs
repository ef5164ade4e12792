//! The drill with something going wrong in the middle of it, under tidegate and behind health checks. The grace period
//! is short, so that a bound is met soon.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::ValueEnum;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::Failure;
use crate::balancer::Balancer;
use crate::contestant::{Addresses, Contestant, Setup};
use crate::front::Front;
use crate::load::{Call, one_long_call};
use crate::ports;
use crate::run::{Outcome, Plan, Stage};

/// Every pod's grace period here.
const GRACE: Duration = Duration::from_secs(12);
/// Longer than what a drain has of that.
const TOO_LONG: Duration = Duration::from_secs(20);
/// Well into propagation.
const MEANWHILE: Duration = Duration::from_millis(800);

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Chaos {
    /// The program's metrics are read no more, in the middle of its drain.
    MetricsHang,
    /// One call is longer than the budget.
    TooLong,
    /// Two of three are told to stop at once.
    TwoAtOnce,
    /// tidegate is killed with SIGKILL.
    Kill,
    /// The load balancer is killed, and started again, during a drain.
    BalancerRestart,
}

impl Chaos {
    /// Its name on the command line and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::MetricsHang => "metrics-hang",
            Self::TooLong => "too-long",
            Self::TwoAtOnce => "two-at-once",
            Self::Kill => "kill",
            Self::BalancerRestart => "balancer-restart",
        }
    }

    /// What becomes of calls.
    pub fn says(self) -> &'static str {
        match self {
            Self::MetricsHang => {
                "what cannot be counted is not taken for zero: the drain lasts to its bound, and no call is lost"
            }
            Self::TooLong => "it alone is cut, and the verdict says so",
            Self::TwoAtOnce => "the third serves them all, and no call is lost",
            Self::Kill => {
                "lost is what was under way there, and what was sent there before the load balancer noticed"
            }
            Self::BalancerRestart => "lost is what the load balancer itself had; the drain goes on",
        }
    }
}

/// Plays it.
pub async fn play(chaos: Chaos, rate: u32, baseline: Duration) -> Result<Outcome, Failure> {
    let setup = Setup {
        balancer: Balancer::HealthChecked,
        contestant: Contestant::Tidegate,
        grace: GRACE,
    };
    let plan = Plan {
        rate,
        baseline,
        rounds: 1,
        calls: 0,
    };
    let mut addresses = [Addresses::free(), Addresses::free(), Addresses::free()];
    let gate = Gate::open(addresses[0].metrics).await?;
    addresses[0].metrics_read = gate.listen;
    let mut stage = Stage::set(setup, addresses, plan).await?;
    let mut more: Option<JoinHandle<Call>> = None;
    match chaos {
        Chaos::MetricsHang => {
            let old = stage.take(0)?;
            let (stopped, ()) = tokio::join!(old.stop(), async {
                sleep(MEANWHILE).await;
                gate.close();
            });
            stage.start_anew(0, stopped?).await?;
        }
        Chaos::TooLong => {
            let target = addresses[0].calls;
            let clock = stage.clock();
            more = Some(tokio::spawn(one_long_call(target, TOO_LONG, clock)));
            sleep(MEANWHILE).await;
            let stopped = stage.take(0)?.stop().await?;
            stage.start_anew(0, stopped).await?;
        }
        Chaos::TwoAtOnce => {
            let (one, two) = (stage.take(0)?, stage.take(1)?);
            let (one, two) = tokio::join!(one.stop(), two.stop());
            stage.start_anew(0, one?).await?;
            stage.start_anew(1, two?).await?;
        }
        Chaos::Kill => {
            // Nobody told the control plane: the pod is gone before it knows.
            let old = stage.take(0)?;
            let stopped = old.kill().await?;
            stage.start_anew(0, stopped).await?;
        }
        Chaos::BalancerRestart => {
            let old = stage.take(0)?;
            let front = &mut stage.front;
            let (stopped, restarted) = tokio::join!(old.stop(), async {
                sleep(MEANWHILE).await;
                match front {
                    Front::Envoy(envoy) => envoy.restart().await,
                    _ => Err("it is Envoy that is restarted".to_owned()),
                }
            });
            restarted?;
            stage.start_anew(0, stopped?).await?;
        }
    }
    sleep(setup.balancer.min_ready()).await;
    let mut outcome = stage.finish().await?;
    if let Some(more) = more {
        outcome.calls.push(more.await.map_err(|error| error.to_string())?);
    }
    Ok(outcome)
}

/// What metrics are read through, until it is closed: then a reader waits for ever.
struct Gate {
    listen: SocketAddr,
    closed: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

impl Gate {
    async fn open(behind: SocketAddr) -> Result<Self, Failure> {
        let listen = ports::free();
        let listener = TcpListener::bind(listen)
            .await
            .map_err(|error| format!("{listen}: {error}"))?;
        let closed = Arc::<AtomicBool>::default();
        let is_closed = Arc::clone(&closed);
        let task = tokio::spawn(async move {
            let mut kept = Vec::new();
            while let Ok((mut reader, _)) = listener.accept().await {
                if is_closed.load(Ordering::Relaxed) {
                    kept.push(reader);
                    continue;
                }
                tokio::spawn(async move {
                    if let Ok(mut program) = TcpStream::connect(behind).await {
                        // Whoever breaks off, the other hears of it.
                        let _ = copy_bidirectional(&mut reader, &mut program).await;
                    }
                });
            }
        });
        Ok(Self { listen, closed, task })
    }

    fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.task.abort();
    }
}
