//! Which protocol the first bytes of a connection speak.

/// What an HTTP/2 client sends first (RFC 9113, section 3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The protocol, as far as it has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    /// Too few bytes yet; so many of the preface have come.
    Unsettled(usize),
    /// HTTP/1.
    Http1,
    /// HTTP/2, with prior knowledge.
    Http2,
}

impl Protocol {
    /// Takes the next bytes read, and returns how many of them belong to the preface.
    pub(super) fn read(&mut self, bytes: &[u8]) -> usize {
        let Self::Unsettled(seen) = *self else { return 0 };
        let wanted = &PREFACE[seen..];
        let matching = wanted
            .iter()
            .zip(bytes)
            .take_while(|(wanted, byte)| wanted == byte)
            .count();
        *self = if matching == wanted.len() {
            Self::Http2
        } else if matching < bytes.len() {
            Self::Http1
        } else {
            Self::Unsettled(seen + matching)
        };
        matching
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preface_in_any_pieces_is_http2() {
        for piece in 1..=PREFACE.len() {
            let mut protocol = Protocol::Unsettled(0);
            let mut taken = 0;
            for bytes in PREFACE.chunks(piece) {
                taken += protocol.read(bytes);
            }
            assert_eq!((protocol, taken), (Protocol::Http2, PREFACE.len()));
        }
    }

    #[test]
    fn anything_else_is_http1_at_its_first_other_byte() {
        let mut protocol = Protocol::Unsettled(0);
        protocol.read(b"PRI * HTTP/2");
        assert_eq!(protocol, Protocol::Unsettled(12));
        protocol.read(b".1");
        assert_eq!(protocol, Protocol::Http1);
    }

    #[test]
    fn bytes_after_the_preface_are_not_its_own() {
        let mut protocol = Protocol::Unsettled(0);
        let mut bytes = PREFACE.to_vec();
        bytes.extend([0; 9]);
        assert_eq!(protocol.read(&bytes), 24);
    }
}
