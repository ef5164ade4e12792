//! The clients: an open loop. Calls begin at a fixed rate whatever becomes of earlier ones, each with a deadline, none
//! of them is tried again, and the time of each counts from the moment it was due.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep_until, timeout};
use tonic::metadata::MetadataMap;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};

use wire::library_client::LibraryClient;
use wire::{FindBookRequest, ListShelfRequest};

use crate::{Failure, http};

#[allow(clippy::all, missing_docs)]
mod wire {
    tonic::include_proto!("plume.linkd.v3");
}

/// Connections to the load balancer.
const CONNECTIONS: usize = 4;
/// Of a thousand calls, so many take [`LONG`].
const LONG_PER_MILLE: u64 = 10;
/// Of a thousand calls, so many are streams of [`BOOKS`].
const STREAMS_PER_MILLE: u64 = 5;
/// A long call.
const LONG: Duration = Duration::from_secs(3);
/// A stream: so many messages, one each [`BOOK`].
const BOOKS: u32 = 50;
/// The time between the messages of a stream, which is 5 s long in all.
const BOOK: Duration = Duration::from_millis(100);
/// A call is given up so long after it should have been over.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 20 to 200 ms.
    Short,
    /// 3 s.
    Long,
    /// 5 s, a message each 100 ms.
    Stream,
}

/// What one call came to.
#[derive(Clone, Debug)]
pub struct Call {
    /// When it was due.
    pub at: Duration,
    /// What it is.
    pub kind: Kind,
    /// The time that the server was asked to take.
    pub asked: Duration,
    /// The time it took, from when it was due.
    pub took: Duration,
    /// The instance that it was sent to, where that is known.
    pub instance: Option<SocketAddr>,
    /// Why it failed, if it did.
    pub failed: Option<Failed>,
}

/// Why a call failed.
#[derive(Clone, Debug)]
pub struct Failed {
    /// The gRPC code.
    pub code: Code,
    /// What came with it.
    pub why: String,
}

impl Call {
    /// When it was over.
    pub fn end(&self) -> Duration {
        self.at + self.took
    }
}

/// Where calls go, and what they are.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// gRPC, on a few connections.
    Grpc(SocketAddr),
    /// HTTP/1, each request on a connection of its own.
    Http(SocketAddr),
}

#[derive(Clone)]
enum Client {
    Grpc(LibraryClient<Channel>),
    Http(SocketAddr),
}

impl Target {
    fn client(self) -> Client {
        match self {
            Self::Grpc(address) => Client::Grpc(connection(address)),
            Self::Http(address) => Client::Http(address),
        }
    }
}

/// Clients at work.
pub struct Load {
    over: Arc<AtomicBool>,
    begun: Arc<AtomicU64>,
    calls: Arc<Mutex<Vec<Call>>>,
    pacer: JoinHandle<()>,
}

impl Load {
    /// Starts them; times count from `clock`.
    pub fn start(target: Target, rate: u32, clock: Instant) -> Self {
        let (over, begun, calls) = (Arc::default(), Arc::default(), Arc::default());
        let pace = Pace {
            clients: (0..CONNECTIONS).map(|_| target.client()).collect(),
            rate,
            clock,
            over: Arc::clone(&over),
            begun: Arc::clone(&begun),
            calls: Arc::clone(&calls),
        };
        Self {
            over,
            begun,
            calls,
            pacer: tokio::spawn(pace.keep()),
        }
    }

    /// How many calls have begun.
    pub fn begun(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }

    /// Begins no more calls, waits for those under way, and gives all of them in the order they were due.
    pub async fn finish(mut self) -> Result<Vec<Call>, Failure> {
        self.over.store(true, Ordering::Relaxed);
        (&mut self.pacer)
            .await
            .map_err(|error| format!("the load failed: {error}"))?;
        let mut calls = std::mem::take(&mut *self.calls.lock().unwrap_or_else(PoisonError::into_inner));
        calls.sort_by_key(|call| call.at);
        Ok(calls)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.pacer.abort();
    }
}

struct Pace {
    clients: Vec<Client>,
    rate: u32,
    clock: Instant,
    over: Arc<AtomicBool>,
    begun: Arc<AtomicU64>,
    calls: Arc<Mutex<Vec<Call>>>,
}

impl Pace {
    async fn keep(self) {
        let first = Instant::now();
        let mut under_way = JoinSet::new();
        for number in 0_u64.. {
            let due = first + Duration::from_secs_f64(number as f64 / f64::from(self.rate));
            sleep_until(due.into()).await;
            if self.over.load(Ordering::Relaxed) {
                break;
            }
            self.begun.fetch_add(1, Ordering::Relaxed);
            let client = self.clients[number as usize % self.clients.len()].clone();
            let (clock, calls) = (self.clock, Arc::clone(&self.calls));
            under_way.spawn(async move {
                let (kind, asked) = drawn(number);
                let (instance, failed) = match client {
                    Client::Grpc(library) => call(library, kind, asked).await,
                    Client::Http(address) => request(address, asked).await,
                };
                let call = Call {
                    at: due.saturating_duration_since(clock),
                    kind,
                    asked,
                    took: due.elapsed(),
                    instance,
                    failed,
                };
                calls.lock().unwrap_or_else(PoisonError::into_inner).push(call);
            });
            while under_way.try_join_next().is_some() {}
        }
        under_way.join_all().await;
    }
}

/// What the call of this number is: mixed, and the same in every run.
fn drawn(number: u64) -> (Kind, Duration) {
    // SplitMix64's finish: neighbours have nothing in common.
    let mut mixed = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^= mixed >> 31;
    match mixed % 1000 {
        part if part < LONG_PER_MILLE => (Kind::Long, LONG),
        part if part < LONG_PER_MILLE + STREAMS_PER_MILLE => (Kind::Stream, BOOK * BOOKS),
        _ => (Kind::Short, Duration::from_millis(20 + (mixed >> 32) % 181)),
    }
}

/// A single call that takes so long, straight to an instance.
pub async fn one_long_call(target: SocketAddr, asked: Duration, clock: Instant) -> Call {
    let at = clock.elapsed();
    let begun = Instant::now();
    let (_, failed) = call(connection(target), Kind::Long, asked).await;
    Call {
        at,
        kind: Kind::Long,
        asked,
        took: begun.elapsed(),
        instance: Some(target),
        failed,
    }
}

/// One request. A failure has the gRPC code that its status stands for (grpc's doc/http-grpc-status-mapping.md).
async fn request(address: SocketAddr, asked: Duration) -> (Option<SocketAddr>, Option<Failed>) {
    let path = format!("/?millis={}", asked.as_millis());
    let failed = |code, why| Some(Failed { code, why });
    match timeout(asked + PATIENCE, http::get(address, &path)).await {
        Ok(Ok(answer)) if answer.status == 200 => (answer.instance, None),
        Ok(Ok(answer)) => (
            answer.instance,
            failed(Code::Unavailable, format!("HTTP {}", answer.status)),
        ),
        Ok(Err(error)) => (None, failed(Code::Unavailable, error.to_string())),
        Err(_) => (
            None,
            failed(Code::DeadlineExceeded, "no answer in time".to_owned()),
        ),
    }
}

/// One call, its answer checked: where it went, and why it failed if it did.
async fn call(
    mut library: LibraryClient<Channel>,
    kind: Kind,
    asked: Duration,
) -> (Option<SocketAddr>, Option<Failed>) {
    let mut instance = None;
    let deadline = asked + PATIENCE;
    let work = async {
        match kind {
            Kind::Short | Kind::Long => {
                let mut request = Request::new(FindBookRequest {
                    title: "Middlemarch".into(),
                    take_millis: asked.as_millis() as u32,
                });
                request.set_timeout(deadline);
                instance = served_by(library.find_book(request).await?.metadata());
            }
            Kind::Stream => {
                let mut request = Request::new(ListShelfRequest {
                    shelf: "B".into(),
                    books: BOOKS,
                    interval_millis: BOOK.as_millis() as u32,
                });
                request.set_timeout(deadline);
                let answer = library.list_shelf(request).await?;
                instance = served_by(answer.metadata());
                let mut books = answer.into_inner();
                let mut seen = 0;
                while books.message().await?.is_some() {
                    seen += 1;
                }
                // A stream that ends early is not a stream that ended.
                if seen != BOOKS {
                    return Err(Status::data_loss(format!("{seen} of {BOOKS} books")));
                }
            }
        }
        Ok(())
    };
    let failed = match timeout(deadline, work).await {
        Ok(Ok(())) => return (instance, None),
        Ok(Err(status)) => {
            instance = instance.or_else(|| served_by(status.metadata()));
            let flags = status
                .metadata()
                .get("x-flags")
                .and_then(|flags| flags.to_str().ok());
            Failed {
                code: status.code(),
                why: match flags {
                    Some(flags) if flags != "-" => format!("{} ({flags})", status.message()),
                    _ => status.message().to_owned(),
                },
            }
        }
        Err(_) => Failed {
            code: Code::DeadlineExceeded,
            why: format!("no answer for {} s", deadline.as_secs()),
        },
    };
    (instance, Some(failed))
}

/// Which instance the load balancer says that it was.
fn served_by(metadata: &MetadataMap) -> Option<SocketAddr> {
    metadata.get("x-instance")?.to_str().ok()?.parse().ok()
}

fn connection(address: SocketAddr) -> LibraryClient<Channel> {
    let endpoint =
        Endpoint::try_from(format!("http://{address}")).expect("a socket address makes a valid URI");
    LibraryClient::new(endpoint.connect_timeout(Duration::from_secs(1)).connect_lazy())
}
