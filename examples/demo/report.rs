//! tidegate's account of a drain, read from the termination message as the kubelet would.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

/// The termination message. Whatever is missing from it is `None`: the demo shows what is there.
pub struct Report {
    /// Why the drain ended.
    pub verdict: Option<String>,
    /// Name and length of each phase, in their order.
    pub phases: Vec<(&'static str, Duration)>,
    /// Calls under way when the stop signal went out.
    pub in_flight_at_stop: Option<u64>,
    /// The time a drain may take.
    pub budget: Option<Duration>,
}

impl Report {
    /// Reads the file; `None` when it does not hold a JSON object.
    pub fn read(path: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(path).ok()?;
        let value: Value = serde_json::from_str(text.trim()).ok()?;
        let object = value.as_object()?;
        let millis = |value: &Value| {
            value
                .as_f64()
                .map(|millis| Duration::from_secs_f64(millis.max(0.0) / 1e3))
        };
        let phases = object.get("phasesMillis");
        Some(Self {
            verdict: object.get("verdict").and_then(Value::as_str).map(str::to_owned),
            phases: ["notify", "propagation", "inFlight", "stop", "kill"]
                .into_iter()
                .filter_map(|name| Some((name, millis(phases?.get(name)?)?)))
                .collect(),
            in_flight_at_stop: object.get("inFlightAtStop").and_then(Value::as_u64),
            budget: object.get("budgetMillis").and_then(millis),
        })
    }
}
