//! Calls under way in the child, as the child itself shows them.
//!
//! ```text
//!  config ─► SourceConfig ─► Sources::poll ─┬─► prometheus ─► http ─► exposition ─► query ─┐
//!            (presets)                      ├─► json, stub_status ─► http ─────────────────┤
//!                                           ├─► exec ─► child::Spawner ─► number ──────────┤
//!                                           ├─► file ─► number ────────────────────────────┤
//!                                           └─► tcp ─► netlink or proc ─► census ──────────┤
//!                     Sample ◄── sum, where one unknown makes all unknown ◄── Reading ◄────┘
//! ```

mod exec;
pub mod exposition;
mod file;
mod json;
mod number;
mod presets;
mod prometheus;
pub mod query;
mod reading;
mod sources;
mod stub_status;
mod tcp;

pub use exec::ExecConfig;
pub use file::FileConfig;
pub use json::{JsonConfig, MAX_DOCUMENT, Path, PathError, Take};
pub use presets::Preset;
pub use prometheus::{PrometheusConfig, PrometheusConfigError};
pub use query::Absent;
pub use reading::{Reading, Sample, Unknown};
pub use sources::{Part, SourceConfig, Sources};
pub use stub_status::StubStatusConfig;
pub use tcp::{Mode, Peers, PeersError, TcpConfig};
