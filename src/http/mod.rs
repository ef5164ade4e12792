//! The HTTP/1 client of polls, checks and hooks: `endpoint` is the URL taken apart, `place` the host and port in it, `userinfo`
//! the user and password, `url_error` what is wrong with it; `client` the one connection of a poll, `call` one exchange on its own, `trust` whose certificates are
//! believed in it, `fault` why there was no answer.

mod call;
mod client;
mod endpoint;
mod fault;
mod place;
mod trust;
mod url_error;
mod userinfo;

pub use call::{Reply, Request};
pub(crate) use call::{beside, call, escaped};
pub use client::{Answer, Client, Framing, MAX_BODY, MAX_HEADER};
pub use endpoint::{Endpoint, Scheme};
pub use fault::{Fault, Stage};
pub use place::{PlaceError, host_and_port, is_host};
pub use trust::Trust;
pub use url_error::{UrlError, UrlProblem};
