//! Calls under way in the child, as the child itself shows them.
//!
//! ```text
//!  config ─► SourceConfig ─► Sources::poll ─┬─► prometheus ─► http ─► exposition ─► query ─┐
//!                                           └─► …                                          │
//!                     Sample ◄── sum, where one unknown makes all unknown ◄── Reading ◄────┘
//! ```

pub mod exposition;
pub mod http;
mod prometheus;
pub mod query;
mod reading;
mod sources;

pub use prometheus::{PrometheusConfig, PrometheusConfigError};
pub use query::Absent;
pub use reading::{Reading, Sample, Unknown};
pub use sources::{SourceConfig, Sources};
