//! Mends the `:authority` of HTTP/2 requests.
//!
//! Many gRPC clients send a unix socket's path there (grpc-java as it is, the C core and Swift
//! percent-encoded), and the C core the whole list where it balances over several addresses
//! (`ipv4:10.0.0.1:9095,10.0.0.2:9095`, with `%2C`). RFC 9113 allows neither, and h2 resets the stream with
//! PROTOCOL_ERROR. Nothing here reads the authority, so its value is overwritten with `x`es on the way in:
//! byte for byte, without changing a length, which leaves the frames as they were.
//!
//! The header block's dynamic table stays in step (RFC 7541, sections 2.3 and 4): our entry is no larger than the
//! client's own, since Huffman codes of what appears in a path or a host are at most eight bits. So whatever the
//! client still holds in its table, h2 holds too, at the same index. (The brackets of an IPv6 address
//! have 13 bits, which makes a byte or two: they count when a client fills its 4 096 bytes with some sixty
//! different headers.)

/// The replacement, valid as a host name at any length but nought.
const FILLER: u8 = b'x';

/// The static table's index of `:authority` (RFC 7541, appendix A).
const AUTHORITY: u8 = 1;

/// The name spelt out, as the C core does it for all its headers; and in Huffman codes (RFC 7541, appendix B).
const SPELT_OUT: &[u8] = b":authority";
const HUFFMAN: &[u8] = b"\xb8\x3b\x53\x39\xec\x32\x7d\x7f";

const HEADERS: u8 = 0x1;
const CONTINUATION: u8 = 0x9;
const FLAG_PADDED: u8 = 0x8;
const FLAG_PRIORITY: u8 = 0x20;
/// Stream dependency and weight (RFC 9113, section 6.2).
const PRIORITY_LEN: usize = 5;

/// Follows one connection's incoming frames, from the end of the preface.
#[derive(Debug)]
pub(super) struct Mender {
    frame: Frame,
    block: Block,
}

/// Where in a frame the next byte stands.
#[derive(Clone, Copy, Debug)]
enum Frame {
    /// In the nine bytes of its header.
    Header { bytes: [u8; 9], filled: usize },
    /// In a payload that says nothing of headers.
    Other { left: usize },
    /// At the pad length, then `skip` bytes, then the block.
    PadLength { left: usize, skip: usize },
    /// In a header block, after `skip` more bytes and before `padding` of them.
    Block {
        left: usize,
        skip: usize,
        padding: usize,
    },
}

/// Where in a header block the next byte stands.
#[derive(Clone, Copy, Debug)]
enum Block {
    /// At the first byte of a field.
    Field,
    /// In the rest of an integer whose value does not matter.
    Integer { then: After },
    /// At the first byte of a string's length.
    Length { text: Text },
    /// In the rest of a string's length.
    LongLength { text: Text, length: usize, shift: u32 },
    /// In a string.
    String { text: Text, left: usize },
    /// It is not HPACK; h2 will say so.
    Lost,
}

#[derive(Clone, Copy, Debug)]
enum After {
    Field,
    Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Text {
    /// A name, and what has to follow for it to be `:authority`; nothing where it cannot be.
    Name(Option<&'static [u8]>),
    Value,
    /// The one to overwrite.
    Authority,
}

impl Mender {
    pub(super) fn new() -> Self {
        Self {
            frame: Frame::START,
            block: Block::Field,
        }
    }

    /// Mends the next bytes of the connection in place.
    pub(super) fn mend(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            self.frame = match self.frame {
                Frame::Header { mut bytes, filled } => {
                    bytes[filled] = *byte;
                    if filled + 1 < bytes.len() {
                        Frame::Header {
                            bytes,
                            filled: filled + 1,
                        }
                    } else {
                        self.begin(bytes)
                    }
                }
                Frame::Other { left } => Frame::Other { left: left - 1 },
                Frame::PadLength { left, skip } => Frame::Block {
                    left: left - 1,
                    skip,
                    padding: usize::from(*byte),
                },
                Frame::Block {
                    left,
                    skip: 0,
                    padding,
                } => {
                    if left > padding {
                        self.block = self.block.next(byte);
                    }
                    Frame::Block {
                        left: left - 1,
                        skip: 0,
                        padding,
                    }
                }
                Frame::Block { left, skip, padding } => Frame::Block {
                    left: left - 1,
                    skip: skip - 1,
                    padding,
                },
            };
            if self.frame.is_over() {
                self.frame = Frame::START;
            }
        }
    }

    fn begin(&mut self, header: [u8; 9]) -> Frame {
        let [high, middle, low, kind, flags, ..] = header;
        let left = usize::from(high) << 16 | usize::from(middle) << 8 | usize::from(low);
        match kind {
            HEADERS => {
                self.block = Block::Field;
                let skip = if flags & FLAG_PRIORITY == 0 {
                    0
                } else {
                    PRIORITY_LEN
                };
                if flags & FLAG_PADDED == 0 {
                    Frame::Block {
                        left,
                        skip,
                        padding: 0,
                    }
                } else {
                    Frame::PadLength { left, skip }
                }
            }
            CONTINUATION => Frame::Block {
                left,
                skip: 0,
                padding: 0,
            },
            _ => Frame::Other { left },
        }
    }
}

impl Frame {
    const START: Self = Self::Header {
        bytes: [0; 9],
        filled: 0,
    };

    fn is_over(self) -> bool {
        match self {
            Self::Header { .. } => false,
            Self::Other { left } | Self::PadLength { left, .. } | Self::Block { left, .. } => left == 0,
        }
    }
}

impl Block {
    /// The place after `byte`, which is mended if it is the authority's.
    fn next(self, byte: &mut u8) -> Self {
        match self {
            Self::Field => Self::field(*byte),
            Self::Integer { then } if *byte & 0x80 == 0 => match then {
                After::Field => Self::Field,
                After::Value => Self::Length { text: Text::Value },
            },
            Self::Integer { then } => Self::Integer { then },
            Self::Length { text } => {
                let length = *byte & 0x7f;
                let text = match text {
                    Text::Name(_) => {
                        let spelling = if *byte & 0x80 == 0 { SPELT_OUT } else { HUFFMAN };
                        Text::Name((spelling.len() == usize::from(length)).then_some(spelling))
                    }
                    Text::Value => Text::Value,
                    Text::Authority => {
                        // Not Huffman-coded any more.
                        *byte = length;
                        Text::Authority
                    }
                };
                match length {
                    0x7f => Self::LongLength {
                        text,
                        length: 0x7f,
                        shift: 0,
                    },
                    length => Self::string(text, usize::from(length)),
                }
            }
            // A length of more than 28 bits is far beyond any limit of h2's.
            Self::LongLength { shift: 28.., .. } => Self::Lost,
            Self::LongLength { text, length, shift } => {
                let length = length + (usize::from(*byte & 0x7f) << shift);
                if *byte & 0x80 == 0 {
                    Self::string(text, length)
                } else {
                    Self::LongLength {
                        text,
                        length,
                        shift: shift + 7,
                    }
                }
            }
            Self::String { text, left } => {
                let text = match text {
                    Text::Name(wanted) => Text::Name(wanted.and_then(|wanted| wanted.strip_prefix(&[*byte]))),
                    Text::Value => Text::Value,
                    Text::Authority => {
                        *byte = FILLER;
                        Text::Authority
                    }
                };
                Self::string(text, left - 1)
            }
            Self::Lost => Self::Lost,
        }
    }

    /// The first byte of a field's representation (RFC 7541, section 6).
    fn field(byte: u8) -> Self {
        match byte {
            // Indexed.
            0xff => Self::Integer { then: After::Field },
            0x80..=0xfe => Self::Field,
            // Literal with incremental indexing.
            0x40..=0x7f => Self::literal(byte & 0x3f, 0x3f),
            // Table size update.
            0x3f => Self::Integer { then: After::Field },
            0x20..=0x3e => Self::Field,
            // Literal without indexing, or never indexed.
            0x00..=0x1f => Self::literal(byte & 0x0f, 0x0f),
        }
    }

    fn literal(index: u8, all_ones: u8) -> Self {
        match index {
            0 => Self::Length {
                text: Text::Name(None),
            },
            AUTHORITY => Self::Length {
                text: Text::Authority,
            },
            index if index == all_ones => Self::Integer { then: After::Value },
            _ => Self::Length { text: Text::Value },
        }
    }

    /// A string with `left` bytes to come, or what follows it.
    fn string(text: Text, left: usize) -> Self {
        match (left, text) {
            (0, Text::Name(Some([]))) => Self::Length {
                text: Text::Authority,
            },
            (0, Text::Name(_)) => Self::Length { text: Text::Value },
            (0, Text::Value | Text::Authority) => Self::Field,
            _ => Self::String { text, left },
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let mut bytes = length[1..].to_vec();
        bytes.extend([kind, flags, 0, 0, 0, 1]);
        bytes.extend(payload);
        bytes
    }

    fn literal(first: u8, value: &[u8]) -> Vec<u8> {
        let mut bytes = vec![first];
        if value.len() < 0x7f {
            bytes.push(value.len() as u8);
        } else {
            bytes.push(0x7f);
            let mut rest = value.len() - 0x7f;
            while rest >= 0x80 {
                bytes.push(rest as u8 | 0x80);
                rest >>= 7;
            }
            bytes.push(rest as u8);
        }
        bytes.extend(value);
        bytes
    }

    fn mended(mut bytes: Vec<u8>, piece: usize) -> Vec<u8> {
        let mut mender = Mender::new();
        for piece in bytes.chunks_mut(piece) {
            mender.mend(piece);
        }
        bytes
    }

    /// A block with the authority between other fields of each kind.
    fn block(authority: &[u8]) -> Vec<u8> {
        let mut block = vec![0x83, 0x86, 0x3f, 0x12, 0xff, 0x05];
        block.extend(literal(0x44, b"/grpc.health.v1.Health/Check"));
        block.extend(literal(0x41, authority));
        block.extend([0x40, 4]);
        block.extend(b"name");
        block.extend([5]);
        block.extend(b"value");
        block.extend([0x0f, 0x2b]);
        block.extend([1, b'z']);
        block
    }

    #[test]
    fn only_the_authority_is_overwritten_however_the_bytes_arrive() {
        for path in [
            b"/run/health.sock".to_vec(),
            vec![b'/'; 126],
            vec![b'/'; 127],
            vec![b'/'; 700],
        ] {
            let mut sent = frame(0x4, 0, &[0; 12]);
            sent.extend(frame(HEADERS, 0x4, &block(&path)));
            sent.extend(frame(0x0, 0x1, b"\x41\x03/a/"));
            let mut wanted = frame(0x4, 0, &[0; 12]);
            wanted.extend(frame(HEADERS, 0x4, &block(&vec![b'x'; path.len()])));
            wanted.extend(frame(0x0, 0x1, b"\x41\x03/a/"));
            for piece in [1, 2, 7, 4096] {
                assert_eq!(mended(sent.clone(), piece), wanted);
            }
        }
    }

    #[test]
    fn a_name_spelt_out_is_the_authority_too_and_no_other_name_is() {
        for (name, is_it) in [
            (&b"\x0a:authority"[..], true),
            (b"\x88\xb8\x3b\x53\x39\xec\x32\x7d\x7f", true),
            (b"\x0a:authoritx", false),
            (b"\x0a:buthority", false),
            (b"\x09:authorit", false),
            (b"\x88\xb8\x3b\x53\x39\xec\x32\x7d\x7e", false),
        ] {
            let block = |value: &[u8]| [&[0x40], name, &[3], value, &[0x82]].concat();
            let wanted = if is_it { b"xxx" } else { b"/,/" };
            for piece in [1, 4096] {
                let sent = frame(HEADERS, 0x4, &block(b"/,/"));
                assert_eq!(
                    mended(sent, piece),
                    frame(HEADERS, 0x4, &block(wanted)),
                    "{name:?}"
                );
            }
        }
    }

    #[test]
    fn a_huffman_coded_authority_becomes_a_plain_one() {
        let sent = frame(HEADERS, 0x4, &[0x41, 0x83, 0x12, 0x34, 0x56, 0x82]);
        assert_eq!(mended(sent, 3), frame(HEADERS, 0x4, b"\x41\x03xxx\x82"));
    }

    #[test]
    fn padding_and_priority_are_stepped_over() {
        let mut payload = vec![2, 0, 0, 0, 0, 16];
        payload.extend(literal(0x01, b"/a/b"));
        payload.extend([0x41, 0x01]);
        let mut wanted = payload.clone();
        wanted[8..12].fill(b'x');
        let flags = FLAG_PADDED | FLAG_PRIORITY | 0x4;
        assert_eq!(
            mended(frame(HEADERS, flags, &payload), 1),
            frame(HEADERS, flags, &wanted)
        );
    }

    #[test]
    fn a_block_goes_on_in_its_continuation() {
        let whole = block(b"/run/health.sock");
        let wanted = block(&[b'x'; 16]);
        for cut in 1..whole.len() {
            let mut sent = frame(HEADERS, 0, &whole[..cut]);
            sent.extend(frame(CONTINUATION, 0x4, &whole[cut..]));
            let mut hoped = frame(HEADERS, 0, &wanted[..cut]);
            hoped.extend(frame(CONTINUATION, 0x4, &wanted[cut..]));
            assert_eq!(mended(sent, 5), hoped);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..600), piece in 1usize..50) {
            mended(bytes, piece);
        }

        #[test]
        fn any_block_does_no_harm(payload in proptest::collection::vec(any::<u8>(), 0..600), flags: u8) {
            mended(frame(HEADERS, flags, &payload), 64);
        }
    }
}
