//! Where a server listens, and addresses that are called.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use super::entry::{Entry, Refusal, Scalar, quoted};

/// Where the health server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// Nowhere.
    Off,
    /// On an address and a port that is not 0.
    Tcp(SocketAddr),
    /// On a unix socket, an absolute path that fits in `sun_path` (unix(7)).
    Unix(PathBuf),
}

/// The longest path of a unix socket: 108 bytes with the closing NUL (unix(7)).
const LONGEST_SOCKET_PATH: usize = 107;

const FORMS: &str = "write it like 0.0.0.0:9095, [::]:9095, unix:/run/health.sock or off";

impl Listen {
    /// Parses `0.0.0.0:9095`, `[::]:9095`, `:9095` (every IPv4 address), `localhost:9095`
    /// (127.0.0.1), `unix:/path` or `off`.
    ///
    /// # Errors
    /// Port 0 or above 65535, no port, a host name (nothing is resolved before the child starts),
    /// and a socket path that is relative or too long.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        if text == "off" || text == "false" {
            return Ok(Self::Off);
        }
        if let Some(path) = text.strip_prefix("unix:") {
            return socket_path(path).map(Self::Unix);
        }
        let (host, port) =
            host_and_port(text).map_err(|why| Refusal(format!("{} {why}; {FORMS}", quoted(text))))?;
        let ip = match host {
            "" => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            "localhost" => IpAddr::V4(Ipv4Addr::LOCALHOST),
            _ => match bare(host).parse() {
                Ok(ip) => ip,
                Err(_) => return Err(Refusal(format!("{} is no IP address; {FORMS}", quoted(host)))),
            },
        };
        Ok(Self::Tcp(SocketAddr::new(ip, port)))
    }
}

fn socket_path(path: &str) -> Result<PathBuf, Refusal> {
    // unix:///run/x is how gRPC writes unix:/run/x.
    let path = path.strip_prefix("//").unwrap_or(path);
    if !path.starts_with('/') || path.ends_with('/') {
        return Err(Refusal(format!(
            "{} is no absolute path of a socket; write it like unix:/run/health.sock",
            quoted(path)
        )));
    }
    if path.len() > LONGEST_SOCKET_PATH || path.contains('\0') {
        return Err(Refusal(format!(
            "the socket path has {} bytes and the kernel takes {LONGEST_SOCKET_PATH}; shorten it",
            path.len()
        )));
    }
    Ok(PathBuf::from(path))
}

/// `[::1]` without its brackets.
fn bare(host: &str) -> &str {
    host.strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host)
}

/// Splits `host:port`; an IPv6 host keeps its brackets, which it has to have.
pub(super) fn host_and_port(text: &str) -> Result<(&str, u16), &'static str> {
    let Some((host, port)) = text.rsplit_once(':') else {
        return Err("has no port");
    };
    if host.contains(':') && !(host.starts_with('[') && host.ends_with(']')) {
        return Err("is IPv6 without brackets");
    }
    if port.is_empty() || !port.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("has no port");
    }
    match port.parse() {
        Ok(0) => Err("has port 0, which nobody could find"),
        Ok(port) => Ok((host, port)),
        Err(_) => Err("has a port above 65535"),
    }
}

/// Whether `host` is an IPv4 address, an IPv6 address in brackets or a DNS name.
pub(super) fn is_host(host: &str) -> bool {
    if let Some(inside) = host.strip_prefix('[') {
        return inside
            .strip_suffix(']')
            .is_some_and(|ip| ip.parse::<Ipv6Addr>().is_ok());
    }
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    !host.is_empty() && host.len() <= 253 && host.bytes().all(letter)
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl Entry for Listen {
    const EXPECTS: &'static str = "an address like 0.0.0.0:9095, or off";

    fn scalar(written: Scalar<'_>) -> Result<Self, Refusal> {
        match written {
            // YAML 1.1 reads `off` as false, and so do the tools that template manifests.
            Scalar::Switch(false) => Ok(Self::Off),
            Scalar::Switch(true) => Err(Refusal::unexpected(Self::EXPECTS, "true")),
            Scalar::Number(port) => Err(Refusal(format!("{port} is no address; write 0.0.0.0:{port}"))),
            Scalar::Text(text) => Self::parse(text),
        }
    }
}

/// Where someone else listens: `host:port`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// A name or an IP address, IPv6 in brackets.
    pub host: String,
    /// 1 to 65535
    pub port: u16,
}

impl Entry for Address {
    const EXPECTS: &'static str = "an address like 127.0.0.1:50051";

    fn scalar(written: Scalar<'_>) -> Result<Self, Refusal> {
        let Scalar::Text(text) = written else {
            return Err(Refusal::unexpected(Self::EXPECTS, &written.to_string()));
        };
        let refuse = |why: &str| Refusal(format!("{} {why}; write it like 127.0.0.1:50051", quoted(text)));
        let (host, port) = host_and_port(text).map_err(refuse)?;
        if !is_host(host) {
            return Err(refuse("has no host"));
        }
        Ok(Self {
            host: host.to_owned(),
            port,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_to_listen_read_as_written() {
        for (text, shown) in [
            ("0.0.0.0:9095", "0.0.0.0:9095"),
            ("[::]:9095", "[::]:9095"),
            (":9095", "0.0.0.0:9095"),
            ("localhost:9095", "127.0.0.1:9095"),
            ("off", "off"),
            ("false", "off"),
            ("unix:/run/h.sock", "unix:/run/h.sock"),
            ("unix:///run/h.sock", "unix:/run/h.sock"),
        ] {
            assert_eq!(
                Listen::parse(text).map(|listen| listen.to_string()),
                Ok(shown.to_owned())
            );
        }
    }

    #[test]
    fn places_nobody_could_listen_at_are_refused() {
        for (text, why) in [
            ("0.0.0.0:0", "\"0.0.0.0:0\" has port 0, which nobody could find"),
            ("0.0.0.0:65536", "\"0.0.0.0:65536\" has a port above 65535"),
            ("0.0.0.0", "\"0.0.0.0\" has no port"),
            ("0.0.0.0:", "\"0.0.0.0:\" has no port"),
            ("0.0.0.0:http", "\"0.0.0.0:http\" has no port"),
            (":::9095", "\":::9095\" is IPv6 without brackets"),
            ("web.local:9095", "\"web.local\" is no IP address"),
            ("1.2.3:9095", "\"1.2.3\" is no IP address"),
            ("on", "\"on\" has no port"),
            ("", "\"\" has no port"),
        ] {
            assert_eq!(Listen::parse(text), Err(Refusal(format!("{why}; {FORMS}"))));
        }
        for text in ["unix:run/h.sock", "unix:", "unix:/run/"] {
            assert!(
                Listen::parse(text)
                    .expect_err(text)
                    .0
                    .contains("is no absolute path of a socket")
            );
        }
        let long = format!("unix:/{}", "x".repeat(107));
        assert_eq!(
            Listen::parse(&long),
            Err(Refusal(
                "the socket path has 108 bytes and the kernel takes 107; shorten it".into()
            ))
        );
    }

    #[test]
    fn a_lone_port_is_refused_with_its_address() {
        assert_eq!(
            Listen::scalar(Scalar::Number("9095")),
            Err(Refusal("9095 is no address; write 0.0.0.0:9095".into()))
        );
    }
}
