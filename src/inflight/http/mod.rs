//! The HTTP/1 client of polls: `endpoint` is the URL taken apart, `client` the one connection,
//! `fault` why there was no answer.

mod client;
mod endpoint;
mod fault;

pub use client::{Answer, Client, Framing, MAX_BODY, MAX_HEADER};
pub use endpoint::{Endpoint, UrlError};
pub use fault::{Fault, Stage};
