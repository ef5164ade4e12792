//! gRPC from the outside: Watch, Check, and calls to the example service.
//!
//! tonic-health is the peer here on purpose: the server under test is not built from it.

use std::net::SocketAddr;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tonic::transport::{Channel, Endpoint};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use wire::library_client::LibraryClient;
use wire::{FindBookRequest, ListShelfRequest};

pub use tonic_health::pb::health_check_response::ServingStatus;

use super::PATIENCE;

#[allow(clippy::all, missing_docs)]
mod wire {
    tonic::include_proto!("plume.linkd.v3");
}

/// What a Watch said, and when it arrived.
#[derive(Clone, Debug)]
pub struct Told {
    /// When it was read.
    pub at: Instant,
    /// A status, or how the stream ended.
    pub what: Result<ServingStatus, tonic::Status>,
}

/// An open Watch.
pub struct Watch {
    told: Receiver<Told>,
}

impl Watch {
    /// Opens one, waiting for the port to be there.
    pub fn open(address: SocketAddr, service: &str) -> Self {
        let (tell, told) = mpsc::channel();
        let service = service.to_owned();
        std::thread::spawn(move || {
            runtime().block_on(async move {
                let mut health = HealthClient::new(connect(address).await);
                let mut stream = match health.watch(HealthCheckRequest { service }).await {
                    Ok(answer) => answer.into_inner(),
                    Err(status) => {
                        let _ = tell.send(Told {
                            at: Instant::now(),
                            what: Err(status),
                        });
                        return;
                    }
                };
                loop {
                    let what = match stream.message().await {
                        Ok(Some(answer)) => Ok(answer.status()),
                        Ok(None) => Err(tonic::Status::ok("the stream ended")),
                        Err(status) => Err(status),
                    };
                    let over = what.is_err();
                    if tell
                        .send(Told {
                            at: Instant::now(),
                            what,
                        })
                        .is_err()
                        || over
                    {
                        return;
                    }
                }
            });
        });
        Self { told }
    }

    /// The next thing it says.
    ///
    /// # Panics
    /// When nothing comes within [`PATIENCE`].
    pub fn next(&self) -> Told {
        self.told.recv_timeout(PATIENCE).expect("a Watch says something")
    }

    /// Waits until it says `wanted` and gives the moment.
    ///
    /// # Panics
    /// When it ends or is silent before.
    pub fn wait_for(&self, wanted: ServingStatus) -> Instant {
        loop {
            let told = self.next();
            match told.what {
                Ok(status) if status == wanted => return told.at,
                Ok(_) => {}
                Err(status) => panic!("the Watch ended before it said {wanted:?}: {status}"),
            }
        }
    }

    /// What it has said that nobody has asked for yet.
    pub fn so_far(&self) -> Vec<Told> {
        self.told.try_iter().collect()
    }

    /// Waits for the end of the stream, and says how it ended.
    ///
    /// # Panics
    /// When it does not end within [`PATIENCE`] of its last message.
    pub fn end(&self) -> Told {
        loop {
            match self.told.recv_timeout(PATIENCE) {
                Ok(told) if told.what.is_err() => return told,
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("the Watch never ended")
                }
            }
        }
    }
}

/// One Check.
///
/// # Errors
/// The status the server gave.
pub fn check(address: SocketAddr, service: &str) -> Result<ServingStatus, tonic::Status> {
    runtime().block_on(async {
        let mut health = HealthClient::new(connect(address).await);
        let request = HealthCheckRequest {
            service: service.to_owned(),
        };
        Ok(health.check(request).await?.into_inner().status())
    })
}

/// A call under way in another thread.
pub struct Call<T> {
    answer: JoinHandle<(Instant, Result<T, tonic::Status>)>,
}

impl<T> Call<T> {
    /// Waits for its answer, and says when it came.
    pub fn answer(self) -> (Instant, Result<T, tonic::Status>) {
        self.answer.join().expect("the call's thread ends well")
    }
}

/// Begins a unary call of the example service that takes `time`.
pub fn find_book(address: SocketAddr, time: Duration) -> Call<String> {
    begin(address, move |mut library| async move {
        let request = FindBookRequest {
            title: "Middlemarch".into(),
            take_millis: time.as_millis() as u32,
        };
        Ok(library.find_book(request).await?.into_inner().title)
    })
}

/// Begins a streaming call of the example service: `books` messages, one each `interval`. Answers how many came.
pub fn list_shelf(address: SocketAddr, books: u32, interval: Duration) -> Call<u32> {
    begin(address, move |mut library| async move {
        let interval_millis = interval.as_millis() as u32;
        let request = ListShelfRequest {
            shelf: "B".into(),
            books,
            interval_millis,
        };
        let mut stream = library.list_shelf(request).await?.into_inner();
        let mut seen = 0;
        while stream.message().await?.is_some() {
            seen += 1;
        }
        Ok(seen)
    })
}

fn begin<T, F, Fut>(address: SocketAddr, call: F) -> Call<T>
where
    T: Send + 'static,
    F: FnOnce(LibraryClient<Channel>) -> Fut + Send + 'static,
    Fut: Future<Output = Result<T, tonic::Status>>,
{
    let answer = std::thread::spawn(move || {
        let answer = runtime().block_on(async { call(LibraryClient::new(connect(address).await)).await });
        (Instant::now(), answer)
    });
    Call { answer }
}

/// Connects, waiting for the port to be there.
async fn connect(address: SocketAddr) -> Channel {
    let endpoint = Endpoint::from_shared(format!("http://{address}")).expect("an address makes a URI");
    let begun = Instant::now();
    loop {
        match endpoint.connect().await {
            Ok(channel) => return channel,
            Err(error) => assert!(begun.elapsed() < PATIENCE, "no connection to {address}: {error}"),
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn runtime() -> Runtime {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime can be made")
}
