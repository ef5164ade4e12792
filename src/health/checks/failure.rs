//! Why a probe failed, as a sentence for `/readyz` and the log.

use std::time::Duration;

use hyper::StatusCode;
use thiserror::Error;

use crate::child::{ChildEnd, SpawnError};
use crate::drain::budget::Seconds;
use crate::health::dial::Stage;
use crate::health::follow::words;
use crate::host::DialError;

/// A probe that failed.
#[derive(Debug, Error)]
pub(super) enum Failure {
    /// There was no connection.
    #[error(transparent)]
    Dial(#[from] DialError),
    /// It took too long to answer.
    #[error("no answer within {}, {stage}", Seconds(*timeout))]
    TimedOut {
        /// The time it had.
        timeout: Duration,
        /// How far it came.
        stage: Stage,
    },
    /// HTTP, and not 2xx.
    #[error("it answered {0}{redirect}", redirect = redirect(*.0))]
    Status(StatusCode),
    /// No HTTP, or cut short.
    #[error("no whole HTTP answer: {0}")]
    Http(#[from] hyper::Error),
    /// The call failed.
    #[error("{}", words(.0))]
    Grpc(#[from] tonic::Status),
    /// gRPC, and not SERVING.
    #[error("it says {0}")]
    NotServing(&'static str),
    /// The program could not be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// The program says so.
    #[error("{0}")]
    Ended(ChildEnd),
    /// The program was ended.
    #[error("it took longer than {} and was ended", Seconds(*.0))]
    Killed(Duration),
    /// The program before it is in the kernel's hands.
    #[error("the run before it does not end, not even by SIGKILL")]
    Undying,
}

fn redirect(status: StatusCode) -> &'static str {
    if status.is_redirection() {
        "; redirects are not followed: use the final URL"
    } else {
        ""
    }
}
