//! The accept loop. Without callers nothing here ever wakes up.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;
use tracing::warn;

use super::hook::Hook;
use super::listen::Bound;
use crate::drain::order::Asked;
use crate::paced::Paced;
use crate::seats::{SEATS, Seats, Ticket};

/// A caller that has not said what it wants by then has left.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);

/// The most a request's head may take, in bytes.
const MAX_HEAD: usize = 16 * 1024;

/// The pause before the next accept when the kernel has nothing left to give.
const PAUSE: Duration = Duration::from_secs(1);

/// The endpoint at work, if there is one. Dropping it ends it at once.
#[derive(Debug)]
pub struct Server {
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    accepting: JoinHandle<()>,
    /// Closed once every caller has its answer.
    ended: mpsc::Receiver<()>,
}

/// Serves `bound`; what callers want goes to `ask`. Serves nothing when it is off.
///
/// # Errors
/// If the listener cannot be registered with the runtime (no descriptor or memory left).
///
/// # Panics
/// Outside a tokio runtime with I/O and time.
pub fn serve(bound: Option<Bound>, ask: mpsc::Sender<Asked>) -> io::Result<Server> {
    let Some(bound) = bound else {
        return Ok(Server { running: None });
    };
    let (alive, ended) = mpsc::channel(1);
    let door = Door {
        listener: TcpListener::from_std(bound.listener)?,
        hook: Arc::new(Hook {
            ask,
            token: bound.token,
            unreadable_said: AtomicBool::new(false),
        }),
        places: Arc::new(Semaphore::new(SEATS)),
        seats: Seats::default(),
        alive,
    };
    Ok(Server {
        running: Some(Running {
            accepting: tokio::spawn(door.stand_open()),
            ended,
        }),
    })
}

impl Server {
    /// The run is over: whoever waits for that is told so, within `deadline`.
    pub async fn shutdown(mut self, deadline: Instant) {
        let Some(running) = &mut self.running else { return };
        running.accepting.abort();
        // Nothing is ever sent: the channel closes with its last sender.
        let _ = tokio::time::timeout_at(deadline.into(), running.ended.recv()).await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

struct Door {
    listener: TcpListener,
    hook: Arc<Hook>,
    places: Arc<Semaphore>,
    seats: Seats,
    /// A copy goes with each caller.
    alive: mpsc::Sender<()>,
}

impl Door {
    async fn stand_open(self) {
        loop {
            // Whoever comes when all places are taken has that of the first who has said nothing. Those who have called
            // the hook keep theirs to the drain's end, which answers them all: until then the rest wait in the kernel's
            // queue.
            if self.places.available_permits() == 0 {
                // Those who were only just let in say what they want first.
                tokio::task::yield_now().await;
                self.seats.dismiss_the_silent();
            }
            let Ok(place) = Arc::clone(&self.places).acquire_owned().await else {
                return;
            };
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    let (hook, alive) = (Arc::clone(&self.hook), self.alive.clone());
                    let ticket = Arc::new(self.seats.take());
                    let number = ticket.number();
                    let task = tokio::spawn(async move {
                        converse(stream, hook, ticket).await;
                        drop((place, alive));
                    });
                    self.seats.seated(number, task.abort_handle());
                }
                // Descriptors or memory are short. The connection stays in the queue, so accepting again at once
                // would spin.
                Err(why) => {
                    warn!(target: "lifecycle", "accept: {why}");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }
}

/// One caller, one request.
async fn converse(stream: TcpStream, hook: Arc<Hook>, ticket: Arc<Ticket>) {
    let service = service_fn(move |request| {
        let (hook, ticket) = (Arc::clone(&hook), Arc::clone(&ticket));
        async move { Ok::<_, Infallible>(hook.answer(request, &ticket).await) }
    });
    let conversation = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(MAX_HEAD)
        .keep_alive(false)
        .serve_connection(TokioIo::new(Paced::new(stream)), service);
    // It has left, or was no HTTP: there is nobody to tell.
    let _ = conversation.await;
}
