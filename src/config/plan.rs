//! The grace period and the times in it: what was written becomes a plan that fits, or is refused.

use std::time::Duration;

use crate::drain::budget::{Grace, Margin, PlanError, Seconds, Window, Wishes};
use crate::drain::{Budget, Plan};

use super::error::ConfigError;
use super::rules::Rules;
use super::schema::{self, Config};

/// The grace period where none is written: the pod spec's own default.
pub const DEFAULT_GRACE: Grace = Grace(Duration::from_secs(30));

impl Rules<'_> {
    pub(super) fn plan(&self, config: &Config) -> Result<Plan, ConfigError> {
        const KEYS: &[&str] = &[
            "terminationGracePeriodSeconds",
            "marginPercent",
            "preStopSeconds",
            "drain.propagation",
            "child.stopTimeout",
            "child.killWait",
        ];
        let failed = |error: PlanError| self.over(error.to_string(), KEYS);
        let grace = config.grace.map_or(DEFAULT_GRACE, |seconds| Grace(seconds.0));
        let margin = config
            .margin
            .map_or(Ok(Margin::default()), |percent| Margin::percent(percent.0));
        let margin = margin.map_err(failed)?;
        let pre_stop = config.pre_stop.map_or(Duration::ZERO, |seconds| seconds.0);
        let child = config.child.as_ref();
        let drain = config.drain.as_ref();
        let wishes = Wishes {
            propagation: None,
            quiet: drain.and_then(|drain| drain.quiet),
            stop_timeout: child.and_then(|child| child.stop_timeout),
            kill_wait: child.and_then(|child| child.kill_wait),
        };
        let range = drain
            .and_then(|drain| drain.propagation.as_ref())
            .map(|propagation| &propagation.0);
        let propagation = match range {
            None => None,
            Some(range) => self.window(range, grace, margin, pre_stop)?,
        };
        Plan::new(
            grace,
            margin,
            pre_stop,
            Wishes {
                propagation,
                ..wishes
            },
        )
        .map_err(failed)
    }

    /// The window of `{min, max}`: without `max` it ends at `min`, without `min` that is the default,
    /// or `max` when it is less.
    fn window(
        &self,
        range: &schema::Range,
        grace: Grace,
        margin: Margin,
        pre_stop: Duration,
    ) -> Result<Option<Window>, ConfigError> {
        match (range.min, range.max) {
            (None, None) => Ok(None),
            (Some(min), None) => Ok(Some(Window { min, max: min })),
            (None, Some(max)) => {
                let budget = Budget::new(grace, margin, pre_stop)
                    .map_err(|error| self.over(error.to_string(), &["preStopSeconds"]))?;
                let min = Window::within(budget).min.min(max);
                Ok(Some(Window { min, max }))
            }
            (Some(min), Some(max)) if max < min => Err(self.broken(
                format!(
                    "drain.propagation.max {} is less than drain.propagation.min {}; raise it or leave it out",
                    Seconds(max),
                    Seconds(min)
                ),
                &["drain.propagation.max", "drain.propagation.min"],
            )),
            (Some(min), Some(max)) => Ok(Some(Window { min, max })),
        }
    }
}
