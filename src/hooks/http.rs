//! A call of a URL, and the calls that registries are made of.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hyper::Method;
use hyper::StatusCode;
use hyper::header::{HeaderName, HeaderValue};

use super::deed::Failure;
use crate::host::Lookup;
use crate::http::{Endpoint, Reply, Request, Trust, call};
use crate::secret::Secret;

/// Which answers are a success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Any 2xx.
    Success,
    /// One of these.
    These(Vec<StatusCode>),
}

/// An `http` hook.
#[derive(Clone, Debug)]
pub struct HttpCall {
    /// The method.
    pub method: Method,
    /// Where to.
    pub endpoint: Endpoint,
    /// Headers beside those that HTTP needs.
    pub headers: Vec<(HeaderName, Secret)>,
    /// The body sent.
    pub body: String,
    /// Which answers are a success.
    pub expect: Expect,
    /// Whose certificates are believed, with https.
    pub trust: Trust,
}

/// What is kept from one call to the next: a name lookup that has not ended.
#[derive(Default)]
pub(super) struct Line {
    lookup: Lookup,
    changes: Changes,
}

/// Whether a call has been sent that changes what the other side knows: it may do it although nobody waits for the
/// answer any more.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes(Arc<AtomicBool>);

impl Changes {
    /// None was sent yet, of a new try.
    pub fn forget(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    pub fn are_under_way(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Line {
    pub fn changes(&self) -> &Changes {
        &self.changes
    }

    /// One exchange on a connection of its own. Only GET changes nothing (RFC 9110, 9.2.1).
    pub async fn exchange(&mut self, request: Request<'_>) -> Result<Reply, Failure> {
        if request.method() != Method::GET {
            self.changes.0.store(true, Ordering::Relaxed);
        }
        Ok(call(request, &mut self.lookup).await?)
    }

    /// A login, which changes nothing whatever its method; anything but 2xx is a failure.
    pub async fn log_in(&mut self, request: Request<'_>) -> Result<Reply, Failure> {
        succeeded(call(request, &mut self.lookup).await?)
    }

    /// The same, where anything but 2xx is a failure.
    pub async fn succeed(&mut self, request: Request<'_>) -> Result<Reply, Failure> {
        succeeded(self.exchange(request).await?)
    }
}

fn succeeded(reply: Reply) -> Result<Reply, Failure> {
    match reply.status.is_success() {
        true => Ok(reply),
        false => Err(refused(&reply)),
    }
}

/// An answer that says no. What it says besides may be anything, and stays out of the log.
pub(super) fn refused(reply: &Reply) -> Failure {
    let hint = match reply.status.as_u16() {
        300..=399 => "; redirects are not followed: use the final URL",
        401 | 403 => "; are the credentials right?",
        404 => "; is it registered, and is the address right?",
        _ => "",
    };
    Failure(format!("it answered {}{hint}", reply.status))
}

impl HttpCall {
    pub(super) async fn make(&self, line: &mut Line) -> Result<(), Failure> {
        let mut request = Request::new(self.method.clone(), &self.endpoint, &self.trust);
        for (name, value) in &self.headers {
            request.header(name.clone(), secret_header(value)?);
        }
        request.body(self.body.clone());
        let reply = line.exchange(request).await?;
        let is_success = match &self.expect {
            Expect::Success => reply.status.is_success(),
            Expect::These(statuses) => statuses.contains(&reply.status),
        };
        match is_success {
            true => Ok(()),
            false => Err(refused(&reply)),
        }
    }
}

/// A header's value, marked so that nothing shows it.
pub(super) fn secret_header(secret: &Secret) -> Result<HeaderValue, Failure> {
    let text = secret.read()?;
    let mut value = HeaderValue::from_str(&text).map_err(|_| {
        Failure("a header's value, from a file or a variable, has control characters".to_owned())
    })?;
    value.set_sensitive(true);
    Ok(value)
}
