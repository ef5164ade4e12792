//! What every command that talks to a running tidegate does alike.

use std::io::{self, Write};

use super::args::Reach;
use super::{OWN_FAILURE, complain};
use crate::admin::place::{Socket, VARIABLE};
use crate::admin::{Client, ClientError, Line, Request};
use crate::child::Inherited;
use crate::drain::order::Order;

/// What a command exits with when tidegate refuses what it is asked.
pub(super) const REFUSED: u8 = 1;

/// `drain`, `resume`, `reset`, `hurry`: gives the order and prints what became of it.
pub(super) fn give(order: Order, reach: &Reach, inherited: &Inherited) -> u8 {
    inherited.unblock();
    finish(talk(async {
        let mut client = connect(reach).await?;
        match client.ask(Request::Order(order)).await? {
            Line::Done(text) => Ok(print(&text)),
            other => Ok(refused(order.word(), &other)),
        }
    }))
}

/// Runs a conversation on a runtime of its own.
pub(super) fn talk<T>(conversation: impl Future<Output = Result<T, ClientError>>) -> Result<T, ClientError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|why| ClientError::Misnamed(format!("epoll: {why}")))?;
    runtime.block_on(conversation)
}

/// Connects to the tidegate that the option, or else the variable, or else the usual places name.
pub(super) async fn connect(reach: &Reach) -> Result<Client, ClientError> {
    Client::connect(&socket(reach)?).await
}

fn socket(reach: &Reach) -> Result<Socket, ClientError> {
    match &reach.socket {
        Some(path) => Ok(Socket::Path(path.clone())),
        None => Socket::of_variable(std::env::var_os(VARIABLE).as_deref()).map_err(ClientError::Misnamed),
    }
}

/// The code to exit with; a failure is one line on stderr.
pub(super) fn finish(ended: Result<u8, ClientError>) -> u8 {
    ended.unwrap_or_else(|error| complain(&error, OWN_FAILURE))
}

/// An answer that is not what was asked for, as one line on stderr.
pub(super) fn refused(what: &str, answer: &Line) -> u8 {
    let why = match answer {
        Line::Refused(why) | Line::Done(why) => why.as_str(),
        Line::Status(_) => "answered with a status",
    };
    // What comes over a socket stays one line, and sends the terminal nothing.
    let why: String = why
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let _ = io::stderr().write_all(format!("tidegate: {what}: {why}\n").as_bytes());
    REFUSED
}

/// A line on stdout. Nobody reads it: that is the reader's affair.
pub(super) fn print(line: &str) -> u8 {
    let line: String = line
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let _ = io::stdout().write_all(format!("{line}\n").as_bytes());
    0
}
