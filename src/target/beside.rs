//! The handle on the program beside, its end and its coming back.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tracing::{info, warn};

use super::Clue;
use super::find::{NotFound, find};
use crate::child::{Pidfd, Refused, Signal};

/// How often it is looked for while it is not there. Once it is held nothing wakes up before its end.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// What is known of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sight {
    /// It has not been seen.
    NotYet,
    /// It is held.
    There,
    /// It was held, and has ended.
    Gone,
}

/// What has become of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It has ended.
    Gone,
    /// After it had, it is there again.
    Back,
}

/// The program beside us.
#[derive(Debug)]
pub struct Beside {
    clue: Clue,
    held: Mutex<Option<Arc<Pidfd>>>,
    sight: watch::Sender<Sight>,
}

impl Beside {
    /// The one that `clue` leads to; it is looked for once [`Beside::watch`] runs.
    pub fn new(clue: Clue) -> Self {
        Self {
            clue,
            held: Mutex::new(None),
            sight: watch::Sender::new(Sight::NotYet),
        }
    }

    /// Its process id while it is held.
    pub fn pid(&self) -> Option<libc::pid_t> {
        self.held().map(|held| held.pid())
    }

    /// Whether it was seen and has ended.
    pub fn is_gone(&self) -> bool {
        *self.sight.borrow() == Sight::Gone
    }

    /// Its ends and returns from now on.
    pub fn changes(&self) -> Changes {
        let sight = self.sight.subscribe();
        let last = *sight.borrow();
        Changes {
            sight,
            last,
            is_back: false,
        }
    }

    /// Sends it a signal; it is looked for once more if it is not held.
    ///
    /// # Errors
    /// [`Refused`]: it is then left to the kubelet.
    pub fn signal(&self, signal: Signal) -> Result<(), Refused> {
        match self.held() {
            Some(held) => held.signal(signal),
            None if self.is_gone() => Err(Refused::Gone(signal)),
            None => match find(&self.clue) {
                Ok(held) => held.signal(signal),
                Err(why) => Err(Refused::NotFound {
                    signal,
                    why: format!("{}: {why}", self.clue),
                }),
            },
        }
    }

    /// Looks for it, takes hold of it, waits for its end, and looks for it again, for ever.
    pub async fn watch(&self) {
        let mut said = None;
        loop {
            match find(&self.clue) {
                Ok(held) => {
                    said = None;
                    self.hold(held).await;
                }
                Err(why) => {
                    self.say_once(&mut said, why);
                    tokio::time::sleep(LOOK_AGAIN).await;
                }
            }
        }
    }

    async fn hold(&self, held: Pidfd) {
        info!(target: "target", pid = held.pid(), "{}: found", self.clue);
        let held = Arc::new(held);
        *self.lock() = Some(Arc::clone(&held));
        self.sight.send_replace(Sight::There);
        let pid = held.pid();
        match held.ended().await {
            Ok(()) => info!(target: "target", pid, "{}: it has ended", self.clue),
            Err(why) => {
                warn!(target: "target", pid, "{}: its end cannot be waited for: {why}", self.clue);
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        }
        *self.lock() = None;
        self.sight.send_replace(Sight::Gone);
    }

    /// Each reason once in a row: a program that starts slowly is no flood.
    fn say_once(&self, said: &mut Option<NotFound>, why: NotFound) {
        if said.as_ref() == Some(&why) {
            return;
        }
        match why {
            NotFound::NobodyListens | NotFound::File(_) | NotFound::Ended(_) => {
                info!(target: "target", "{}: {why}; looked for every second", self.clue);
            }
            _ => warn!(
                target: "target",
                "{}: {why}. Until it is found, its signals are left to the kubelet; looked for every second", self.clue
            ),
        }
        *said = Some(why);
    }

    fn held(&self) -> Option<Arc<Pidfd>> {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Arc<Pidfd>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The ends and returns of the program, one after the other.
#[derive(Debug)]
pub struct Changes {
    sight: watch::Receiver<Sight>,
    last: Sight,
    /// It had ended and was back before anybody heard of either.
    is_back: bool,
}

impl Changes {
    /// The next. Dropping the future loses none.
    pub async fn next(&mut self) -> Change {
        if std::mem::take(&mut self.is_back) {
            return Change::Back;
        }
        loop {
            if self.sight.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
            let now = *self.sight.borrow_and_update();
            match (std::mem::replace(&mut self.last, now), now) {
                (Sight::There, Sight::There) => {
                    self.is_back = true;
                    return Change::Gone;
                }
                (Sight::NotYet | Sight::There, Sight::Gone) => return Change::Gone,
                (Sight::Gone, Sight::There) => return Change::Back,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn no_end_is_lost_however_soon_the_next_begins() {
        let beside = Beside::new(Clue::Ports(vec![1]));
        let mut changes = beside.changes();
        beside.sight.send_replace(Sight::There);
        beside.sight.send_replace(Sight::Gone);
        assert_eq!(changes.next().await, Change::Gone);
        beside.sight.send_replace(Sight::There);
        assert_eq!(changes.next().await, Change::Back);
        beside.sight.send_replace(Sight::Gone);
        beside.sight.send_replace(Sight::There);
        assert_eq!(changes.next().await, Change::Gone);
        assert_eq!(changes.next().await, Change::Back);
    }
}
