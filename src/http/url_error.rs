//! What is wrong with a URL, in words that hold none of its secrets.

use thiserror::Error;

use super::place::PlaceError;

/// A URL that cannot be polled. Its text is one line and shows neither userinfo nor query string.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{shown:?} {problem}")]
pub struct UrlError {
    shown: String,
    problem: UrlProblem,
}

/// What is wrong with a URL: a clause that follows it, with the mend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum UrlProblem {
    /// No scheme, before what would be a URL with one.
    #[error("has no scheme; write http:// in front of it")]
    NoScheme,
    /// Nothing like it.
    #[error("is no URL; write it like http://127.0.0.1:9090/metrics")]
    NotAUrl,
    /// `https://`
    #[error("is https, and only plain http is spoken; name a plain port on this pod")]
    Https,
    /// Another scheme.
    #[error("is no http URL; write it like http://127.0.0.1:9090/metrics")]
    Scheme,
    /// The host or the port.
    #[error("{0}; write it like http://127.0.0.1:9090/metrics")]
    Place(#[from] PlaceError),
    /// A letter in the path or the query, RFC 3986, 3.3 and 3.4.
    #[error("has a letter that a URL cannot hold; write it as %XX")]
    Letter,
    /// A letter in the userinfo, RFC 3986, 3.2.1.
    #[error("has a letter in its user or password that a URL cannot hold; write it as %XX")]
    UserinfoLetter,
}

impl UrlError {
    pub(super) fn of(url: &str, problem: UrlProblem) -> Self {
        Self {
            shown: without_secrets(url),
            problem,
        }
    }
}

/// `url` without what stands before its last `@`, where a password may be whatever else is wrong
/// with it, without its query string, and not endless.
fn without_secrets(url: &str) -> String {
    const MOST: usize = 60;
    let shown = match url.rsplit_once('@') {
        None => url.to_owned(),
        Some((before, after)) => {
            let scheme = before.find("://").map_or("", |end| &before[..end + 3]);
            format!("{scheme}***@{after}")
        }
    };
    let (shown, cut) = match shown.split_once('?') {
        Some((path, _)) => (path, true),
        None => (shown.as_str(), false),
    };
    let begin: String = shown.chars().take(MOST).collect();
    let more = if cut || begin.len() < shown.len() {
        "…"
    } else {
        ""
    };
    format!("{begin}{more}")
}
