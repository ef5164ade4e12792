//! One run: one contestant behind one load balancer, each of its instances restarted in turn under load.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use tokio::time::sleep;

use crate::Failure;
use crate::balancer::Balancer;
use crate::clients::Clients;
use crate::contestant::{Addresses, Contestant, Setup};
use crate::endpoints::{Change, Endpoints};
use crate::front::Front;
use crate::instance::{Ended, Instance, Stopped};
use crate::load::{Call, Load, Target};

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

    /// The restart of whichever instance was at an address at that time. Where the next one comes to the same address, it
    /// is the first that was not over by then.
    pub fn restart_at(&self, address: SocketAddr, at: Duration) -> Option<&Restart> {
        let mut there = self.restarts.iter().filter(|restart| restart.address == address);
        match self.balancer.lag() {
            Some(_) => there.next(),
            None => there.find(|restart| at < restart.ready),
        }
    }

    /// When the release began.
    pub fn release(&self) -> Duration {
        self.restarts.first().map_or(self.end, |restart| restart.told)
    }
}

/// The clients, ours or grpcio's.
enum Work {
    Ours(Load),
    Theirs(Clients),
}

impl Work {
    fn begun(&self) -> u64 {
        match self {
            Self::Ours(load) => load.begun(),
            Self::Theirs(clients) => clients.begun(),
        }
    }

    async fn finish(self) -> Result<Vec<Call>, Failure> {
        match self {
            Self::Ours(load) => load.finish().await,
            Self::Theirs(clients) => clients.finish().await,
        }
    }
}

/// Everything that is at work in one run.
pub struct Stage {
    setup: Setup,
    /// The instances, by their slot.
    pub instances: [Option<Instance>; 3],
    endpoints: Endpoints,
    /// What is in front of them.
    pub front: Front,
    clock: Instant,
    work: Work,
    started: u32,
    restarts: Vec<Restart>,
    _directory: TempDir,
}

/// Plays it.
pub async fn play(setup: Setup, plan: Plan) -> Result<Outcome, Failure> {
    let mut stage = Stage::set(
        setup,
        [Addresses::free(), Addresses::free(), Addresses::free()],
        plan,
    )
    .await?;
    let mut round = 0;
    while round < plan.rounds || stage.work.begun() < plan.calls {
        round += 1;
        for slot in 0..SLOTS.len() {
            let old = stage.take(slot)?;
            let stopped = old.stop().await?;
            stage.start_anew(slot, stopped).await?;
            // The Deployment's minReadySeconds.
            sleep(setup.balancer.min_ready()).await;
        }
        stage.front.lives()?;
    }
    stage.finish().await
}

impl Stage {
    /// Instances at these addresses, a load balancer that knows them, and the load, up to the end of the baseline.
    pub async fn set(setup: Setup, addresses: [Addresses; 3], plan: Plan) -> Result<Self, Failure> {
        let directory = TempDir::new().map_err(|error| format!("no temporary directory: {error}"))?;
        let mut instances = [None, None, None];
        for ((place, slot), addresses) in instances.iter_mut().zip(SLOTS).zip(addresses) {
            *place = Some(Instance::start(format!("{slot}1"), setup, addresses).await?);
        }
        let known: Vec<_> = instances.iter().flatten().map(Instance::endpoint).collect();
        let lag = setup.balancer.lag().unwrap_or_default();
        let endpoints = Endpoints::new(directory.path(), lag, known.clone())?;
        let front = Front::start(setup.balancer, directory.path(), &endpoints, &known).await?;
        let clock = Instant::now();
        let work = match front.listen() {
            Some(listen) if setup.balancer.is_http() => {
                Work::Ours(Load::start(Target::Http(listen), plan.rate, clock))
            }
            Some(listen) => Work::Ours(Load::start(Target::Grpc(listen), plan.rate, clock)),
            None => {
                let addresses: Vec<_> = known.iter().map(|endpoint| endpoint.calls).collect();
                Work::Theirs(Clients::start(&addresses, plan.rate, clock).await?)
            }
        };
        sleep(WARM_UP + plan.baseline).await;
        Ok(Self {
            setup,
            instances,
            endpoints,
            front,
            clock,
            work,
            started: 3,
            restarts: Vec::new(),
            _directory: directory,
        })
    }

    /// From when times count.
    pub fn clock(&self) -> Instant {
        self.clock
    }

    /// The instance in a slot, whose endpoint is withdrawn: it is to be stopped.
    pub fn take(&mut self, slot: usize) -> Result<Instance, Failure> {
        let old = self.instances[slot].take().ok_or("nobody is in that slot")?;
        self.endpoints.tell(Change::Remove(old.endpoint()));
        Ok(old)
    }

    /// The next one in a slot, after the last was stopped.
    pub async fn start_anew(&mut self, slot: usize, (old, stopped): (Ended, Stopped)) -> Result<(), Failure> {
        let addresses = match self.setup.balancer.lag() {
            Some(_) => Addresses::free(),
            None => old.addresses,
        };
        self.started += 1;
        let name = format!("{}{}", SLOTS[slot], self.started.div_ceil(3));
        let new = Instance::start(name, self.setup, addresses).await?;
        self.endpoints.tell(Change::Add(new.endpoint()));
        self.instances[slot] = Some(new);
        self.restarts.push(Restart {
            name: old.name,
            address: old.addresses.calls,
            told: stopped.told.saturating_duration_since(self.clock),
            gone: stopped.gone.saturating_duration_since(self.clock),
            ready: self.clock.elapsed(),
            killed: stopped.killed,
            report: stopped.report,
        });
        Ok(())
    }

    /// Ends the load and the instances.
    pub async fn finish(self) -> Result<Outcome, Failure> {
        let end = self.clock.elapsed();
        Ok(Outcome {
            balancer: self.setup.balancer,
            contestant: self.setup.contestant,
            calls: self.work.finish().await?,
            restarts: self.restarts,
            baseline: WARM_UP,
            end,
        })
    }
}
