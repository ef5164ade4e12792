//! The app's own health, followed: its `grpc.health.v1`, watched or polled, so that what it says of
//! itself is what we show.
//!
//! | file | what it does |
//! | --- | --- |
//! | `follower` | dials, talks, dials again |
//! | `watching` | one stream a name, over the one connection |
//! | `polling` | List or Check, for an app without Watch |
//! | `ear` | takes in what was heard and lost, and passes on what it comes to |
//! | `book` | what was last said of each name, and how long it counts: no I/O, no clock |
//! | `backoff` | how long until the next try: no I/O, no clock |
//! | `pace` | how often to poll: no I/O, no clock |

mod backoff;
mod book;
mod ear;
mod follower;
mod pace;
mod polling;
mod watching;

use std::time::Duration;

use super::dial::Place;

pub(super) use ear::words;
pub(super) use follower::follow;

/// `health.app`: the app's own health.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct App {
    /// Where it answers gRPC, without TLS.
    pub grpc: Place,
    /// So long its last state counts when nothing is heard any more.
    pub hold_on_disconnect: Duration,
}
