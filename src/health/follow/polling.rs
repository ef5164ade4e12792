//! Polling, for an app without Watch: one List for many names, else a Check for each.

use std::sync::Arc;
use std::time::Instant;

use tonic::{Code, Status};

use super::book::{News, Said};
use super::ear::Ear;
use super::follower::{ANSWERED_WITHIN, silent};
use super::pace::Pace;
use super::watching::said;
use crate::health::channel::Channel;
use crate::health::wire::{HealthCheckRequest, HealthListRequest};

/// How an app is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// All names at once.
    List,
    /// One name after the other.
    Check,
}

/// Whether the next poll is worth hurrying for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Round {
    /// As the last time.
    Steady,
    /// Something changed, or an answer failed.
    Restless,
}

/// Polls every name until the app no longer answers, and says why. Polls never overlap: a slow one
/// delays the next.
pub(super) async fn poll(channel: &Channel, ear: &Arc<Ear>) -> Status {
    let names = ear.asked();
    let mut way = if names.len() > 1 { Way::List } else { Way::Check };
    let mut pace = Pace::new(Instant::now());
    loop {
        let begun = Instant::now();
        let round = match way {
            Way::List => match list(channel, &names, ear).await {
                Some(Ok(round)) => Some(round),
                Some(Err(NoList)) => {
                    way = Way::Check;
                    continue;
                }
                None => None,
            },
            Way::Check => check_each(channel, &names, ear).await,
        };
        let now = Instant::now();
        match round {
            None => return silent(),
            Some(Round::Restless) => pace.changed(now),
            Some(Round::Steady) => {}
        }
        tokio::time::sleep_until((begun + pace.interval(now)).into()).await;
    }
}

/// The app has no List, which is newer than Check, or too many names for one.
struct NoList;

/// One List; nothing if it was not answered in time.
async fn list(channel: &Channel, names: &[String], ear: &Ear) -> Option<Result<Round, NoList>> {
    let mut client = channel.health();
    let call = client.list(HealthListRequest {});
    let answer = tokio::time::timeout(ANSWERED_WITHIN, call).await.ok()?;
    let listed = match answer {
        Ok(answer) => answer.into_inner().statuses,
        Err(status) if matches!(status.code(), Code::Unimplemented | Code::ResourceExhausted) => {
            return Some(Err(NoList));
        }
        Err(status) => {
            ear.loses_all(&status);
            return Some(Ok(Round::Restless));
        }
    };
    let mut round = Round::Steady;
    for name in names {
        let said = listed.get(name).map_or(Said::NoSuchName, said);
        if ear.hears(name, said) == News::Changed {
            round = Round::Restless;
        }
    }
    Some(Ok(round))
}

/// A Check of each name; nothing if one was not answered in time.
async fn check_each(channel: &Channel, names: &[String], ear: &Ear) -> Option<Round> {
    let mut client = channel.health();
    let mut round = Round::Steady;
    for name in names {
        let request = HealthCheckRequest {
            service: name.clone(),
        };
        let call = client.check(request);
        let news = match tokio::time::timeout(ANSWERED_WITHIN, call).await.ok()? {
            Ok(answer) => ear.hears(name, said(answer.get_ref())),
            Err(status) if status.code() == Code::NotFound => ear.hears(name, Said::NoSuchName),
            Err(status) => {
                ear.loses(name, &status);
                // An app without any health service will not have one in a second.
                match status.code() {
                    Code::Unimplemented => News::Same,
                    _ => News::Changed,
                }
            }
        };
        if news == News::Changed {
            round = Round::Restless;
        }
    }
    Some(round)
}
