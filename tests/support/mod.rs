//! The harness of the outside-in tests: the real binary, real children, real sockets.
//!
//! | file | what it gives |
//! | --- | --- |
//! | [`tidegate`] | starts `tidegate run … -- CMD`, signals it, waits for its end, leaves nothing behind |
//! | [`client`] | `tidegate prestop`, `drain`, `status` and their like, at a running tidegate; and its bare socket |
//! | [`config`] | the configurations the tests share, with what follows from them |
//! | [`lines`] | an output, line by line, each with the moment it came |
//! | [`children`] | programs to wrap: one that tells which signals it got, and the example service |
//! | [`metrics_endpoint`] | a `/metrics` that answers as a test wishes, wrongly as well |
//! | [`grpc`] | Watch, Check, and calls to the example service |
//! | [`health_app`] | an app with a health service that behaves as a test wishes |
//! | [`http`] | one HTTP/1 request, as bytes |
//! | [`termination`] | the termination message |
//! | [`processes`] | what the kernel says of a process |
//! | [`ports`] | free ports |
//! | [`patience`] | how long to wait, and why |
//!
//! Two kinds of bound are asserted. **Lower bounds are exact**: no machine is so slow that something comes
//! early. **Upper bounds are generous** ([`patience::PATIENCE`]) unless the promise is a latency; then several
//! runs are made and the best one counts ([`patience::best_of`]), since noise only ever adds.

// Each test file uses its own part of the harness.
#![allow(dead_code, unused_imports)]

pub mod children;
pub mod client;
pub mod config;
pub mod grpc;
pub mod health_app;
pub mod http;
pub mod lines;
pub mod metrics_endpoint;
pub mod patience;
pub mod ports;
pub mod processes;
pub mod termination;
pub mod tidegate;

pub use nix::sys::signal::Signal;
pub use patience::PATIENCE;
pub use tidegate::{Running, Tidegate};
