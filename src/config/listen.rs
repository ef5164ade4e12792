//! Where a server listens, and addresses that are called.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use crate::health::listen::MAX_PATH;
use crate::health::{Listen, Place};
use crate::http::{PlaceError, host_and_port, is_host};

use super::entry::{Entry, Refusal, Scalar, quoted};

const FORMS: &str = "write it like 0.0.0.0:9095, [::]:9095, unix:/run/health.sock or off";

/// Parses `0.0.0.0:9095`, `[::]:9095`, `:9095` (every IPv4 address), `localhost:9095`
/// (127.0.0.1), `unix:/path` or `off`.
///
/// Refused are port 0 or above 65535, no port, a host name (nothing is resolved before the child
/// starts), and a socket path that is relative or too long.
fn parse(text: &str) -> Result<Listen, Refusal> {
    if text == "off" || text == "false" {
        return Ok(Listen::Off);
    }
    if let Some(path) = text.strip_prefix("unix:") {
        return socket_path(path).map(Listen::Unix);
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
    Ok(Listen::Tcp(SocketAddr::new(ip, port)))
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
    if path.len() > MAX_PATH || path.contains('\0') {
        return Err(Refusal(format!(
            "the socket path has {} bytes and the kernel takes {MAX_PATH}; shorten it",
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

impl Entry for Listen {
    const EXPECTS: &'static str = "an address like 0.0.0.0:9095, or off";

    fn scalar(written: Scalar<'_>) -> Result<Self, Refusal> {
        match written {
            // YAML 1.1 reads `off` as false, and so do the tools that template manifests.
            Scalar::Switch(false) => Ok(Self::Off),
            Scalar::Switch(true) => Err(Refusal::unexpected(Self::EXPECTS, "true")),
            Scalar::Number(port) => Err(Refusal(format!("{port} is no address; write 0.0.0.0:{port}"))),
            Scalar::Text(text) => parse(text),
        }
    }
}

impl Entry for Place {
    const EXPECTS: &'static str = "an address like 127.0.0.1:50051";

    fn scalar(written: Scalar<'_>) -> Result<Self, Refusal> {
        let Scalar::Text(text) = written else {
            return Err(Refusal::unexpected(Self::EXPECTS, &written.to_string()));
        };
        if let Some(path) = text.strip_prefix("unix:") {
            return socket_path(path).map(Self::Unix);
        }
        let refuse =
            |why: PlaceError| Refusal(format!("{} {why}; write it like 127.0.0.1:50051", quoted(text)));
        let (host, port) = host_and_port(text).map_err(refuse)?;
        if !is_host(host) {
            return Err(refuse(PlaceError::NoHost));
        }
        Ok(Self::Tcp {
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
        let tcp = |address: &str| Listen::Tcp(address.parse().expect("an address"));
        let unix = || Listen::Unix("/run/h.sock".into());
        for (text, listen) in [
            ("0.0.0.0:9095", tcp("0.0.0.0:9095")),
            ("[::]:9095", tcp("[::]:9095")),
            (":9095", tcp("0.0.0.0:9095")),
            ("localhost:9095", tcp("127.0.0.1:9095")),
            ("off", Listen::Off),
            ("false", Listen::Off),
            ("unix:/run/h.sock", unix()),
            ("unix:///run/h.sock", unix()),
        ] {
            assert_eq!(parse(text), Ok(listen), "{text}");
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
            assert_eq!(parse(text), Err(Refusal(format!("{why}; {FORMS}"))));
        }
        for text in ["unix:run/h.sock", "unix:", "unix:/run/"] {
            assert!(
                parse(text)
                    .expect_err(text)
                    .0
                    .contains("is no absolute path of a socket")
            );
        }
        let long = format!("unix:/{}", "x".repeat(107));
        assert_eq!(
            parse(&long),
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
