//! Basic authorization (RFC 7617) from the user and password of a URL.

use base64::Engine;
use hyper::header::HeaderValue;

pub(super) fn basic(userinfo: &str) -> HeaderValue {
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
