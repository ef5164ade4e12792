//! One call of the hook.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Method, Request, Response, StatusCode};
use tokio::sync::mpsc;
use tracing::warn;

use super::token;
use crate::drain::order::{Answer, Asked, News, Order, put};
use crate::seats::{Ticket, Wants};
use crate::secret::Secret;

/// The one path there is.
const PATH: &str = "/prestop";

/// From one try to the next while the program is only being started.
const STARTING: Duration = Duration::from_millis(20);

/// What is known to every call.
pub(super) struct Hook {
    pub ask: mpsc::Sender<Asked>,
    pub token: Option<Secret>,
    /// Whether it was said that the token cannot be read. Whoever reaches the pod can call, so it is said once and
    /// not for every call, until the token was read again.
    pub unreadable_said: AtomicBool,
}

impl Hook {
    /// Answers one request; a hook when the drain is over. Who leaves before that changes nothing: the order was
    /// given.
    pub async fn answer<B>(&self, request: Request<B>, ticket: &Ticket) -> Response<Full<Bytes>> {
        if (request.method(), request.uri().path()) != (&Method::GET, PATH) {
            return text(StatusCode::NOT_FOUND, "not found\n".to_owned());
        }
        if !self.lets_in(request.headers()) {
            return refused();
        }
        ticket.wants(Wants::Order);
        let told = self.drain().await;
        text(
            StatusCode::OK,
            told.unwrap_or_else(|| "over: tidegate is gone\n".to_owned()),
        )
    }

    fn lets_in(&self, headers: &HeaderMap) -> bool {
        let Some(token) = &self.token else { return true };
        let known = token::is_known(headers, token);
        let was_said = self.unreadable_said.swap(known.is_err(), Ordering::Relaxed);
        if let (Err(why), false) = (&known, was_said) {
            warn!(target: "lifecycle", "a preStop hook is refused, because lifecycle.tokenFile cannot be read: {why}");
        }
        known.unwrap_or(false)
    }

    /// Triggers the drain, or joins it, and waits until it is over; nothing when the run is over first.
    async fn drain(&self) -> Option<String> {
        loop {
            match put(&self.ask, |back| Asked::Order(Order::PreStop, back)).await? {
                Answer::Done(_) => break,
                // The program is only being started.
                Answer::Refused(_) => tokio::time::sleep(STARTING).await,
            }
        }
        let mut news: News = put(&self.ask, Asked::Follow).await?;
        loop {
            let status = Arc::clone(&news.borrow_and_update());
            if status.facts.drain_is_over() {
                return Some(format!("over: {}\n", status.facts.ending()));
            }
            news.changed().await.ok()?;
        }
    }
}

fn text(status: StatusCode, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, plain);
    response
}

fn refused() -> Response<Full<Bytes>> {
    let mut response = text(
        StatusCode::UNAUTHORIZED,
        "the token is missing or not the right one\n".to_owned(),
    );
    let bearer = HeaderValue::from_static("Bearer");
    response.headers_mut().insert(WWW_AUTHENTICATE, bearer);
    response
}
