//! `tidegate prestop`: the exec preStop hook. It triggers the drain and blocks until that is over.
//!
//! It returns once the program has its stop signal and not when it has ended: with the program the
//! container ends, and a hook that is killed with its container is a `FailedPreStopHook` event.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::{Duration, Instant};

use futures_core::Stream;
use signal_hook_tokio::Signals;

use super::args::Reach;
use super::asking;
use super::screen::{Closed, Screen, TICK};
use crate::admin::{Client, ClientError, Line, Request};
use crate::child::{Inherited, Signal};
use crate::drain::order::Order;

/// A hook may come before the socket is there: the program is started first. So one that is not there is
/// looked for again, for so long.
const EARLY: Duration = Duration::from_secs(1);
/// From one such look to the next.
const EARLY_INTERVAL: Duration = Duration::from_millis(20);

/// Does it and returns the code to exit with.
pub(super) fn run(reach: &Reach, inherited: &Inherited) -> u8 {
    asking::finish(asking::talk(async {
        // Before signals are unblocked, so that none of these ends us unheard.
        let mut interrupts = Interrupts::open();
        inherited.unblock();
        let waiting = wait(reach);
        tokio::select! {
            biased;
            ended = waiting => ended,
            signal = interrupts.next() => {
                let text = format!("{signal}: no longer waiting; the drain goes on");
                Ok(asking::refused("prestop", &Line::Refused(text)))
            }
        }
    }))
}

/// The signals that end the wait. signal-hook serves them: nothing here is lost or fatal when one comes
/// late, and the door's signalfd would be the supervisor's tool for a client's need.
struct Interrupts(Option<Signals>);

impl Interrupts {
    fn open() -> Self {
        let signals = [Signal::TERM, Signal::INT, Signal::HUP].map(Signal::number);
        // Without them the defaults end us, which does not touch the drain either.
        Self(Signals::new(signals).ok())
    }

    async fn next(&mut self) -> Signal {
        let number = match &mut self.0 {
            Some(signals) => poll_fn(|context| Pin::new(&mut *signals).poll_next(context)).await,
            None => None,
        };
        match number.and_then(Signal::new) {
            Some(signal) => signal,
            None => std::future::pending().await,
        }
    }
}

async fn wait(reach: &Reach) -> Result<u8, ClientError> {
    let mut client = find(reach).await?;
    match client.ask(Request::Order(Order::PreStop)).await {
        Ok(Line::Done(_)) => {}
        Ok(other) => return Ok(asking::refused("prestop", &other)),
        // The drain was over before it could be joined.
        Err(ClientError::WentAway(_)) => return Ok(asking::print("over: tidegate is gone")),
        Err(error) => return Err(error),
    }
    follow(&mut client).await
}

/// Looks for a tidegate that may only just have been started.
async fn find(reach: &Reach) -> Result<Client, ClientError> {
    let begun = Instant::now();
    loop {
        match asking::connect(reach).await {
            Err(ClientError::NoneFound(_)) if begun.elapsed() < EARLY => {
                tokio::time::sleep(EARLY_INTERVAL).await;
            }
            found => return found,
        }
    }
}

async fn follow(client: &mut Client) -> Result<u8, ClientError> {
    let mut screen = Screen::of_stdout();
    loop {
        tokio::select! {
            biased;
            line = client.next() => match line? {
                Some(Line::Status(status)) => {
                    if status.facts.drain_is_over() {
                        screen.end(&format!("over: {}", status.facts.ending()));
                        return Ok(0);
                    }
                    // A log that is closed is no reason to end the wait.
                    let _: Result<(), Closed> = screen.show(status, Instant::now());
                }
                Some(_) => {}
                None => {
                    screen.end("over: tidegate is gone");
                    return Ok(0);
                }
            },
            () = tokio::time::sleep(TICK), if screen.is_live() => screen.redraw(Instant::now()),
        }
    }
}
