//! `host:port`, as people write where something listens.

use std::net::Ipv6Addr;

use thiserror::Error;

/// Why a text is no `host:port`: a clause that follows the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PlaceError {
    /// Nothing, or no number, behind the last colon.
    #[error("has no port")]
    NoPort,
    /// Port 0, by which the kernel is asked for any.
    #[error("has port 0, which nobody could find")]
    PortZero,
    /// More than 16 bits.
    #[error("has a port above 65535")]
    PortTooLarge,
    /// RFC 3986, 3.2.2: the colons of IPv6 stand in brackets.
    #[error("is IPv6 without brackets")]
    Unbracketed,
    /// Nothing that could be dialled.
    #[error("has no host")]
    NoHost,
}

/// Splits `host:port`; an IPv6 host keeps its brackets, which it has to have.
///
/// # Errors
/// [`PlaceError`]. Of the host only its brackets are looked at; see [`is_host`].
pub fn host_and_port(text: &str) -> Result<(&str, u16), PlaceError> {
    let (host, port) = text.rsplit_once(':').ok_or(PlaceError::NoPort)?;
    if host.contains(':') && !(host.starts_with('[') && host.ends_with(']')) {
        return Err(PlaceError::Unbracketed);
    }
    if port.is_empty() || !port.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(PlaceError::NoPort);
    }
    match port.parse() {
        Ok(0) => Err(PlaceError::PortZero),
        Ok(port) => Ok((host, port)),
        Err(_) => Err(PlaceError::PortTooLarge),
    }
}

/// Whether `host` is an IPv4 address, an IPv6 address in brackets or a DNS name.
pub fn is_host(host: &str) -> bool {
    if let Some(inside) = host.strip_prefix('[') {
        return inside
            .strip_suffix(']')
            .is_some_and(|ip| ip.parse::<Ipv6Addr>().is_ok());
    }
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    !host.is_empty() && host.len() <= 253 && host.bytes().all(letter)
}
