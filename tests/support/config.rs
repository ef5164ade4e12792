//! The configurations the tests share, with what follows from them.
//!
//! Grace periods are small, so that the suite takes minutes.

use std::time::Duration;

use super::metrics_endpoint::MetricsEndpoint;

/// A drain's timing. Everything is written out, so that a test can reckon with it.
#[derive(Clone, Debug)]
pub struct Timing {
    /// `terminationGracePeriodSeconds`
    pub grace: Duration,
    /// `drain.propagation`
    pub propagation: Duration,
    /// `drain.quiet`
    pub quiet: Duration,
    /// `child.stopTimeout`
    pub stop_timeout: Duration,
    /// `child.killWait`
    pub kill_wait: Duration,
    /// `drain.pollInterval`; `drain.pollTimeout` is the same
    pub poll: Duration,
}

/// Room enough for all phases: budget 4.8 s, the in-flight phase ends at 3.3 s at the latest.
pub const ROOMY: Timing = Timing {
    grace: Duration::from_secs(6),
    propagation: Duration::from_millis(500),
    quiet: Duration::from_millis(300),
    stop_timeout: Duration::from_secs(1),
    kill_wait: Duration::from_millis(500),
    poll: Duration::from_millis(100),
};

/// The bound comes soon: budget 3.2 s, the in-flight phase ends at 1.7 s at the latest. For tests of the bound.
pub const TIGHT: Timing = Timing {
    grace: Duration::from_secs(4),
    propagation: Duration::from_millis(200),
    quiet: Duration::from_millis(200),
    stop_timeout: Duration::from_secs(1),
    kill_wait: Duration::from_millis(500),
    poll: Duration::from_millis(100),
};

/// The bound is far: a drain that leaves early can be told from one that waited, on a slow machine too. Budget
/// 48 s.
pub const LONG: Timing = Timing {
    grace: Duration::from_secs(60),
    ..ROOMY
};

impl Timing {
    /// Everything is over within it.
    pub fn budget(&self) -> Duration {
        self.grace.mul_f64(0.8)
    }

    /// From the trigger to the end of the in-flight phase, at the latest: D − killWait − stopTimeout.
    pub fn bound(&self) -> Duration {
        self.budget() - self.kill_wait - self.stop_timeout
    }

    /// The configuration, without an in-flight source.
    pub fn unmeasured(&self) -> String {
        let millis = |time: Duration| format!("{}ms", time.as_millis());
        format!(
            "terminationGracePeriodSeconds: {}\n\
             child: {{stopTimeout: {}, killWait: {}}}\n\
             drain: {{propagation: {}, quiet: {}, pollInterval: {poll}, pollTimeout: {poll}}}\n",
            self.grace.as_secs(),
            millis(self.stop_timeout),
            millis(self.kill_wait),
            millis(self.propagation),
            millis(self.quiet),
            poll = millis(self.poll),
        )
    }

    /// The configuration with the gauge of `endpoint`.
    pub fn measured(&self, endpoint: &MetricsEndpoint) -> String {
        self.with_source(&format!(
            "prometheus: {{url: \"{}\", query: calls_in_flight}}",
            endpoint.url()
        ))
    }

    /// The configuration with one in-flight source, as YAML.
    pub fn with_source(&self, source: &str) -> String {
        format!("{}inflight:\n  - {source}\n", self.unmeasured())
    }
}
