//! tidegate: PID 1 around any program in a pod, so that a release loses no calls.
//!
//! The map of the house. Dependencies point one way: `cli` hands over to the
//! driver, the driver feeds the machine, and the machine knows nothing of the
//! world.
//!
//! ```text
//!  signals ─┐                        ┌─► health board ─► gRPC / HTTP
//!  child   ─┤  Event     Action      ├─► child: signal, kill
//!  probers ─┼─────► machine ─────────┼─► hooks
//!  in-flight┤   (drain/driver.rs)    ├─► report ─► log, /metrics, termination log
//!  admin   ─┘                        └─► exit code
//! ```
//!
//! | module | what lives there |
//! | --- | --- |
//! | [`cli`] | the command line, a file a command |
//! | [`config`] | what the user writes, its layers, its validation |
//! | [`drain`] | budget, machine, quiet, report, and the driver around them |
//! | [`child`] | start, signals, reaping, terminal, exit codes; the only `unsafe` |
//! | [`inflight`] | calls under way, as the child shows them |
//! | [`kube`] | manifests: read, check, inject |
//! | [`health`] | the board of statuses, served over gRPC and HTTP |
//! | [`hooks`] | what is called when the instance leaves traffic and when it comes back |
//! | [`lifecycle`] | the httpGet preStop endpoint |
//! | [`target`] | the program in the container beside, found and held |
//! | [`admin`] | the owner-only socket, and its client |
//! | [`http`] | the HTTP/1 client of polls, checks and hooks |
//! | `aside` | work that may block, on a thread of its own |
//! | `host` | a host that is dialled: its lookup, its first address that answers |
//! | `socket_file` | the file of a unix socket, never stolen, never somebody else's |
//! | `seats` | who is connected to a small server, and who goes when there is no more room |
//! | [`secret`] | a text that nobody may see, and where it stands |
//! | `paced` | sockets that leave the one thread to others in between |
//! | [`telemetry`] | logs, metrics, the termination message |

pub mod admin;
mod aside;
pub mod child;
pub mod cli;
pub mod config;
pub mod drain;
pub mod health;
pub mod hooks;
mod host;
pub mod http;
pub mod inflight;
pub mod kube;
pub mod lifecycle;
mod paced;
mod seats;
pub mod secret;
mod socket_file;
pub mod target;
pub mod telemetry;
