//! One client: one request line, then answers until it has what it wants or leaves.
//!
//! Nothing here waits on a clock but a write that does not go through. Memory is a request line, and
//! one status: a slow reader gets the latest, not all of them.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::{ReadHalf, WriteHalf};
use tokio::sync::{mpsc, oneshot};

use super::wire::{LONGEST_REQUEST, Line, Request};
use crate::drain::order::{Asked, News, Order, put};
use crate::seats::{Ticket, Wants};

/// A client that does not read for this long has left.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// Talks to one client to the end. What it asked for is done whether it stays or not.
pub(super) async fn hold(mut stream: UnixStream, ask: mpsc::Sender<Asked>, ticket: Ticket) {
    let (reader, writer) = stream.split();
    let conversation = Conversation {
        reader,
        writer,
        ask,
        ticket,
    };
    // A client that left, or a run that is over: there is nobody to tell.
    let _ = conversation.run().await;
}

struct Conversation<'a> {
    reader: ReadHalf<'a>,
    writer: WriteHalf<'a>,
    ask: mpsc::Sender<Asked>,
    ticket: Ticket,
}

impl Conversation<'_> {
    async fn run(mut self) -> io::Result<()> {
        match self.request().await? {
            None => {
                let words = Request::words();
                let why = format!("not understood; a request is one word on a line: {words}");
                self.say(&Line::Refused(why)).await
            }
            Some(Request::Order(order)) => {
                self.ticket.wants(Wants::Order);
                let answer = Line::from(self.asks(|back| Asked::Order(order, back)).await?);
                let refused = matches!(answer, Line::Refused(_));
                self.say(&answer).await?;
                match order == Order::PreStop && !refused {
                    true => self.follow().await,
                    false => Ok(()),
                }
            }
            Some(Request::Status) => {
                let status = self.asks(Asked::Status).await?;
                self.say(&Line::Status(Box::new(Arc::unwrap_or_clone(status))))
                    .await
            }
            Some(Request::Watch) => {
                self.ticket.wants(Wants::News);
                self.follow().await
            }
        }
    }

    /// The request; none when it is not one, or too long to be.
    async fn request(&mut self) -> io::Result<Option<Request>> {
        let mut line = [0; LONGEST_REQUEST];
        let mut length = 0;
        loop {
            let count = self.reader.read(&mut line[length..]).await?;
            length += count;
            let end = line[..length].iter().position(|&byte| byte == b'\n');
            match (end, count) {
                (Some(end), _) => return Ok(Request::read(&line[..end])),
                // The end of the line, or of the room for it (there is nothing more to read into).
                (None, 0) => return Ok(Request::read(&line[..length])),
                (None, _) => {}
            }
        }
    }

    async fn asks<T>(&self, question: impl FnOnce(oneshot::Sender<T>) -> Asked) -> io::Result<T> {
        put(&self.ask, question)
            .await
            .ok_or_else(|| io::Error::from(io::ErrorKind::ConnectionAborted))
    }

    /// The status now and at every change, until the client leaves or the run is over.
    async fn follow(&mut self) -> io::Result<()> {
        let mut news: News = self.asks(Asked::Follow).await?;
        loop {
            let status = Arc::clone(&news.borrow_and_update());
            self.say(&Line::Status(Box::new(Arc::unwrap_or_clone(status))))
                .await?;
            let mut more = [0];
            tokio::select! {
                biased;
                changed = news.changed() => if changed.is_err() { return Ok(()) },
                // It has left; or it says more, which is no part of the conversation.
                _ = self.reader.read(&mut more) => return Ok(()),
            }
        }
    }

    async fn say(&mut self, line: &Line) -> io::Result<()> {
        let line = line.write();
        tokio::time::timeout(WRITE_TIMEOUT, self.writer.write_all(&line)).await?
    }
}
