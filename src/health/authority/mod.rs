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

mod block;

use self::block::Block;

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

#[cfg(test)]
mod tests;
