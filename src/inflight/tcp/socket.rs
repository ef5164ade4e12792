//! What the kernel says of one socket, and its numbers for the states (`tcp_states.h`).

use std::net::SocketAddr;
use std::time::Duration;

/// One socket of the kernel's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Socket {
    /// Its own port.
    pub port: u16,
    /// The other side; IPv4 in its own form, mapped or not.
    pub peer: SocketAddr,
    /// How far it is.
    pub state: State,
    /// Bytes received that the program has not read; the peer's unread FIN is one.
    pub unread: u32,
    /// Bytes sent that the peer has not acknowledged, sent yet or not; our FIN is one.
    pub unacknowledged: u32,
    /// How long ago data was last sent or received, where that is known.
    pub moved: Option<Duration>,
}

/// The states that concern us; in the others, nothing of a call is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// LISTEN
    Listening,
    /// ESTABLISHED, or CLOSE_WAIT: a peer that has said all may still be waiting for its answer.
    Open,
    /// FIN_WAIT1, CLOSING and LAST_ACK: the program is through, the kernel still sends.
    Closing,
}

impl State {
    /// The numbers of these states, as a set of bits for the kernel.
    pub const WANTED: u32 = 1 << 1 | 1 << 4 | 1 << 8 | 1 << 9 | 1 << 10 | 1 << 11;

    /// The state with the kernel's number.
    pub fn of(number: u8) -> Option<Self> {
        match number {
            1 | 8 => Some(Self::Open),
            4 | 9 | 11 => Some(Self::Closing),
            10 => Some(Self::Listening),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wanted_states_are_those_that_are_understood() {
        for number in 0..32 {
            assert_eq!(
                State::WANTED >> number & 1 == 1,
                State::of(number).is_some(),
                "{number}"
            );
        }
    }
}
