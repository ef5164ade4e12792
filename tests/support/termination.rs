//! The termination message, as the kubelet reads it.

use std::path::Path;

use serde_json::Value;

/// The kubelet keeps no more of it.
pub const LIMIT: usize = 4096;

/// The report tidegate left.
#[derive(Debug)]
pub struct Termination(pub Value);

impl Termination {
    /// Reads it.
    ///
    /// # Panics
    /// When the file holds no JSON object, or more than [`LIMIT`] bytes.
    pub fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).expect("the termination log can be read");
        assert!(
            text.len() <= LIMIT,
            "{} bytes: the kubelet cuts at {LIMIT}",
            text.len()
        );
        let value: Value = serde_json::from_str(text.trim())
            .unwrap_or_else(|error| panic!("the termination message is not JSON: {error}: {text:?}"));
        assert!(
            value.is_object(),
            "the termination message is not an object: {text:?}"
        );
        Self(value)
    }

    /// Why the drain ended.
    pub fn verdict(&self) -> &str {
        self.0["verdict"]
            .as_str()
            .unwrap_or_else(|| panic!("no verdict in {}", self.0))
    }

    /// A phase's length in milliseconds, by its name: `notify`, `propagation`, `inFlight`, `stop`, `kill`.
    pub fn phase(&self, name: &str) -> f64 {
        self.0["phasesMillis"][name]
            .as_f64()
            .unwrap_or_else(|| panic!("no phase {name} in {}", self.0))
    }

    /// A text by its name.
    pub fn text(&self, name: &str) -> &str {
        self.0[name]
            .as_str()
            .unwrap_or_else(|| panic!("no text {name} in {}", self.0))
    }

    /// A number by its name.
    pub fn number(&self, name: &str) -> f64 {
        self.0[name]
            .as_f64()
            .unwrap_or_else(|| panic!("no number {name} in {}", self.0))
    }
}
