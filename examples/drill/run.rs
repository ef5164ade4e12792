//! One run: one contestant behind one load balancer, each of its instances restarted in turn under load.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use tokio::time::sleep;

use crate::Failure;
use crate::balancer::Balancer;
use crate::contestant::Contestant;
use crate::endpoints::{Change, Endpoints};
use crate::envoy::Envoy;
use crate::instance::Instance;
use crate::load::{Call, Load};

/// The instances of a release.
const SLOTS: [&str; 3] = ["a", "b", "c"];
/// Connections are made, and caches filled, before anything counts.
const WARM_UP: Duration = Duration::from_secs(2);

/// What is to be done.
#[derive(Clone, Copy)]
pub struct Plan {
    /// Calls a second.
    pub rate: u32,
    /// How long the load runs before the first restart.
    pub baseline: Duration,
    /// How often each instance is restarted, at least.
    pub rounds: u32,
    /// Restarts go on until so many calls have begun.
    pub calls: u64,
}

/// What came of it. Times count from the begin of the load.
pub struct Outcome {
    /// The load balancer.
    pub balancer: Balancer,
    /// The contestant.
    pub contestant: Contestant,
    /// Every call, in the order they were due.
    pub calls: Vec<Call>,
    /// Every restart.
    pub restarts: Vec<Restart>,
    /// From here on calls count as baseline, to the first restart.
    pub baseline: Duration,
    /// The last restart is over, and the load balancer knows it.
    pub end: Duration,
}

/// One restart.
pub struct Restart {
    /// The instance that ended.
    pub name: String,
    /// Where it served.
    pub address: SocketAddr,
    /// When it was told to stop.
    pub told: Duration,
    /// When it was gone.
    pub gone: Duration,
    /// When the next one was SERVING.
    pub ready: Duration,
    /// SIGKILL ended it, at the end of the grace period.
    pub killed: bool,
    /// tidegate's termination message.
    pub report: Option<Value>,
}

impl Outcome {
    /// How many calls failed.
    pub fn failed(&self) -> usize {
        self.calls.iter().filter(|call| call.failed.is_some()).count()
    }

    /// When the release began.
    pub fn release(&self) -> Duration {
        self.restarts.first().map_or(self.end, |restart| restart.told)
    }
}

/// Plays it.
pub async fn play(balancer: Balancer, contestant: Contestant, plan: Plan) -> Result<Outcome, Failure> {
    let directory = TempDir::new().map_err(|error| format!("no temporary directory: {error}"))?;
    let mut instances = Vec::new();
    for slot in SLOTS {
        instances.push(Instance::start(format!("{slot}1"), contestant).await?);
    }
    let known = instances.iter().map(Instance::endpoint).collect();
    let endpoints = Endpoints::new(directory.path(), balancer.lag(), known)?;
    let mut envoy = Envoy::start(directory.path(), &endpoints, balancer.checks_health()).await?;

    let clock = Instant::now();
    let load = Load::start(envoy.listen(), plan.rate, clock);
    sleep(WARM_UP + plan.baseline).await;
    let mut restarts = Vec::new();
    let mut round = 0;
    while round < plan.rounds || load.begun() < plan.calls {
        round += 1;
        for (place, slot) in SLOTS.iter().enumerate() {
            let name = format!("{slot}{}", round + 1);
            let old = instances.remove(place);
            let (restart, new) = restart(old, name, contestant, &endpoints, clock).await?;
            instances.insert(place, new);
            restarts.push(restart);
            // The Deployment's minReadySeconds.
            sleep(balancer.min_ready()).await;
        }
        envoy.lives()?;
    }
    let end = clock.elapsed();
    Ok(Outcome {
        balancer,
        contestant,
        calls: load.finish().await?,
        restarts,
        baseline: WARM_UP,
        end,
    })
}

async fn restart(
    old: Instance,
    next: String,
    contestant: Contestant,
    endpoints: &Endpoints,
    clock: Instant,
) -> Result<(Restart, Instance), Failure> {
    let (name, endpoint) = (old.name.clone(), old.endpoint());
    endpoints.tell(Change::Remove(endpoint));
    let stopped = old.stop().await?;
    let new = Instance::start(next, contestant).await?;
    endpoints.tell(Change::Add(new.endpoint()));
    let restart = Restart {
        name,
        address: endpoint.calls,
        told: stopped.told.saturating_duration_since(clock),
        gone: stopped.gone.saturating_duration_since(clock),
        ready: clock.elapsed(),
        killed: stopped.killed,
        report: stopped.report,
    };
    Ok((restart, new))
}
