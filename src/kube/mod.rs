//! Manifests: read, checked, wrapped.
pub mod yaml;
