//! Dependencies: what the app cannot serve without, asked by us.
//!
//! | file | what it does |
//! | --- | --- |
//! | `checker` | one check for ever: probe, count, tell |
//! | `tally` | so many failures in a row: no I/O, no clock |
//! | `probe` | one probe of any kind, within its time |
//! | `http` | a GET that answers 2xx |
//! | `exec` | a program that ends with 0, or with its group by SIGKILL |
//! | `failure` | why a probe failed, as a sentence |

mod checker;
mod exec;
mod failure;
mod http;
mod probe;
mod tally;

use std::num::NonZeroU32;
use std::time::Duration;

use super::dial::Place;
use crate::child::Command;
use crate::http::Endpoint;

pub(super) use checker::{check, unspoken};

/// An item of `health.checks`.
#[derive(Clone, Debug)]
pub struct Check {
    /// What `/readyz` calls it.
    pub name: String,
    /// What is probed.
    pub target: Target,
    /// From the begin of one probe to the begin of the next. Probes never overlap: one that takes
    /// longer delays the next.
    pub interval: Duration,
    /// A probe that takes longer has failed, its name lookup included.
    pub timeout: Duration,
    /// So many failures in a row make NOT_SERVING.
    pub failures: NonZeroU32,
}

/// What a check probes.
#[derive(Clone, Debug)]
pub enum Target {
    /// A connection can be made.
    Tcp(Place),
    /// A GET answers 2xx.
    Http(Endpoint),
    /// `grpc.health.v1` Check of the empty name says SERVING.
    Grpc(Place),
    /// The program ends with 0.
    Exec(Command),
}
