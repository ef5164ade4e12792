//! What `run` and `sidecar` have in common: the sockets before the program, the servers after it, and the drive to
//! the end.

use std::convert::Infallible;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio::task::JoinError;
use tracing::warn;

use crate::admin;
use crate::child::{
    Child, Inherited, Reaper, Received, Role, Signal, Signals, SpawnError, Spawner, SuccessCodes, Terminal,
    forget_the_start,
};
use crate::config::Settings;
use crate::drain::driver::drive;
use crate::drain::hands::{Ended, Hands};
use crate::drain::machine::Machine;
use crate::drain::order::desk;
use crate::drain::poller::Poller;
use crate::drain::program::Program;
use crate::health::tls::TlsError;
use crate::health::{self, BindError, Board, Bound, Judge, Server};
use crate::hooks::{Reach, Roster};
use crate::inflight::Sources;
use crate::lifecycle;
use crate::secret::Secret;
use crate::telemetry::log;
use crate::telemetry::metrics::Metrics;

/// Those who are connected get this long to hear that we are leaving, and never past D.
const FAREWELL: Duration = Duration::from_millis(100);

/// Why a run did not begin, or broke off.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The health port could not be opened.
    #[error("health.listen: {0}")]
    Health(#[from] BindError),
    /// The health port has no identity to show.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The port of preStop hooks could not be opened.
    #[error(transparent)]
    Lifecycle(#[from] lifecycle::BindError),
    /// The program could not be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// The kernel refused what a supervisor cannot do without.
    #[error("{what}: {why}; {mend}", mend = limit(.why))]
    Kernel {
        /// What was refused.
        what: &'static str,
        /// As the kernel says.
        why: io::Error,
    },
}

/// Which limit is to be raised.
fn limit(why: &io::Error) -> &'static str {
    match why.raw_os_error() {
        Some(libc::EMFILE) => "raise the limit of open files (RLIMIT_NOFILE)",
        Some(libc::ENFILE) => "the machine has no more open files (fs.file-max)",
        _ => "raise the container's limits (open files, memory)",
    }
}

impl RunError {
    /// The code to exit with: 127 and 126 as shells have it, 125 for our own failures.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Spawn(error) => error.exit_code(),
            Self::Health(_) | Self::Lifecycle(_) | Self::Tls(_) | Self::Kernel { .. } => 125,
        }
    }

    fn kernel(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |why| Self::Kernel { what, why }
    }
}

/// The sockets, bound: what is wrong with them comes before the program runs.
pub(super) struct Doors {
    health: Bound,
    lifecycle: Option<lifecycle::Bound>,
}

impl Doors {
    pub fn open(settings: &Settings) -> Result<Self, RunError> {
        let health = health::bind(&settings.health.listen)?;
        Ok(Self {
            health: match &settings.health.tls {
                Some(tls) => health.secured_by(tls)?,
                None => health,
            },
            lifecycle: lifecycle::bind(&settings.lifecycle)?,
        })
    }
}

/// The program, and what keeps watch over it: who reaps, who starts hooks and checks, what signals come.
pub(super) struct Watched {
    pub program: Program,
    pub reaper: Reaper,
    pub spawner: Spawner,
    pub signals: Signals,
    /// Those that came before it was up.
    pub early: Vec<Received>,
    /// The terminal the child was lent; taken back when this is dropped.
    pub terminal: Option<(Terminal, Arc<Child>)>,
}

/// Serves, and drives the program to its end; the code to exit with.
pub(super) fn supervise(
    settings: &Settings,
    triggers: Vec<Signal>,
    watched: Watched,
    doors: Doors,
) -> Result<u8, RunError> {
    // Not before: the program starts as early as without us. A preStop hook that is earlier looks again.
    let admin = admin::open(&settings.admin);
    let shown = Shown::new(settings);
    let runtime = new_runtime()?;
    let ended = runtime.block_on(serve_and_drive(
        settings,
        triggers,
        watched,
        (doors, admin),
        shown,
    ));
    // Dropping it would wait for a name lookup that hangs, past D; and the kernel closes what is open faster
    // than we do.
    std::mem::forget(runtime);
    Ok(ended?.exit_code)
}

pub(super) fn start_log(settings: &Settings) {
    log::start(settings.telemetry.log_format, settings.telemetry.verbosity);
    for warning in settings.warnings() {
        warn!(target: "config", "{warning}");
    }
}

/// The signals that start the drain. A shell without job control starts what it puts in the background with
/// SIGINT and SIGQUIT ignored (POSIX 2.11): a Ctrl-C for what is in front then means nobody here, so they
/// are forwarded like any other, and the program, which ignores them as well, does what it would without us.
pub(super) fn triggers(settings: &Settings, inherited: &Inherited) -> Vec<Signal> {
    let is_for_others = |signal| matches!(signal, Signal::INT | Signal::QUIT) && inherited.ignores(signal);
    let wished = settings.drain.triggers.iter().copied();
    wished.filter(|signal| !is_for_others(*signal)).collect()
}

/// Who reaps and who reads signals, before the program runs.
pub(super) fn keepers(inherited: Inherited) -> Result<(Reaper, Signals), RunError> {
    let role = Role::take();
    if let Role::Parent(why) = &role {
        warn!(target: "child", "prctl refused the role of a subreaper ({why}): orphans of the program go to somebody else, and are neither reaped nor ended with it");
    }
    let reaper = Reaper::open(inherited, role).map_err(RunError::kernel("signalfd"))?;
    let signals = Signals::open().map_err(RunError::kernel("signalfd"))?;
    Ok((reaper, signals))
}

/// The signals that came before the program was up.
pub(super) fn pending(signals: &mut Signals) -> Result<Vec<Received>, RunError> {
    let mut early = Vec::new();
    while let Some(received) = signals.try_next().map_err(RunError::kernel("read of signals"))? {
        early.push(received);
    }
    Ok(early)
}

/// What the world sees of the run.
struct Shown {
    board: Board,
    metrics: Metrics,
}

impl Shown {
    fn new(settings: &Settings) -> Self {
        let services = settings.health.services.iter().cloned();
        Self {
            board: Board::new(services, settings.health.recovery),
            metrics: Metrics::default(),
        }
    }

    fn serve(&self, health: Bound) -> Result<Server, RunError> {
        let metrics = self.metrics.clone();
        let board = self.board.clone();
        let page = Arc::new(move || metrics.page(&board));
        health::serve(health, self.board.clone(), page).map_err(RunError::kernel("health.listen"))
    }
}

/// Descriptors the runtime opens when it is built.
const RUNTIME_DESCRIPTORS: usize = 6;

fn new_runtime() -> Result<Runtime, RunError> {
    // Some of its features panic where they find the table full.
    room_for(RUNTIME_DESCRIPTORS).map_err(RunError::kernel("epoll"))?;
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(RunError::kernel("epoll"))
}

/// Whether `count` more descriptors can be opened.
fn room_for(count: usize) -> io::Result<()> {
    let stderr = io::stderr();
    let taken: io::Result<Vec<OwnedFd>> = (0..count).map(|_| stderr.as_fd().try_clone_to_owned()).collect();
    match taken {
        // Only of a standard error that is closed, in a root without `/dev/null`.
        Err(why) if why.raw_os_error() == Some(libc::EBADF) => Ok(()),
        taken => taken.map(drop),
    }
}

/// Serves health and the admin socket, drives the program to its end, and takes leave.
async fn serve_and_drive(
    settings: &Settings,
    triggers: Vec<Signal>,
    watched: Watched,
    (doors, admin): (Doors, Option<admin::Bound>),
    shown: Shown,
) -> Result<Ended, RunError> {
    let server = shown.serve(doors.health)?;
    let (ask, asked) = desk();
    let admin = admin::serve(admin, ask.clone());
    let lifecycle = lifecycle::serve(doors.lifecycle, ask).map_err(RunError::kernel("lifecycle.listen"))?;
    let Watched {
        program,
        reaper,
        spawner,
        signals,
        early,
        terminal,
    } = watched;
    if let Program::Beside(beside) = &program {
        let beside = Arc::clone(beside);
        tokio::spawn(async move { beside.watch().await });
    }
    let sources = Sources::new(settings.inflight.clone()).started_by(&spawner);
    let hands = Hands {
        end: None,
        signals,
        judge: Judge::new(
            settings.health.judges.clone(),
            shown.board.clone(),
            spawner.clone(),
        ),
        hooks: Roster::new(
            settings.hooks.clone(),
            Reach {
                spawner: spawner.clone(),
                program: program.clone(),
                target: settings.child.signal_target,
                metrics: shown.metrics.clone(),
            },
        ),
        program,
        spawner,
        board: shown.board,
        metrics: shown.metrics,
        poller: Poller::new(sources, settings.drain.poll_timeout),
        stop_signal: settings.child.stop_signal,
        target: settings.child.signal_target,
        triggers,
        success_codes: SuccessCodes::new(settings.child.success_codes.iter().copied()),
        termination_log: settings.telemetry.termination_log.clone(),
    };
    let reaping = tokio::spawn(reaper.run());
    // A task of its own: what wakes the future of block_on goes through an eventfd, a task is just run.
    let driving = tokio::spawn(drive(Machine::new(settings.rules()), hands, early, asked));
    say_what_is_missing(settings);
    forget_the_start();
    let ended = tokio::select! {
        ended = driving => ended.map_err(io::Error::other).and_then(std::convert::identity).map_err(RunError::kernel("signals"))?,
        never = follow(terminal.as_ref()) => match never {},
        broken = reaping => return Err(RunError::Kernel { what: "signalfd", why: broke_off(broken) }),
    };
    let farewell = farewell(&ended);
    admin.shutdown(farewell).await;
    lifecycle.shutdown(farewell).await;
    server.shutdown(farewell).await;
    Ok(ended)
}

/// At the start there is time to mend it; at the drain there is none.
fn say_what_is_missing(settings: &Settings) {
    let token = settings.lifecycle.token_file.clone().map(Secret::File);
    if let Some(Err(why)) = token.map(|token| token.is_there()) {
        warn!(target: "lifecycle", "lifecycle.tokenFile: {why}; no preStop hook is let in unless that is there when it calls");
    }
    for (key, hook) in settings.hooks.each() {
        for why in hook.lacks() {
            warn!(target: "hooks", hook = hook.name, "{key}: {why}; it fails unless that is there when it is called");
        }
    }
}

/// Goes along with the program's stops on a terminal, for as long as the run lasts.
async fn follow(terminal: Option<&(Terminal, Arc<Child>)>) -> Infallible {
    if let Some((terminal, child)) = terminal {
        terminal.follow(child).await;
    }
    std::future::pending().await
}

/// Why the reaper, which has no end of its own, ended.
fn broke_off(broken: Result<io::Result<Infallible>, JoinError>) -> io::Error {
    match broken {
        Ok(Err(why)) => why,
        Err(why) => io::Error::other(why),
    }
}

/// Until when those who are connected may take their leave.
fn farewell(ended: &Ended) -> Instant {
    let until = Instant::now() + FAREWELL;
    ended.deadline.map_or(until, |deadline| until.min(deadline))
}
