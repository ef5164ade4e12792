//! URLs that are read over plain HTTP.

use std::fmt;

use super::entry::{Entry, Refusal, Scalar, quoted};
use super::listen::{host_and_port, is_host};

/// An `http://` URL. `Debug` and `Display` hide the user and password.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpUrl {
    userinfo: Option<String>,
    host: String,
    port: u16,
    path: String,
}

impl HttpUrl {
    /// Parses `http://[user:password@]host[:port][/path][?query]`.
    ///
    /// # Errors
    /// Another scheme, no host, a bad port, a fragment, and letters a URL cannot hold. The
    /// refusal shows the URL without user and password.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let refuse = |why: &str| Refusal(format!("{} {why}", quoted(&redacted(text))));
        let Some((scheme, rest)) = text.split_once("://") else {
            return Err(refuse("is no URL; write it like http://127.0.0.1:9090/metrics"));
        };
        if scheme.eq_ignore_ascii_case("https") {
            return Err(refuse(
                "is https, and only plain http is spoken; name a plain port on this pod",
            ));
        }
        if !scheme.eq_ignore_ascii_case("http") {
            return Err(refuse(
                "is no http URL; write it like http://127.0.0.1:9090/metrics",
            ));
        }
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        if path.contains('#') {
            return Err(refuse("has a fragment (#), which is never sent; leave it out"));
        }
        // RFC 3986, section 3.3 and 3.4: what is not one of these is written as %XX.
        if !path
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte))
        {
            return Err(refuse("has a letter that a URL cannot hold; write it as %XX"));
        }
        let (userinfo, host) = match authority.rsplit_once('@') {
            Some((userinfo, host)) => (Some(userinfo.to_owned()), host),
            None => (None, authority),
        };
        let ends_with_host = host.ends_with(']') || !host.contains(':');
        let (host, port) = if ends_with_host {
            (host, 80)
        } else {
            host_and_port(host).map_err(refuse)?
        };
        if !is_host(host) {
            return Err(refuse("has no host; write it like http://127.0.0.1:9090/metrics"));
        }
        if userinfo
            .as_ref()
            .is_some_and(|user| !user.bytes().all(|byte| byte.is_ascii_graphic()))
        {
            return Err(refuse(
                "has a letter in its user or password that a URL cannot hold; write it as %XX",
            ));
        }
        let slash = if path.starts_with('/') { "" } else { "/" };
        Ok(Self {
            userinfo,
            host: host.to_owned(),
            port,
            path: format!("{slash}{path}"),
        })
    }

    /// The host: a name or an IP address, IPv6 in brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port, 80 unless written.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// `host:port`, for the Host header and for connecting.
    pub fn authority(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// The path and the query, at least `/`.
    pub fn path_and_query(&self) -> &str {
        &self.path
    }

    /// `user:password` as it was written, percent signs and all; a secret.
    pub fn userinfo(&self) -> Option<&str> {
        self.userinfo.as_deref()
    }
}

/// `text` without what stands before its last `@`, where a password may be, whatever else is
/// wrong with it.
fn redacted(text: &str) -> String {
    match text.rsplit_once('@') {
        None => text.to_owned(),
        Some((before, after)) => {
            let scheme = before.find("://").map_or("", |end| &before[..end + 3]);
            format!("{scheme}***@{after}")
        }
    }
}

impl fmt::Display for HttpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = if self.userinfo.is_some() { "***@" } else { "" };
        write!(f, "http://{user}{}:{}{}", self.host, self.port, self.path)
    }
}

impl fmt::Debug for HttpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Entry for HttpUrl {
    const EXPECTS: &'static str = "a URL like http://127.0.0.1:9090/metrics";

    fn scalar(written: Scalar<'_>) -> Result<Self, Refusal> {
        match written {
            Scalar::Text(text) => Self::parse(text),
            other => Err(Refusal::unexpected(Self::EXPECTS, &other.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        HttpUrl::parse(text).expect_err(text).0
    }

    #[test]
    fn urls_read_into_their_parts() {
        let url = HttpUrl::parse("http://u:p%40ss@[::1]:9090/m?format=prometheus").expect("a URL");
        assert_eq!((url.host(), url.port()), ("[::1]", 9090));
        assert_eq!(url.path_and_query(), "/m?format=prometheus");
        assert_eq!(url.userinfo(), Some("u:p%40ss"));
        let url = HttpUrl::parse("HTTP://localhost?x").expect("a URL");
        assert_eq!(
            (url.authority().as_str(), url.path_and_query()),
            ("localhost:80", "/?x")
        );
    }

    #[test]
    fn passwords_are_never_shown() {
        let url = HttpUrl::parse("http://user:secret@127.0.0.1:9090/metrics").expect("a URL");
        assert_eq!(url.to_string(), "http://***@127.0.0.1:9090/metrics");
        assert_eq!(format!("{url:?}"), "http://***@127.0.0.1:9090/metrics");
        for text in [
            "https://user:secret@host/",
            "htp://user:secret@host/",
            "user:secret@host",
            "http://user:secret/with@slash@host:0/",
            "http://user:secret@host:99999/",
            "http://user:secret@/metrics",
            "http://user:secret@host/#x",
            "http://user:secret@host/a b",
            "http://user:secr et@host/",
        ] {
            let refusal = refused(text);
            assert!(!refusal.contains("secr"), "{refusal}");
        }
    }

    #[test]
    fn what_is_no_http_url_is_refused() {
        assert_eq!(
            refused("https://127.0.0.1/metrics"),
            "\"https://127.0.0.1/metrics\" is https, and only plain http is spoken; name a plain port on this pod"
        );
        assert_eq!(
            refused("127.0.0.1:9090/metrics"),
            "\"127.0.0.1:9090/metrics\" is no URL; write it like http://127.0.0.1:9090/metrics"
        );
        assert_eq!(
            refused("http://h:0/"),
            "\"http://h:0/\" has port 0, which nobody could find"
        );
        assert_eq!(
            refused("http://h:70000/"),
            "\"http://h:70000/\" has a port above 65535"
        );
        assert!(refused("http:///metrics").contains("has no host"));
        assert!(refused("http://a b/").contains("has no host"));
        assert!(refused("http://h/{x}").contains("write it as %XX"));
        assert!(refused("http://h/x#y").contains("has a fragment"));
    }
}
