//! A pod and the kubelet that stops it, on real processes: hooks, signals and clocks as in its source
//! (pkg/kubelet/kuberuntime/kuberuntime_container.go, killContainer and killContainersWithSyncResult;
//! kuberuntime_termination_order.go; pkg/kubelet/lifecycle/handlers.go).

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::lines::Lines;
use crate::support::patience::eventually;
use crate::support::processes::{self, MARK};
use crate::support::tidegate::Running;

/// What the kubelet leaves a container at the least, whatever its hook has spent (minimumGracePeriodInSeconds).
pub const MINIMUM_GRACE: Duration = Duration::from_secs(2);

/// A container's preStop hook.
#[derive(Clone)]
pub enum Hook {
    None,
    Sleep(Duration),
    /// Its exit code is heeded.
    Exec(Vec<String>, Vec<(String, String)>),
    /// Its status is not.
    HttpGet(SocketAddr, &'static str),
}

/// When a container gets its stop signal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Main,
    /// An init container with `restartPolicy: Always`: after every main container is gone.
    NativeSidecar,
}

/// A container: its PID 1, its hook.
#[derive(Clone)]
pub struct Container {
    pub pid: i32,
    pub hook: Hook,
    pub kind: Kind,
}

/// How a container was stopped, each moment since the kubelet began.
#[derive(Clone, Debug, Default)]
pub struct Stopped {
    pub hook_ended: Option<Duration>,
    pub hook_failed: bool,
    pub hook_said: String,
    pub told: Option<Duration>,
    pub killed: bool,
    pub gone: Option<Duration>,
}

impl Container {
    pub fn main(pid: i32, hook: Hook) -> Self {
        Self {
            pid,
            hook,
            kind: Kind::Main,
        }
    }

    pub fn native_sidecar(pid: i32) -> Self {
        Self {
            pid,
            hook: Hook::None,
            kind: Kind::NativeSidecar,
        }
    }
}

/// Whether every main container is gone.
#[derive(Default)]
struct Order {
    left: Mutex<usize>,
    changed: Condvar,
}

impl Order {
    fn one_is_gone(&self) {
        *self.left.lock().unwrap() -= 1;
        self.changed.notify_all();
    }

    fn wait_for_turn(&self, at_most: Duration) {
        let left = self.left.lock().unwrap();
        drop(
            self.changed
                .wait_timeout_while(left, at_most, |left| *left > 0)
                .unwrap(),
        );
    }
}

/// Stops the pod with this grace period, and waits until nothing of it is left.
pub fn stop_pod(grace: Duration, containers: &[Container]) -> Vec<Stopped> {
    let order = Arc::new(Order {
        left: Mutex::new(containers.iter().filter(|one| one.kind == Kind::Main).count()),
        changed: Condvar::new(),
    });
    let begun = Instant::now();
    let stopping: Vec<_> = containers
        .iter()
        .cloned()
        .map(|container| {
            let order = Arc::clone(&order);
            thread::spawn(move || {
                let stopped = stop_container(&container, grace, begun, &order);
                if container.kind == Kind::Main {
                    order.one_is_gone();
                }
                stopped
            })
        })
        .collect();
    stopping
        .into_iter()
        .map(|thread| thread.join().expect("the kubelet"))
        .collect()
}

/// Stops one container as a failed liveness probe does: hook, signal, SIGKILL, and no pod is deleted.
pub fn restart(grace: Duration, container: &Container) -> Stopped {
    let order = Order {
        left: Mutex::new(0),
        changed: Condvar::new(),
    };
    stop_container(container, grace, Instant::now(), &order)
}

fn stop_container(container: &Container, grace: Duration, begun: Instant, order: &Order) -> Stopped {
    let mut stopped = Stopped::default();
    let mut left = grace;
    if !matches!(container.hook, Hook::None) {
        let from = Instant::now();
        // One that outlasts its time is abandoned, not cancelled: whoever is called may never notice.
        if let Some((good, said)) = run_hook(&container.hook, left) {
            stopped.hook_ended = Some(begun.elapsed());
            stopped.hook_failed = !good;
            stopped.hook_said = said;
        }
        left = left.saturating_sub(from.elapsed());
    }
    if container.kind == Kind::NativeSidecar && !left.is_zero() {
        let from = Instant::now();
        order.wait_for_turn(left);
        left = left.saturating_sub(from.elapsed());
    }
    // The runtime's StopContainer: the signal, and SIGKILL when its time is up.
    let deadline = Instant::now() + left.max(MINIMUM_GRACE);
    stopped.told = Some(begun.elapsed());
    let _ = kill(Pid::from_raw(container.pid), Signal::SIGTERM);
    while processes::lives(container.pid) {
        if Instant::now() >= deadline && !stopped.killed {
            stopped.killed = true;
            let _ = kill(Pid::from_raw(container.pid), Signal::SIGKILL);
        }
        thread::sleep(Duration::from_millis(2));
    }
    stopped.gone = Some(begun.elapsed());
    stopped
}

/// Whether it was good and what it said; nothing when it outlasted its time.
fn run_hook(hook: &Hook, at_most: Duration) -> Option<(bool, String)> {
    match hook {
        Hook::None => Some((true, String::new())),
        Hook::Sleep(span) => {
            thread::sleep((*span).min(at_most));
            (*span <= at_most).then(|| (true, String::new()))
        }
        Hook::Exec(command, environment) => {
            let mut process = Command::new(&command[0])
                .args(&command[1..])
                .envs(environment.iter().cloned())
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .expect("the hook starts");
            let deadline = Instant::now() + at_most;
            loop {
                if let Some(status) = process.try_wait().expect("our own process") {
                    let mut said = String::new();
                    let _ = process.stdout.take().expect("piped").read_to_string(&mut said);
                    return Some((status.success(), said));
                }
                if Instant::now() >= deadline {
                    let _ = process.kill();
                    let _ = process.wait();
                    return None;
                }
                thread::sleep(Duration::from_millis(2));
            }
        }
        Hook::HttpGet(address, path) => {
            let Ok(mut socket) = TcpStream::connect_timeout(address, at_most) else {
                return Some((false, String::new()));
            };
            let request = format!(
                "GET {path} HTTP/1.1\r\nHost: {address}\r\nUser-Agent: kube-lifecycle/1.36\r\nConnection: close\r\n\r\n"
            );
            socket.set_read_timeout(Some(at_most)).expect("a socket option");
            let mut said = String::new();
            match socket
                .write_all(request.as_bytes())
                .and_then(|()| socket.read_to_string(&mut said))
            {
                Ok(_) => Some((said.starts_with("HTTP/1.1 "), said)),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => None,
                Err(_) => Some((false, said)),
            }
        }
    }
}

/// A program in a container of its own. Dropping it ends it and what it forked.
pub struct App {
    process: Child,
    mark: String,
    status: Option<ExitStatus>,
    pub stdout: Lines,
}

impl App {
    /// A telling child with these options, ready.
    pub fn telling(options: &[&str]) -> Self {
        let app = Self::start(&crate::support::children::telling(options));
        app.stdout.wait_for("ready ");
        app
    }

    pub fn start(command: &[String]) -> Self {
        static STARTS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = STARTS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let mark = format!("app-{}-{number}", std::process::id());
        let mut process = Command::new(&command[0])
            .args(&command[1..])
            .env(MARK, &mark)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
        let stdout = Lines::of("the app's stdout", process.stdout.take().expect("piped"));
        Self {
            process,
            mark,
            status: None,
            stdout,
        }
    }

    pub fn pid(&self) -> i32 {
        self.process.id() as i32
    }

    /// Its end, waited for.
    pub fn end(&mut self) -> ExitStatus {
        if let Some(status) = self.status {
            return status;
        }
        let status = eventually("the end of the app", || {
            self.process.try_wait().expect("our own process")
        });
        self.status = Some(status);
        status
    }

    /// The signals that it was asked to end with, in order.
    pub fn asked(&self) -> Vec<String> {
        let said = self.stdout.so_far().into_iter().map(|line| line.text);
        said.filter(|text| text.starts_with("signal ") && !text.ends_with("SIGCONT"))
            .collect()
    }

    /// Whether SIGKILL ended it.
    pub fn was_killed(&mut self) -> bool {
        self.end().signal() == Some(9)
    }
}

impl Drop for App {
    fn drop(&mut self) {
        let root = self.status.is_none().then(|| self.pid());
        processes::end_all(root, &self.mark);
        let _ = self.process.wait();
    }
}

/// A container whose PID 1 is a tidegate.
pub fn of(tidegate: &Running, hook: Hook) -> Container {
    Container::main(tidegate.pid(), hook)
}
