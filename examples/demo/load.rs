//! The clients: several connections, new calls at a steady rate whether or not earlier ones are back.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tonic::transport::{Channel, Endpoint};

use crate::Failure;
use wire::library_client::LibraryClient;
use wire::{FindBookRequest, ListShelfRequest};

#[allow(clippy::all, missing_docs)]
mod wire {
    tonic::include_proto!("plume.linkd.v3");
}

/// Connections to each pod.
const CONNECTIONS: usize = 4;
/// The time between two calls of one connection: 40 calls a second in all.
const PACE: Duration = Duration::from_millis(100);
/// How long calls take, in milliseconds, in turn: most are quick, some are not.
const DURATIONS: [u32; 8] = [40, 200, 90, 900, 60, 400, 150, 2500];
/// Every fifth call is a stream of this many books, one each 100 ms.
const BOOKS: u32 = 12;
/// No call is given longer.
const DEADLINE: Duration = Duration::from_secs(10);

/// Where new calls go.
#[derive(Clone)]
pub struct Route(Arc<AtomicBool>);

/// Clients at work.
pub struct Load {
    route: Route,
    over: Arc<AtomicBool>,
    under_way: Arc<AtomicUsize>,
    calls: Arc<Mutex<Vec<Call>>>,
    clients: Vec<JoinHandle<()>>,
}

/// What one call came to.
struct Call {
    begun: Instant,
    to: Pod,
    finished: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Pod {
    Old,
    Next,
}

/// The calls of an act, counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Calls begun.
    pub begun: usize,
    /// Finished by the old pod.
    pub by_old: usize,
    /// Finished by the next pod.
    pub by_next: usize,
    /// Begun while the old pod lived, and never finished.
    pub cut: usize,
    /// Sent to a pod that was no more.
    pub refused: usize,
}

impl Tally {
    /// Calls lost, in either way.
    pub fn failed(&self) -> usize {
        self.cut + self.refused
    }
}

impl Route {
    /// From now on, new calls go to the next pod.
    pub fn to_the_next_pod(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn now(&self) -> Pod {
        if self.0.load(Ordering::Relaxed) {
            Pod::Next
        } else {
            Pod::Old
        }
    }
}

impl Load {
    /// Starts the clients. All new calls go to `old` until the route is changed.
    pub fn start(old: SocketAddr, next: SocketAddr) -> Self {
        let mut load = Self {
            route: Route(Arc::default()),
            over: Arc::default(),
            under_way: Arc::default(),
            calls: Arc::default(),
            clients: Vec::new(),
        };
        for number in 0..CONNECTIONS {
            let client = Client {
                number,
                old: connection(old),
                next: connection(next),
                route: load.route.clone(),
                over: load.over.clone(),
                under_way: load.under_way.clone(),
                calls: load.calls.clone(),
            };
            load.clients.push(tokio::spawn(client.work()));
        }
        load
    }

    /// The switch the load balancer turns.
    pub fn route(&self) -> Route {
        self.route.clone()
    }

    /// Waits until at least `wanted` calls are under way, and says how many are.
    pub async fn wait_until_under_way(&self, wanted: usize) -> Result<usize, Failure> {
        for _ in 0..500 {
            let now = self.under_way.load(Ordering::Relaxed);
            if now >= wanted {
                return Ok(now);
            }
            sleep(Duration::from_millis(10)).await;
        }
        Err(format!("the clients never had {wanted} calls under way at once"))
    }

    /// Begins no more calls, waits for those under way and counts. `gone` is when the old pod ended.
    pub async fn finish(mut self, gone: Instant) -> Result<Tally, Failure> {
        self.over.store(true, Ordering::Relaxed);
        for client in self.clients.drain(..) {
            timeout(DEADLINE + Duration::from_secs(1), client)
                .await
                .map_err(|_| "calls are still under way after their own deadline".to_owned())?
                .map_err(|error| format!("a client failed: {error}"))?;
        }
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let mut tally = Tally {
            begun: calls.len(),
            ..Tally::default()
        };
        for call in calls.iter() {
            match (call.finished, call.to) {
                (true, Pod::Old) => tally.by_old += 1,
                (true, Pod::Next) => tally.by_next += 1,
                (false, _) if call.begun < gone => tally.cut += 1,
                (false, _) => tally.refused += 1,
            }
        }
        Ok(tally)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for client in &self.clients {
            client.abort();
        }
    }
}

/// One client, with a connection of its own to each pod.
struct Client {
    number: usize,
    old: LibraryClient<Channel>,
    next: LibraryClient<Channel>,
    route: Route,
    over: Arc<AtomicBool>,
    under_way: Arc<AtomicUsize>,
    calls: Arc<Mutex<Vec<Call>>>,
}

impl Client {
    async fn work(self) {
        sleep(PACE * self.number as u32 / CONNECTIONS as u32).await;
        let mut pace = interval(PACE);
        // A client that was held up does not make up for it with a burst.
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut under_way = JoinSet::new();
        let mut turn = self.number;
        while !self.over.load(Ordering::Relaxed) {
            pace.tick().await;
            let to = self.route.now();
            let library = match to {
                Pod::Old => self.old.clone(),
                Pod::Next => self.next.clone(),
            };
            let (counter, calls) = (self.under_way.clone(), self.calls.clone());
            under_way.spawn(async move {
                counter.fetch_add(1, Ordering::Relaxed);
                let begun = Instant::now();
                let finished = matches!(timeout(DEADLINE, call(library, turn)).await, Ok(Ok(())));
                counter.fetch_sub(1, Ordering::Relaxed);
                calls
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(Call { begun, to, finished });
            });
            turn += 1;
            while under_way.try_join_next().is_some() {}
        }
        under_way.join_all().await;
    }
}

/// One call, with its answer checked: a stream that ends early is not a stream that ended.
async fn call(mut library: LibraryClient<Channel>, turn: usize) -> Result<(), tonic::Status> {
    if turn % 5 == 4 {
        let request = ListShelfRequest {
            shelf: "B".into(),
            books: BOOKS,
            interval_millis: 100,
        };
        let mut books = library.list_shelf(request).await?.into_inner();
        let mut seen = 0;
        while books.message().await?.is_some() {
            seen += 1;
        }
        if seen != BOOKS {
            return Err(tonic::Status::data_loss(format!("{seen} of {BOOKS} books")));
        }
    } else {
        let take_millis = DURATIONS[turn % DURATIONS.len()];
        library
            .find_book(FindBookRequest {
                title: "Middlemarch".into(),
                take_millis,
            })
            .await?;
    }
    Ok(())
}

fn connection(address: SocketAddr) -> LibraryClient<Channel> {
    let endpoint =
        Endpoint::try_from(format!("http://{address}")).expect("a socket address makes a valid URI");
    LibraryClient::new(endpoint.connect_timeout(Duration::from_secs(1)).connect_lazy())
}
