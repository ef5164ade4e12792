//! Where a poll goes: an `http://` URL, taken apart once.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use base64::Engine;
use hyper::Uri;
use hyper::header::HeaderValue;
use thiserror::Error;

/// An address to poll. Shown, it has neither userinfo nor query string, which may hold secrets.
#[derive(Clone)]
pub struct Endpoint {
    host: Host,
    port: u16,
    /// `host:port` as the Host header has it.
    authority: HeaderValue,
    /// The path and query of the request line.
    target: Uri,
    authorization: Option<HeaderValue>,
    shown: String,
}

/// What has to be dialled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Host {
    /// Known without asking anyone.
    Addresses(Vec<IpAddr>),
    /// For the system's resolver.
    Name(String),
}

/// A URL that cannot be polled.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UrlError {
    /// Not a URL.
    #[error("`{0}` is not a URL; write it like http://127.0.0.1:9090/metrics")]
    NotAUrl(String),
    /// Neither http nor understood.
    #[error("the scheme `{0}` is not supported; metrics are read inside the pod, over http://")]
    Scheme(String),
    /// A port that is no port.
    #[error("the port of `{0}` is not between 1 and 65535")]
    Port(String),
}

impl Endpoint {
    /// Reads a URL. The port defaults to 80, the path to `/`; a fragment is dropped; userinfo
    /// becomes Basic authorization (RFC 7617).
    ///
    /// # Errors
    ///
    /// Anything that is not an `http://` URL with a host. The error does not show userinfo.
    pub fn parse(url: &str) -> Result<Self, UrlError> {
        let bare = url.split('#').next().unwrap_or_default();
        let not_a_url = || UrlError::NotAUrl(without_userinfo(url));
        let uri: Uri = bare.parse().map_err(|_| not_a_url())?;
        match uri.scheme_str() {
            Some("http") => {}
            Some(other) => return Err(UrlError::Scheme(other.to_owned())),
            None => return Err(not_a_url()),
        }
        let authority = uri.authority().ok_or_else(not_a_url)?;
        let (userinfo, place) = match authority.as_str().rsplit_once('@') {
            Some((userinfo, place)) => (Some(userinfo), place),
            None => (None, authority.as_str()),
        };
        let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(not_a_url)?;
        // http's own port_u16 gives none for `:0x` and `:99999` alike, which must not become 80.
        let port = match place.strip_prefix(host).unwrap_or_default() {
            "" | ":" => 80,
            port => port[1..]
                .parse()
                .ok()
                .filter(|&port| port != 0)
                .ok_or(UrlError::Port(place.to_owned()))?,
        };
        let target = uri.path_and_query().map_or("/", |target| target.as_str());
        Ok(Self {
            host: Host::of(host),
            port,
            authority: HeaderValue::from_str(place).map_err(|_| not_a_url())?,
            target: target.parse().map_err(|_| not_a_url())?,
            authorization: userinfo.map(basic),
            shown: format!("http://{place}{}", uri.path()),
        })
    }

    pub(super) fn host(&self) -> &Host {
        &self.host
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn authority(&self) -> &HeaderValue {
        &self.authority
    }

    pub(super) fn target(&self) -> &Uri {
        &self.target
    }

    pub(super) fn authorization(&self) -> Option<&HeaderValue> {
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

impl Host {
    fn of(host: &str) -> Self {
        let literal = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'))
            .unwrap_or(host);
        if let Ok(address) = literal.parse() {
            Self::Addresses(vec![address])
        } else if host.eq_ignore_ascii_case("localhost") {
            // RFC 6761: always loopback. No resolver, and so no thread, for the usual case.
            Self::Addresses(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()])
        } else {
            Self::Name(host.to_owned())
        }
    }

    /// The addresses to dial, where they are known without asking.
    pub(super) fn addresses(&self, port: u16) -> Option<Vec<SocketAddr>> {
        match self {
            Self::Addresses(addresses) => {
                Some(addresses.iter().map(|&ip| SocketAddr::new(ip, port)).collect())
            }
            Self::Name(_) => None,
        }
    }
}

fn without_userinfo(url: &str) -> String {
    match url.rsplit_once('@') {
        Some((_, place)) => format!("…@{place}"),
        None => url.to_owned(),
    }
}

fn basic(userinfo: &str) -> HeaderValue {
    let (user, password) = userinfo.split_once(':').unwrap_or((userinfo, ""));
    let mut credentials = percent_decoded(user);
    credentials.push(b':');
    credentials.extend(percent_decoded(password));
    let text = format!(
        "Basic {}",
        base64::engine::general_purpose::STANDARD.encode(credentials)
    );
    let mut value = HeaderValue::from_str(&text).unwrap_or_else(|_| HeaderValue::from_static("Basic"));
    value.set_sensitive(true);
    value
}

/// Undoes percent-encoding (RFC 3986, 2.1); a `%` without two digits stands for itself.
fn percent_decoded(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).and_then(|&byte| char::from(byte).to_digit(16));
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match (bytes[at], digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push((high * 16 + low) as u8);
                at += 3;
            }
            (byte, ..) => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    decoded
}

#[cfg(test)]
mod tests {
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
        let error = Endpoint::parse("http://user:secret@").unwrap_err().to_string();
        assert!(!error.contains("secret"), "{error}");
    }

    #[test]
    fn what_cannot_be_polled_is_refused() {
        assert_eq!(
            Endpoint::parse("https://x/m").unwrap_err(),
            UrlError::Scheme("https".into())
        );
        for url in [
            "",
            "metrics",
            "/metrics",
            "127.0.0.1:9090",
            "http://",
            "http:///m",
            "http://a b/",
            "http://h:99999/",
            "http://h:0/",
        ] {
            assert!(Endpoint::parse(url).is_err(), "{url}");
        }
    }
}
