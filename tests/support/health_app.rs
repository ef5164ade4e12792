//! An app with `grpc.health.v1`, which behaves as a test wishes, and counts what is asked of it.
//!
//! It is written on tonic and has its own runtime, so that its death is a process's death: every socket closes.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio_stream::Stream;
use tokio_stream::wrappers::{ReceiverStream, UnboundedReceiverStream};
use tonic::transport::Server;
use tonic::{Request, Response, Status};

use super::ports;

use wire::health_server::{Health, HealthServer};
use wire::{HealthCheckRequest, HealthCheckResponse, HealthListRequest, HealthListResponse};

pub use wire::health_check_response::ServingStatus;

#[allow(clippy::all, missing_docs)]
mod wire {
    tonic::include_proto!("grpc.health.v1");
}

/// What an app can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ability {
    /// Check, List and Watch.
    All,
    /// Check and List.
    NoWatch,
    /// Check.
    OnlyCheck,
    /// It takes calls and never answers.
    Mute,
    /// Its Watches end with OK after their first message.
    ShortWatches,
}

/// How its open Watches end.
#[derive(Clone, Debug)]
pub enum End {
    /// With OK.
    Well,
    /// With a status.
    Badly(Status),
}

/// A running app. Dropped, it dies.
pub struct HealthApp {
    address: SocketAddr,
    service: Service,
    going_away: mpsc::UnboundedSender<oneshot::Sender<()>>,
    runtime: Option<Runtime>,
}

#[derive(Clone)]
struct Service {
    ability: Ability,
    statuses: watch::Sender<BTreeMap<String, ServingStatus>>,
    ends: watch::Sender<Option<End>>,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    connections: AtomicUsize,
    watches: AtomicUsize,
    open_watches: AtomicUsize,
    checks: AtomicUsize,
    lists: AtomicUsize,
}

impl HealthApp {
    /// Starts one that says `statuses`.
    pub fn start(address: SocketAddr, ability: Ability, statuses: &[(&str, ServingStatus)]) -> Self {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let statuses = statuses
            .iter()
            .map(|(name, status)| ((*name).to_owned(), *status));
        let service = Service {
            ability,
            statuses: watch::Sender::new(statuses.collect()),
            ends: watch::Sender::new(None),
            counts: Arc::default(),
        };
        let (going_away, asked) = mpsc::unbounded_channel();
        let listener = ports::listen(address);
        listener
            .set_nonblocking(true)
            .expect("a socket can be non-blocking");
        let entered = runtime.enter();
        let listener = TcpListener::from_std(listener).expect("the runtime takes a listener");
        runtime.spawn(serve(listener, service.clone(), asked));
        drop(entered);
        Self {
            address,
            service,
            going_away,
            runtime: Some(runtime),
        }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Says `status` of `name` from now on.
    pub fn say(&self, name: &str, status: ServingStatus) {
        self.service.statuses.send_modify(|said| {
            said.insert(name.to_owned(), status);
        });
    }

    /// Ends every open Watch.
    pub fn end_watches(&self, end: End) {
        self.service.ends.send_replace(Some(end));
    }

    /// Sends a GOAWAY on every connection, as a server that stops gracefully, while the next one already listens.
    /// Returns when the last call of the one that stopped is over.
    pub fn go_away(&self) {
        let (tell, told) = oneshot::channel();
        self.going_away.send(tell).expect("the app runs");
        told.blocking_recv().expect("the app stops gracefully");
    }

    /// Dies: everything closes at once.
    pub fn die(mut self) {
        self.end();
    }

    fn end(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(Duration::from_secs(5));
        }
    }

    /// Connections taken so far.
    pub fn connections(&self) -> usize {
        self.service.counts.connections.load(Ordering::SeqCst)
    }

    /// Watches begun so far.
    pub fn watches(&self) -> usize {
        self.service.counts.watches.load(Ordering::SeqCst)
    }

    /// Watches open now.
    pub fn open_watches(&self) -> usize {
        self.service.counts.open_watches.load(Ordering::SeqCst)
    }

    /// Checks answered so far.
    pub fn checks(&self) -> usize {
        self.service.counts.checks.load(Ordering::SeqCst)
    }

    /// Lists answered so far.
    pub fn lists(&self) -> usize {
        self.service.counts.lists.load(Ordering::SeqCst)
    }
}

impl Drop for HealthApp {
    fn drop(&mut self) {
        self.end();
    }
}

/// Takes connections and hands them to the server of the moment.
async fn serve(
    listener: TcpListener,
    service: Service,
    mut going_away: mpsc::UnboundedReceiver<oneshot::Sender<()>>,
) {
    let mut server = Generation::start(&service);
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((socket, _)) = accepted else { continue };
                service.counts.connections.fetch_add(1, Ordering::SeqCst);
                let _ = server.connections.send(Ok(socket));
            }
            Some(tell) = going_away.recv() => {
                let old = std::mem::replace(&mut server, Generation::start(&service));
                tokio::spawn(old.stop(tell));
            }
        }
    }
}

/// One server, which can stop while the next one works.
struct Generation {
    connections: mpsc::UnboundedSender<std::io::Result<TcpStream>>,
    stop: oneshot::Sender<()>,
    server: JoinHandle<Result<(), tonic::transport::Error>>,
}

impl Generation {
    fn start(service: &Service) -> Self {
        let (connections, incoming) = mpsc::unbounded_channel();
        let (stop, stopped) = oneshot::channel::<()>();
        let server = Server::builder()
            .add_service(HealthServer::new(service.clone()))
            .serve_with_incoming_shutdown(UnboundedReceiverStream::new(incoming), async {
                let _ = stopped.await;
            });
        Self {
            connections,
            stop,
            server: tokio::spawn(server),
        }
    }

    async fn stop(self, tell: oneshot::Sender<()>) {
        let _ = self.stop.send(());
        let _ = self.server.await;
        let _ = tell.send(());
    }
}

impl Service {
    fn status(&self, name: &str) -> Option<ServingStatus> {
        self.statuses.borrow().get(name).copied()
    }

    async fn mute(&self) {
        if self.ability == Ability::Mute {
            std::future::pending::<()>().await;
        }
    }
}

fn response(status: ServingStatus) -> HealthCheckResponse {
    HealthCheckResponse {
        status: status.into(),
    }
}

#[tonic::async_trait]
impl Health for Service {
    type WatchStream = Pin<Box<dyn Stream<Item = Result<HealthCheckResponse, Status>> + Send>>;

    async fn check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        self.mute().await;
        self.counts.checks.fetch_add(1, Ordering::SeqCst);
        let status = self.status(&request.get_ref().service);
        let status = status.ok_or_else(|| Status::not_found("unknown service"))?;
        Ok(Response::new(response(status)))
    }

    async fn list(&self, _: Request<HealthListRequest>) -> Result<Response<HealthListResponse>, Status> {
        self.mute().await;
        if self.ability == Ability::OnlyCheck {
            return Err(Status::unimplemented("no List"));
        }
        self.counts.lists.fetch_add(1, Ordering::SeqCst);
        let statuses = self.statuses.borrow().clone();
        let statuses = statuses
            .into_iter()
            .map(|(name, status)| (name, response(status)));
        Ok(Response::new(HealthListResponse {
            statuses: statuses.collect(),
        }))
    }

    async fn watch(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        self.mute().await;
        if matches!(self.ability, Ability::NoWatch | Ability::OnlyCheck) {
            return Err(Status::unimplemented("no Watch"));
        }
        self.counts.watches.fetch_add(1, Ordering::SeqCst);
        let (messages, stream) = mpsc::channel(16);
        tokio::spawn(self.clone().watching(request.into_inner().service, messages));
        Ok(Response::new(Box::pin(ReceiverStream::new(stream))))
    }
}

impl Service {
    async fn watching(self, name: String, messages: mpsc::Sender<Result<HealthCheckResponse, Status>>) {
        self.counts.open_watches.fetch_add(1, Ordering::SeqCst);
        let mut statuses = self.statuses.subscribe();
        let mut ends = self.ends.subscribe();
        loop {
            let status = statuses.borrow_and_update().get(&name).copied();
            let status = status.unwrap_or(ServingStatus::ServiceUnknown);
            if messages.send(Ok(response(status))).await.is_err() || self.ability == Ability::ShortWatches {
                break;
            }
            tokio::select! {
                _ = statuses.changed() => {}
                _ = ends.changed() => {
                    let end = ends.borrow_and_update().clone();
                    if let Some(End::Badly(status)) = end {
                        let _ = messages.send(Err(status)).await;
                    }
                    break;
                }
                () = messages.closed() => break,
            }
        }
        self.counts.open_watches.fetch_sub(1, Ordering::SeqCst);
    }
}
