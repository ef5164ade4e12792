//! What tidegate says of itself.
//!
//! | file | what it holds |
//! | --- | --- |
//! | [`health`] | the part of `/metrics` that tells of services and checks |
//! | [`log`] | one line an event on stderr, as text or JSON |
//! | [`metrics`] | what `/metrics` shows |
//! | [`stderr`] | the way out of those lines: it never blocks and never kills |
//! | [`termination`] | the termination message a kubelet shows |

pub mod health;
pub mod log;
pub mod metrics;
pub mod stderr;
pub mod termination;
