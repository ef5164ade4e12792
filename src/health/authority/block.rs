//! A header block, byte by byte (RFC 7541), as far as its authority asks.

/// The replacement, valid as a host name at any length but nought.
const FILLER: u8 = b'x';

/// The static table's index of `:authority` (RFC 7541, appendix A).
const AUTHORITY: u8 = 1;

/// The name spelt out, as the C core does it for all its headers; and in Huffman codes (RFC 7541, appendix B).
const SPELT_OUT: &[u8] = b":authority";
const HUFFMAN: &[u8] = b"\xb8\x3b\x53\x39\xec\x32\x7d\x7f";

/// Where in a header block the next byte stands.
#[derive(Clone, Copy, Debug)]
pub(super) enum Block {
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
pub(super) enum After {
    Field,
    Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Text {
    /// A name, and what has to follow for it to be `:authority`; nothing where it cannot be.
    Name(Option<&'static [u8]>),
    Value,
    /// The one to overwrite.
    Authority,
}

impl Block {
    /// The place after `byte`, which is mended if it is the authority's.
    pub(super) fn next(self, byte: &mut u8) -> Self {
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
