//! Watch: one stream a name, all over one connection.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tonic::{Code, Status, Streaming};

use super::backoff::{Backoff, Chance};
use super::book::Said;
use super::ear::Ear;
use super::follower::ANSWERED_WITHIN;
use crate::health::channel::Channel;
use crate::health::status::Status as State;
use crate::health::wire::health_check_response::ServingStatus;
use crate::health::wire::{HealthCheckRequest, HealthCheckResponse};

/// Streams that keep ending are opened again at least this often: an app that ends each Watch after
/// its first message is polled thereby.
const REWATCH_CAP: Duration = Duration::from_secs(5);

/// Why watching is of no more use on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// The app has no Watch.
    Unimplemented,
    /// A Watch says nothing, not even its first message, which is due at once (gRPC health checking
    /// protocol): the app hangs, or is no gRPC server.
    Silent,
}

/// Watches every name, until there is no use in it.
pub(super) async fn watch_all(channel: &Channel, ear: &Arc<Ear>) -> Ended {
    let mut streams = JoinSet::new();
    for name in ear.asked() {
        streams.spawn(watch(channel.clone(), name, Arc::clone(ear)));
    }
    match streams.join_next().await {
        Some(Ok(ended)) => ended,
        // A stream's task neither panics nor is cancelled while it is here.
        Some(Err(_)) | None => Ended::Silent,
    }
}

/// Watches one name, again and again on this connection. A stream that ends is no news of the app: the
/// last state holds.
async fn watch(channel: Channel, name: String, ear: Arc<Ear>) -> Ended {
    let mut backoff = Backoff::up_to(REWATCH_CAP);
    loop {
        let begun = Instant::now();
        match listen(&channel, &name, &ear).await {
            None => return Ended::Silent,
            Some(end) if end.code() == Code::Unimplemented => return Ended::Unimplemented,
            // Some servers answer so instead of SERVICE_UNKNOWN; the name may come yet.
            Some(end) if end.code() == Code::NotFound => {
                ear.hears(&name, Said::NoSuchName);
            }
            Some(end) => ear.loses(&name, &end),
        }
        tokio::time::sleep(backoff.after(begun.elapsed(), Chance::draw())).await;
    }
}

/// Listens to one Watch to its end, and says how it ended; nothing if it never said anything.
async fn listen(channel: &Channel, name: &str, ear: &Ear) -> Option<Status> {
    let open = async {
        let request = HealthCheckRequest {
            service: name.to_owned(),
        };
        let mut stream = channel.health().watch(request).await?.into_inner();
        let first = next(&mut stream).await?;
        Ok((stream, first))
    };
    let (mut stream, first) = match tokio::time::timeout(ANSWERED_WITHIN, open).await {
        Ok(Ok(opened)) => opened,
        Ok(Err(end)) => return Some(end),
        Err(_) => return None,
    };
    ear.hears(name, said(&first));
    loop {
        match next(&mut stream).await {
            Ok(message) => ear.hears(name, said(&message)),
            Err(end) => return Some(end),
        };
    }
}

async fn next(stream: &mut Streaming<HealthCheckResponse>) -> Result<HealthCheckResponse, Status> {
    let message = stream.message().await?;
    message.ok_or_else(|| Status::ok("it ended the Watch"))
}

/// What an answer says. A number that is none of the protocol's is UNKNOWN.
pub(super) fn said(answer: &HealthCheckResponse) -> Said {
    match answer.status() {
        ServingStatus::Serving => Said::Status(State::Serving),
        ServingStatus::NotServing => Said::Status(State::NotServing),
        ServingStatus::Unknown => Said::Status(State::Unknown),
        ServingStatus::ServiceUnknown => Said::NoSuchName,
    }
}
