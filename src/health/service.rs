//! `grpc.health.v1`: Check, Watch and List, read from the board.

use hyper::body::Bytes;
use tonic::Code;

use super::board::{Board, LIVENESS, OVERALL};
use super::grpc::{Failure, framed};
use super::http::Caller;
use super::outgoing::Watch;
use super::wire::health_check_response::ServingStatus;
use super::wire::{HealthCheckRequest, HealthCheckResponse, HealthListResponse};

/// Names a List answers at most, as grpc-go's server has it; more are RESOURCE_EXHAUSTED.
const MAX_LISTED: usize = 100;

/// The status of one name, once.
///
/// # Errors
/// NOT_FOUND for a name that is not there.
pub(super) fn check(board: &Board, request: &HealthCheckRequest, caller: &Caller) -> Result<Bytes, Failure> {
    let name = &request.service;
    let status = board
        .shows(name)
        .ok_or_else(|| Failure::new(Code::NotFound, "no such service"))?;
    if name != LIVENESS {
        board.probed(caller.peer, status, caller.now);
    }
    Ok(message(status))
}

/// Every name with its status.
///
/// # Errors
/// RESOURCE_EXHAUSTED when they are more than fit.
pub(super) fn list(board: &Board, caller: &Caller) -> Result<Bytes, Failure> {
    let statuses = board.statuses();
    if statuses.len() > MAX_LISTED {
        let why = format!("{} services, and a list has at most {MAX_LISTED}", statuses.len());
        return Err(Failure::new(Code::ResourceExhausted, why));
    }
    let whole = board.status(OVERALL).unwrap_or_default();
    board.probed(caller.peer, whole.into(), caller.now);
    let statuses = statuses
        .into_iter()
        .map(|(name, status)| (name, response(status.into())))
        .collect();
    Ok(framed(&HealthListResponse { statuses }))
}

/// The status of one name, now and at every change.
///
/// # Errors
/// RESOURCE_EXHAUSTED when too many are open.
pub(super) fn watch(board: &Board, request: &HealthCheckRequest, caller: &Caller) -> Result<Watch, Failure> {
    let watching = board
        .watch(&request.service, caller.peer)
        .map_err(|_| Failure::new(Code::ResourceExhausted, "too many watches are open"))?;
    Ok(Watch::new(watching, &caller.pulse))
}

/// `status` as a message with its framing; they are ever the same four.
pub(super) fn message(status: ServingStatus) -> Bytes {
    Bytes::from_static(match status {
        ServingStatus::Unknown => &[0, 0, 0, 0, 0],
        ServingStatus::Serving => &[0, 0, 0, 0, 2, 8, 1],
        ServingStatus::NotServing => &[0, 0, 0, 0, 2, 8, 2],
        ServingStatus::ServiceUnknown => &[0, 0, 0, 0, 2, 8, 3],
    })
}

fn response(status: ServingStatus) -> HealthCheckResponse {
    HealthCheckResponse {
        status: status.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_by_hand_is_what_the_generated_messages_write() {
        for status in [
            ServingStatus::Unknown,
            ServingStatus::Serving,
            ServingStatus::NotServing,
            ServingStatus::ServiceUnknown,
        ] {
            assert_eq!(message(status), framed(&response(status)), "{status:?}");
        }
    }
}
