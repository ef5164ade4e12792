//! The HTTP/1 client of polls, checks and hooks: `endpoint` is the URL taken apart, `place` the host and port in it,
//! `client` the one connection, `fault` why there was no answer.

mod client;
mod endpoint;
mod fault;
mod place;

pub use client::{Answer, Client, Framing, MAX_BODY, MAX_HEADER};
pub use endpoint::{Endpoint, UrlError, UrlProblem};
pub use fault::{Fault, Stage};
pub use place::{PlaceError, host_and_port, is_host};
