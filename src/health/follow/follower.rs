//! Dials the app's health, talks, and dials again, until it is dropped.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tonic::Status;

use super::App;
use super::backoff::{Backoff, Chance};
use super::ear::Ear;
use super::polling::poll;
use super::watching::{Ended, watch_all};
use crate::health::bench::Bench;
use crate::health::channel::{self, Channel};
use crate::health::dial::{Dialler, Line};

/// A connection comes about within this.
const CONNECTED_WITHIN: Duration = Duration::from_secs(5);

/// A call is answered within this, a Watch by its first message. Health answers in milliseconds; this
/// is for a garbage collector's pause.
pub(super) const ANSWERED_WITHIN: Duration = Duration::from_secs(5);

/// Dials are never further apart. Inside a pod they cost nothing, and a slow start is noticed soon.
const REDIAL_CAP: Duration = Duration::from_secs(2);

/// Follows `app` and tells `bench`. It has no end of its own; dropped, it hangs up.
pub(in crate::health) async fn follow(app: App, bench: Arc<Bench>) {
    let dialler = Dialler::new(app.grpc.clone());
    let ear = Arc::new(Ear::new(app, bench));
    tokio::select! {
        () = converse(dialler, Arc::clone(&ear)) => {}
        () = ear.keep_the_hold() => {}
    }
}

async fn converse(mut dialler: Dialler, ear: Arc<Ear>) {
    let mut backoff = Backoff::up_to(REDIAL_CAP);
    loop {
        let mut lived = Duration::ZERO;
        let why = match dial(&mut dialler).await {
            Err(why) => why,
            Ok(line) => {
                let connected = Instant::now();
                let why = talk(line, &dialler.place().authority(), &ear).await;
                lived = connected.elapsed();
                why
            }
        };
        ear.loses_all(&why);
        tokio::time::sleep(backoff.after(lived, Chance::draw())).await;
    }
}

async fn dial(dialler: &mut Dialler) -> Result<Box<dyn Line>, Status> {
    match tokio::time::timeout(CONNECTED_WITHIN, dialler.dial()).await {
        Ok(Ok(line)) => Ok(line),
        Ok(Err(error)) => Err(Status::unavailable(error.to_string())),
        Err(_) => Err(Status::unavailable(format!(
            "no connection within {CONNECTED_WITHIN:?}, {}",
            dialler.stage()
        ))),
    }
}

/// Talks over one connection, and says why that ended.
async fn talk(line: Box<dyn Line>, authority: &str, ear: &Arc<Ear>) -> Status {
    let (channel, carrier) = match channel::open(line, authority).await {
        Ok(opened) => opened,
        Err(why) => return why,
    };
    tokio::select! {
        biased;
        why = carrier.carry() => why,
        why = listen(channel, ear) => why,
    }
}

async fn listen(channel: Channel, ear: &Arc<Ear>) -> Status {
    match watch_all(&channel, ear).await {
        Ended::Unimplemented => poll(&channel, ear).await,
        Ended::Silent => silent(),
    }
}

/// Why a connection is given up whose other side accepts and never answers.
pub(super) fn silent() -> Status {
    Status::unavailable(format!("no answer within {ANSWERED_WITHIN:?}"))
}
