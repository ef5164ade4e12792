//! Calls under way in the child, as the child itself shows them.

mod reading;

pub use reading::{Reading, Sample, Unknown};
