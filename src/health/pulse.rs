//! What a connection is doing, and since when: the ground for closing silent
//! ones, and for choosing who goes when there is no more room.
//!
//! This is the transport's own time. It decides over connections, never over the
//! drain.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::sync::futures::OwnedNotified;
use tokio::sync::{Notify, watch};
use tokio::time::Sleep;

use super::preface::Protocol;

/// How long a connection may take to say what it speaks, and an HTTP/1 request to arrive once begun.
const FIRST_WORDS: Duration = Duration::from_secs(10);

/// How long a connection may rest between requests.
const REST: Duration = Duration::from_secs(300);

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// It has not shown which protocol it speaks.
    Unsettled,
    /// It has.
    Settled,
    /// GOAWAY is queued in front of anything that is written from now on.
    SaidGoaway,
}

/// What would be lost with a connection, the least first; among equals the oldest goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Worth {
    /// No call under way since then.
    Idle(Instant),
    /// A short call under way.
    Calling(Instant),
    /// A Watch is open.
    Watching(Instant),
}

/// The pulse of one connection.
#[derive(Debug)]
pub(super) struct Pulse {
    state: Mutex<State>,
    stage: watch::Sender<Stage>,
    /// For the Watches, of which there may be a thousand: [`Stage::SaidGoaway`] is reached.
    goodbye: Arc<Notify>,
}

#[derive(Debug)]
struct State {
    protocol: Protocol,
    calls: usize,
    watches: usize,
    /// The connection's start, or the end of its last call.
    rests_since: Instant,
    /// HTTP/1 bytes have come that no call has answered yet.
    unanswered_since: Option<Instant>,
}

/// A call under way; dropping it is its end.
#[derive(Debug)]
pub(super) struct Call {
    pulse: Arc<Pulse>,
    length: Length,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    Short,
    Watch,
}

impl Pulse {
    pub(super) fn new(now: Instant) -> Self {
        let state = State {
            protocol: Protocol::Unsettled(0),
            calls: 0,
            watches: 0,
            rests_since: now,
            unanswered_since: None,
        };
        Self {
            state: Mutex::new(state),
            stage: watch::Sender::new(Stage::Unsettled),
            goodbye: Arc::default(),
        }
    }

    /// A request has arrived.
    pub(super) fn call(self: &Arc<Self>) -> Call {
        let mut state = self.state();
        state.calls += 1;
        state.unanswered_since = None;
        Call {
            pulse: Arc::clone(self),
            length: Length::Short,
        }
    }

    /// Waits until the connection has come as far as `stage`.
    pub(super) async fn reached(&self, stage: Stage) {
        // It fails only when the sender is gone, and that is our own.
        let _ = self.stage.subscribe().wait_for(|reached| *reached >= stage).await;
    }

    /// The connection has come as far as `stage`.
    pub(super) fn reach(&self, stage: Stage) {
        self.stage.send_if_modified(|reached| {
            let further = *reached < stage;
            *reached = stage.max(*reached);
            further
        });
        if stage == Stage::SaidGoaway {
            self.goodbye.notify_waiters();
        }
    }

    /// Ready at [`Stage::SaidGoaway`], if that was not reached before; see [`Pulse::has_said_goaway`].
    pub(super) fn goodbye(&self) -> OwnedNotified {
        Arc::clone(&self.goodbye).notified_owned()
    }

    /// Whether [`Stage::SaidGoaway`] is reached.
    pub(super) fn has_said_goaway(&self) -> bool {
        *self.stage.borrow() >= Stage::SaidGoaway
    }

    /// What would be lost with the connection.
    pub(super) fn worth(&self) -> Worth {
        let state = self.state();
        match (state.watches, state.calls) {
            (0, 0) => Worth::Idle(state.rests_since),
            (0, _) => Worth::Calling(state.rests_since),
            _ => Worth::Watching(state.rests_since),
        }
    }

    /// Takes note of bytes read; says how many of them belong to the HTTP/2 preface, and what follows it.
    pub(super) fn read(&self, bytes: &[u8], now: Instant) -> (usize, Protocol) {
        let mut state = self.state();
        let preface = state.protocol.read(bytes);
        let protocol = state.protocol;
        if protocol == Protocol::Http1 && state.unanswered_since.is_none() {
            state.unanswered_since = Some(now);
        }
        drop(state);
        if !matches!(protocol, Protocol::Unsettled(_)) {
            self.reach(Stage::Settled);
        }
        (preface, protocol)
    }

    /// When the connection has been silent for too long, unless a call is under way. A dead HTTP/2 peer
    /// with a call under way is found by its missing PING answers.
    fn closes_at(&self) -> Option<Instant> {
        let state = self.state();
        if state.calls > 0 {
            None
        } else if matches!(state.protocol, Protocol::Unsettled(_)) {
            Some(state.rests_since + FIRST_WORDS)
        } else if let Some(since) = state.unanswered_since {
            Some(since + FIRST_WORDS)
        } else {
            Some(state.rests_since + REST)
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Call {
    /// The call is a Watch, and will stay.
    pub(super) fn stays(&mut self) {
        if self.length == Length::Short {
            self.length = Length::Watch;
            self.pulse.state().watches += 1;
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let now = Instant::now();
        let mut state = self.pulse.state();
        state.calls -= 1;
        state.rests_since = now;
        if self.length == Length::Watch {
            state.watches -= 1;
        }
    }
}

/// Ready once the connection has been silent for too long. Looks at the pulse each time it is polled, so it
/// belongs in the connection's own task, after the connection.
pub(super) struct Silence {
    pulse: Arc<Pulse>,
    alarm: Option<Pin<Box<Sleep>>>,
}

impl Silence {
    pub(super) fn new(pulse: Arc<Pulse>) -> Self {
        Self { pulse, alarm: None }
    }
}

impl Future for Silence {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        let Some(at) = this.pulse.closes_at().map(tokio::time::Instant::from_std) else {
            return Poll::Pending;
        };
        let alarm = this
            .alarm
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(at)));
        if alarm.deadline() != at {
            alarm.as_mut().reset(at);
        }
        alarm.as_mut().poll(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_measured_from_what_was_said_last() {
        let start = Instant::now();
        let pulse = Arc::new(Pulse::new(start));
        assert_eq!(pulse.closes_at(), Some(start + FIRST_WORDS));

        // Half a request: ten seconds from its first byte, however many follow.
        let asked = start + Duration::from_secs(3);
        pulse.read(b"GET /re", asked);
        pulse.read(b"adyz", asked + Duration::from_secs(5));
        assert_eq!(pulse.closes_at(), Some(asked + FIRST_WORDS));

        let call = pulse.call();
        assert_eq!(pulse.closes_at(), None);
        drop(call);
        assert!(pulse.closes_at() >= Some(start + REST));
    }

    #[test]
    fn an_http2_connection_rests_from_its_preface_on() {
        let start = Instant::now();
        let pulse = Arc::new(Pulse::new(start));
        assert_eq!(
            pulse.read(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", start),
            (24, Protocol::Http2)
        );
        assert_eq!(pulse.closes_at(), Some(start + REST));
        pulse.read(&[0; 9], start + REST / 2);
        assert_eq!(pulse.closes_at(), Some(start + REST));
    }

    #[test]
    fn the_idle_go_before_callers_and_callers_before_watchers() {
        let start = Instant::now();
        let [old, young, caller, watcher] =
            [0, 1, 0, 0].map(|age| Arc::new(Pulse::new(start + Duration::from_secs(age))));
        let _calling = caller.call();
        let mut watching = watcher.call();
        watching.stays();
        let worth = [&old, &young, &caller, &watcher].map(|pulse| pulse.worth());
        assert!(worth.is_sorted(), "{worth:?}");
        drop(watching);
        assert!(matches!(watcher.worth(), Worth::Idle(_)));
    }
}
