//! Where a poll goes: an `http://` URL, taken apart once.

use std::fmt;

use hyper::Uri;
use hyper::header::HeaderValue;
use hyper::http::uri::InvalidUri;

use super::place::{PlaceError, host_and_port, is_host};
use super::url_error::{UrlError, UrlProblem};
use super::userinfo::basic;
use crate::host::Host;

/// An address to poll. Shown, it has neither userinfo nor query string, which may hold secrets.
#[derive(Clone)]
pub struct Endpoint {
    scheme: Scheme,
    host: Host,
    port: u16,
    /// `host:port` as the Host header has it.
    authority: HeaderValue,
    /// The path and query of the request line.
    target: Uri,
    authorization: Option<HeaderValue>,
    shown: String,
}

/// How its host is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// In the clear.
    Http,
    /// Over TLS.
    Https,
}

impl Endpoint {
    /// Reads `http://[user:password@]host[:port][/path][?query]`. The port defaults to 80, the path
    /// to `/`; a fragment is dropped; userinfo becomes Basic authorization (RFC 7617).
    ///
    /// # Errors
    ///
    /// Another scheme, no host, a bad port, and letters a URL cannot hold.
    pub fn parse(url: &str) -> Result<Self, UrlError> {
        let endpoint = Self::parse_any(url)?;
        match endpoint.scheme {
            Scheme::Http => Ok(endpoint),
            Scheme::Https => Err(UrlError::of(url, UrlProblem::Https)),
        }
    }

    /// The same with `https://` as well, where the port defaults to 443.
    ///
    /// # Errors
    ///
    /// As [`Endpoint::parse`].
    pub fn parse_any(url: &str) -> Result<Self, UrlError> {
        Self::take_apart(url).map_err(|problem| UrlError::of(url, problem))
    }

    fn take_apart(url: &str) -> Result<Self, UrlProblem> {
        let Some((scheme, rest)) = url.split_once("://") else {
            let would_be = Self::take_apart(&format!("http://{url}"));
            return Err(would_be.map_or(UrlProblem::NotAUrl, |_| UrlProblem::NoScheme));
        };
        let (scheme, default_port) = match scheme.to_ascii_lowercase().as_str() {
            "http" => (Scheme::Http, 80),
            "https" => (Scheme::Https, 443),
            _ => return Err(UrlProblem::Scheme),
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let (authority, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let (userinfo, place) = match authority.rsplit_once('@') {
            Some((userinfo, place)) => (Some(userinfo), place),
            None => (None, authority),
        };
        let has_port = place.contains(':') && !place.ends_with(']');
        let (host, port) = if has_port {
            host_and_port(place)?
        } else {
            (place, default_port)
        };
        if !is_host(host) {
            return Err(PlaceError::NoHost.into());
        }
        if !userinfo
            .unwrap_or_default()
            .bytes()
            .all(|byte| byte.is_ascii_graphic())
        {
            return Err(UrlProblem::UserinfoLetter);
        }
        if !target.bytes().all(is_of_a_target) {
            return Err(UrlProblem::Letter);
        }
        let slash = if target.starts_with('/') { "" } else { "/" };
        let target = format!("{slash}{target}");
        let path = target.split('?').next().unwrap_or_default();
        let word = match scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
        };
        Ok(Self {
            scheme,
            host: Host::of(host),
            port,
            authority: HeaderValue::from_str(place).map_err(|_| PlaceError::NoHost)?,
            shown: format!("{word}://{place}{path}"),
            target: target.parse().map_err(|_| UrlProblem::Letter)?,
            authorization: userinfo.map(basic),
        })
    }

    /// The host as it was written, and the port.
    pub(crate) fn host_and_port(&self) -> (&str, u16) {
        // Checked when it was taken apart.
        let place = self.authority.to_str().unwrap_or_default();
        let host = host_and_port(place).map_or(place, |(host, _)| host);
        (host, self.port)
    }

    /// The endpoint with this path and query, if its URL had neither.
    #[must_use]
    pub(crate) fn or_target(mut self, target: &'static str) -> Self {
        if self.target == "/" {
            let path = target.split('?').next().unwrap_or_default();
            self.shown = format!("{}{path}", self.shown.trim_end_matches('/'));
            self.target = Uri::from_static(target);
        }
        self
    }

    /// The endpoint with `path`, which begins with a slash and may have a query, behind its own path; its own
    /// query is dropped.
    ///
    /// # Errors
    /// The two are no path together.
    pub(crate) fn below(&self, path: &str) -> Result<Self, InvalidUri> {
        let target = format!("{}{path}", self.target.path().trim_end_matches('/'));
        let added = path.split('?').next().unwrap_or_default();
        Ok(Self {
            target: target.parse()?,
            shown: format!("{}{added}", self.shown.trim_end_matches('/')),
            ..self.clone()
        })
    }

    /// Whether it is spoken to in the clear or over TLS.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    pub(super) fn host(&self) -> &Host {
        &self.host
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn authority(&self) -> &HeaderValue {
        &self.authority
    }

    pub(crate) fn target(&self) -> &Uri {
        &self.target
    }

    pub(crate) fn authorization(&self) -> Option<&HeaderValue> {
        self.authorization.as_ref()
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({})", self.shown)
    }
}

/// Whether a path or a query may hold this byte; every other is written as `%XX`.
fn is_of_a_target(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use super::*;

    #[test]
    fn urls_are_taken_apart_once() {
        let endpoint = Endpoint::parse("http://127.0.0.1:9090/metrics?name[]=a#part").unwrap();
        assert_eq!(endpoint.port(), 9090);
        assert_eq!(endpoint.authority(), "127.0.0.1:9090");
        assert_eq!(endpoint.target(), "/metrics?name[]=a");
        assert_eq!(endpoint.to_string(), "http://127.0.0.1:9090/metrics");
        let endpoint = Endpoint::parse("http://[::1]").unwrap();
        assert_eq!((endpoint.port(), endpoint.target().path()), (80, "/"));
        assert_eq!(
            endpoint.host(),
            &Host::Addresses(vec![Ipv6Addr::LOCALHOST.into()])
        );
        assert_eq!(
            Endpoint::parse("http://app/m").unwrap().host(),
            &Host::Name("app".into())
        );
    }

    #[test]
    fn credentials_become_a_header_and_are_never_shown() {
        let endpoint =
            Endpoint::parse("http://us%40er:pass%3Aword@127.0.0.1:9090/metrics?token=abc").unwrap();
        // us@er:pass:word
        assert_eq!(
            endpoint.authorization().unwrap().to_str().unwrap(),
            "Basic dXNAZXI6cGFzczp3b3Jk"
        );
        assert_eq!(endpoint.authority(), "127.0.0.1:9090");
        let shown = format!("{endpoint} {endpoint:?} {:?}", endpoint.authorization());
        assert!(
            !shown.contains("pass") && !shown.contains("abc") && !shown.contains("dXN"),
            "{shown}"
        );
    }

    #[test]
    fn a_url_is_taken_apart_however_it_is_written() {
        let endpoint = Endpoint::parse("HTTP://localhost?x").unwrap();
        assert_eq!(
            (endpoint.port(), endpoint.target().to_string()),
            (80, "/?x".into())
        );
        assert_eq!(endpoint.to_string(), "http://localhost/");
        let endpoint = Endpoint::parse("http://u:p%40ss@[::1]:9090/m?format=prometheus").unwrap();
        assert_eq!((endpoint.port(), endpoint.target().path()), (9090, "/m"));
    }

    #[test]
    fn no_error_shows_a_secret() {
        for url in [
            "https://user:secret@host/",
            "htp://user:secret@host/",
            "user:secret@host",
            "http://user:secret/with@slash@host:0/",
            "http://user:secret@host:99999/",
            "http://user:secret@/metrics",
            "http://user:secret@host/a b",
            "http://user:secr et@host/",
            "http://user:secret@",
            "https://host/metrics?token=secret",
            "http://host/metrics?token=secret|",
        ] {
            let error = Endpoint::parse(url).unwrap_err().to_string();
            assert!(!error.contains("secr"), "{error}");
        }
    }

    #[test]
    fn what_cannot_be_polled_is_refused_with_its_mend() {
        for (url, error) in [
            (
                "https://127.0.0.1/metrics",
                "\"https://127.0.0.1/metrics\" is https, and only plain http is spoken; name a plain port on this pod",
            ),
            (
                "127.0.0.1:9090/metrics",
                "\"127.0.0.1:9090/metrics\" has no scheme; write http:// in front of it",
            ),
            (
                "ftp://h/",
                "\"ftp://h/\" is no http URL; write it like http://127.0.0.1:9090/metrics",
            ),
            (
                "http://h:0/",
                "\"http://h:0/\" has port 0, which nobody could find; write it like http://127.0.0.1:9090/metrics",
            ),
            (
                "http:///m",
                "\"http:///m\" has no host; write it like http://127.0.0.1:9090/metrics",
            ),
            (
                "http://h/\n",
                "\"http://h/\\n\" has a letter that a URL cannot hold; write it as %XX",
            ),
        ] {
            assert_eq!(Endpoint::parse(url).unwrap_err().to_string(), error);
        }
        for url in [
            "",
            "metrics",
            "/metrics",
            "http://",
            "http://a b/",
            "http://[::x]/",
            "http://::1/",
            "http://h:/",
            "http://h:99999/",
            "http://h/{x}",
        ] {
            assert!(Endpoint::parse(url).is_err(), "{url}");
        }
        let endless = format!("https://{}/", "x".repeat(10_000));
        assert!(Endpoint::parse(&endless).unwrap_err().to_string().len() < 200);
    }
}
