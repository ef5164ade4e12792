//! Health: what tidegate tells the world about taking new calls.
//!
//! | file | what it does |
//! | --- | --- |
//! | [`board`] | the one place for statuses: set, drain, undrain, latch and reset |
//! | `status` | what a name can show |
//! | `verdicts` | the rules of the board: the AND, the drain, the latch |
//! | [`audience`] | who listens, and who has been told: the evidence that may end the propagation window |
//! | `evidence` | the books that it is read out of |
//! | `readers`, `crier` | what every name shows, and who is woken when that changes |
//! | `watching` | one open Watch: the latest status, never twice the same |
//! | [`judge`] | who sets the board: the app's word, the checks', or the child's life alone |
//! | `bench` | where these come together |
//! | [`figures`] | how the checks go, in numbers |
//! | `ruling` | what is said of every name at one moment, and why |
//! | [`follow`] | the app's own health, watched or polled |
//! | [`checks`] | dependencies, probed |
//! | `channel`, `dial` | the client side of gRPC, and of any connection |
//! | `wire` | the generated messages of `grpc.health.v1` |
//! | `grpc` | gRPC's framing |
//! | `service` | Check, Watch, List |
//! | `reflection` | what is served here, for grpcurl and its like |
//! | `http` | `/readyz`, `/healthz`, `/metrics`, the ALB method, and the way to the service |
//! | [`listen`] | the port or socket, bound before the runtime starts |
//! | [`server`] | the accept loop, the limits, the shutdown |
//! | `connection` | one connection from its first byte to its GOAWAY |
//! | `connections` | all of them, and who goes when there is no more room |
//! | `pulse` | what a connection is doing, and since when |
//! | [`tls`] | the certificate, read again when it has changed |
//! | `felt` | the socket whose reads the pulse feels |
//! | `preface` | which protocol the first bytes speak |
//! | `authority` | mends an `:authority` that is no host, as a socket path is, in the bytes as they come |
//! | `outgoing` | response bodies, which know when they were taken |
//!
//! The driver has the [`Judge`] set the [`Board`], [`bind`]s before the child starts and
//! [`serve`]s after it; `server` hands each request with its peer and the time
//! to `http`, which asks the board.

pub mod audience;
mod authority;
mod bench;
pub mod board;
mod channel;
pub mod checks;
mod connection;
mod connections;
mod crier;
pub mod dial;
mod evidence;
mod felt;
pub mod figures;
pub mod follow;
mod grpc;
mod http;
pub mod judge;
pub mod listen;
mod outgoing;
mod preface;
mod pulse;
mod readers;
mod reflection;
mod ruling;
pub mod server;
mod service;
mod status;
pub mod tls;
mod verdicts;
mod watching;
mod wire;

pub use audience::{Audience, Peer};
pub use board::{Board, LIVENESS, NoSuchName, OVERALL, Readiness, Recovery, Status};
pub use checks::{Check, Target};
pub use dial::Place;
pub use follow::App;
pub use judge::{Judge, Judges};
pub use listen::{Address, BindError, Bound, Listen, bind};
pub use server::{Metrics, Server, serve};
pub use tls::Tls;
