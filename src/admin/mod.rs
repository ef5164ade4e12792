//! The hand on the drain: an owner-only socket to hold, undo, hurry, stop and watch a running tidegate.
//!
//! | file | what it does |
//! | --- | --- |
//! | [`place`] | where the socket is, the same for both sides |
//! | [`socket`] | the socket bound: owner-only, never stolen, never fatal |
//! | [`server`] | the accept loop and its limits |
//! | `conversation` | one client: one request line, answers as JSON lines |
//! | [`wire`] | requests and answers as lines |
//! | [`client`] | the other side: finds the socket, asks, reads |
//!
//! ```text
//!  tidegate drain ─► client ─► socket ─► conversation ─► drain::order::Asked ─► the driver's desk
//! ```
//!
//! Whoever may connect may stop the pod's program, so the file's mode is 0600 and the peer's
//! credentials are asked of the kernel too: the same user, or root.

pub mod client;
mod conversation;
pub mod place;
pub mod server;
pub mod socket;
pub mod wire;

pub use client::{Client, ClientError};
pub use place::Socket;
pub use server::{Server, serve};
pub use socket::{Bound, open};
pub use wire::{Line, Request};
