//! The bearer token of a caller (RFC 6750, 2.1).

use hyper::header::{AUTHORIZATION, HeaderMap};

use crate::secret::{Secret, SecretError};

/// Whether the caller knows the token. The file is read at each call: mounted Secrets are rotated.
///
/// # Errors
/// The token itself is not known here: nobody may call then.
pub(super) fn is_known(headers: &HeaderMap, token: &Secret) -> Result<bool, SecretError> {
    let expected = token.read()?;
    let given = headers
        .get(AUTHORIZATION)
        .map_or(&b""[..], |value| value.as_bytes());
    let given = match given.split_at_checked(b"Bearer ".len()) {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case(b"Bearer ") => rest,
        _ => return Ok(false),
    };
    // An empty file, which an editor or a failed mount leaves, is no token.
    Ok(!expected.is_empty() && is_same(given, expected.as_bytes()))
}

/// In a time that tells nothing of where they differ.
fn is_same(given: &[u8], expected: &[u8]) -> bool {
    let differing = given.iter().zip(expected).fold(0, |all, (a, b)| all | (a ^ b));
    std::hint::black_box(differing) == 0 && given.len() == expected.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knows(authorization: &str, token: &str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, authorization.parse().expect("a header"));
        is_known(&headers, &Secret::Plain(token.to_owned())).expect("a token")
    }

    #[test]
    fn only_the_whole_token_is_known() {
        assert!(knows("Bearer s3cret", "s3cret"));
        assert!(knows("bearer s3cret", "s3cret"));
        for wrong in [
            "Bearer s3cre",
            "Bearer s3cret1",
            "Bearer S3cret",
            "s3cret",
            "Basic s3cret",
            "Bearer",
            "Bearer ",
        ] {
            assert!(!knows(wrong, "s3cret"), "{wrong}");
        }
        assert!(!knows("Bearer ", ""));
        assert!(!is_known(&HeaderMap::new(), &Secret::Plain("s".into())).expect("a token"));
        assert!(is_known(&HeaderMap::new(), &Secret::File("/no/such/file".into())).is_err());
    }
}
