//! The clock of a drain: how long everything may take, and how that time is shared out.
//!
//! The kubelet sends SIGKILL `terminationGracePeriodSeconds` after it began to stop the
//! pod, and it counts a preStop hook's time in. So a drain is planned inside the grace
//! period less a margin, and what does not fit is refused before the child starts.

use std::fmt;
use std::time::{Duration, Instant};

/// At or below this grace period there is no time to wait for anything: the stop signal is
/// forwarded at once.
pub const SHORT_GRACE: Duration = Duration::from_secs(2);

/// Longer than any wait has to be. Longer spans are cut to it, because a moment that the
/// clock cannot represent is a panic: `9999999999999s` is a number a person can write.
pub const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// `span` after `moment`.
pub(super) fn after(moment: Instant, span: Duration) -> Instant {
    moment + span.min(LONGEST)
}

/// The pod's `terminationGracePeriodSeconds`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grace(pub Duration);

/// The share of the grace period that is never used, in percent: 0 to 99.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Margin(f64);

/// Everything, the child's death included, is over within this time of the trigger:
/// `grace × (1 − margin) − preStopSeconds`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget(pub Duration);

/// The propagation window: at least `min`; with `max` above it, over as soon as there is
/// evidence between the two that everyone who asks has been told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// It lasts this long, whatever is known.
    pub min: Duration,
    /// It never lasts longer.
    pub max: Duration,
}

/// What the user wrote of a plan; what is absent takes its default from the budget.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wishes {
    /// `drain.propagation`
    pub propagation: Option<Window>,
    /// `drain.quiet`
    pub quiet: Option<Duration>,
    /// `child.stopTimeout`
    pub stop_timeout: Option<Duration>,
    /// `child.killWait`
    pub kill_wait: Option<Duration>,
}

/// How the budget is shared out. Only [`Plan::new`] makes one, so the parts always fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The pod's grace period, the kubelet's own limit.
    pub grace: Grace,
    /// The whole.
    pub budget: Budget,
    /// The time load balancers get to notice.
    pub propagation: Window,
    /// How long in-flight has to stay quiet to be believed.
    pub quiet: Duration,
    /// Guaranteed to the child between its stop signal and SIGKILL.
    pub stop_timeout: Duration,
    /// What is left for the dead to be reaped and the leftovers to be ended; never less than
    /// [`Plan::reserve`], or we would be gone after D.
    pub kill_wait: Duration,
    /// Whether the waits are skipped because the grace period is too short for any.
    pub waits: Waits,
}

/// Whether a drain waits at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// Propagation and in-flight are waited for.
    Kept,
    /// The grace period is [`SHORT_GRACE`] or less: the stop signal is forwarded at once.
    Skipped,
}

/// Why a plan cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PlanError {
    /// The margin is not a share.
    #[error("marginPercent: {0} is not in 0 to 99; 20 leaves the kubelet's last fifth alone")]
    Margin(f64),
    /// The hook alone spends the whole budget.
    #[error(
        "preStopSeconds: {spent} leaves nothing of terminationGracePeriodSeconds {grace} − {margin}; shorten the hook or raise the grace period",
        spent = Seconds(*.spent), grace = Seconds(.grace.0)
    )]
    Spent {
        /// `preStopSeconds`
        spent: Duration,
        /// the pod's grace period
        grace: Grace,
        /// `marginPercent`
        margin: Margin,
    },
    /// propagation.min + stopTimeout + killWait is larger than the budget.
    #[error("{0}")]
    DoesNotFit(Box<DoesNotFit>),
}

/// The sum that does not fit, spelt out by its `Display`.
#[derive(Clone, Debug, PartialEq)]
pub struct DoesNotFit {
    plan: Plan,
    margin: Margin,
    pre_stop: Duration,
}

impl Window {
    /// The window where none is written: a quarter of the budget, 5 s at most.
    pub fn within(budget: Budget) -> Self {
        let window = (budget.0 / 4).min(Duration::from_secs(5));
        Self {
            min: window,
            max: window,
        }
    }
}

impl Margin {
    /// A margin of `percent`, 0 to 99.
    ///
    /// # Errors
    /// [`PlanError::Margin`] when it is outside that range or not a number.
    pub fn percent(percent: f64) -> Result<Self, PlanError> {
        // The comparison is written so that NaN fails it.
        if (0.0..=99.0).contains(&percent) {
            Ok(Self(percent))
        } else {
            Err(PlanError::Margin(percent))
        }
    }
}

impl Default for Margin {
    fn default() -> Self {
        Self(20.0)
    }
}

impl fmt::Display for Margin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", self.0)
    }
}

impl Budget {
    /// What remains of `grace` without the margin and without `pre_stop`, the time a hook
    /// that cannot be seen has already spent.
    ///
    /// # Errors
    /// [`PlanError::Spent`] when nothing remains of a grace period that had something to give.
    pub fn new(grace: Grace, margin: Margin, pre_stop: Duration) -> Result<Self, PlanError> {
        let usable = grace.0.min(LONGEST).mul_f64(1.0 - margin.0 / 100.0);
        match usable.checked_sub(pre_stop) {
            Some(left) if !left.is_zero() || pre_stop.is_zero() => Ok(Self(left)),
            _ => Err(PlanError::Spent {
                spent: pre_stop,
                grace,
                margin,
            }),
        }
    }

    fn reserve(self) -> Duration {
        Duration::from_millis(50).min(self.0 / 20)
    }
}

impl Plan {
    /// Shares the budget out: the user's wishes as they are, the rest from the budget.
    ///
    /// Defaults shrink with the budget B, because many gRPC services run with a grace
    /// period of 5 s: propagation min(5 s, B/4), quiet min(1 s, B/20),
    /// stopTimeout min(5 s, B/4), killWait min(1 s, B/10).
    ///
    /// # Errors
    /// [`PlanError`] when the parts do not fit, with the sum spelt out.
    pub fn new(grace: Grace, margin: Margin, pre_stop: Duration, wishes: Wishes) -> Result<Self, PlanError> {
        let budget = Budget::new(grace, margin, pre_stop)?;
        let share = |most: Duration, part: u32| most.min(budget.0 / part);
        let seconds = Duration::from_secs;
        let propagation = wishes.propagation.unwrap_or_else(|| Window::within(budget));
        let plan = Self {
            grace,
            budget,
            propagation,
            quiet: wishes.quiet.unwrap_or_else(|| share(seconds(1), 20)),
            stop_timeout: wishes.stop_timeout.unwrap_or_else(|| share(seconds(5), 4)),
            kill_wait: wishes
                .kill_wait
                .unwrap_or_else(|| share(seconds(1), 10))
                .max(budget.reserve()),
            waits: if grace.0 <= SHORT_GRACE {
                Waits::Skipped
            } else {
                Waits::Kept
            },
        };
        if plan.least() > budget.0 {
            return Err(PlanError::DoesNotFit(Box::new(DoesNotFit {
                plan,
                margin,
                pre_stop,
            })));
        }
        Ok(plan)
    }

    /// The end of the budget that nothing is planned into: the last SIGKILL leaves this much
    /// for the dead to be reaped and the report to be written before D.
    pub fn reserve(&self) -> Duration {
        self.budget.reserve()
    }

    /// The most time calls in flight can be waited for: what the other phases leave of the budget.
    pub fn most_in_flight(&self) -> Duration {
        self.budget.0.saturating_sub(self.least())
    }

    /// The least time a drain of this plan can be asked to fit in.
    fn least(&self) -> Duration {
        let propagation = match self.waits {
            Waits::Kept => self.propagation.min,
            Waits::Skipped => Duration::ZERO,
        };
        propagation
            .saturating_add(self.stop_timeout)
            .saturating_add(self.kill_wait)
    }
}

impl fmt::Display for DoesNotFit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = &self.plan;
        f.write_str("the budget does not hold: ")?;
        if plan.waits == Waits::Kept {
            write!(f, "drain.propagation {} + ", Seconds(plan.propagation.min))?;
        }
        write!(
            f,
            "child.stopTimeout {} + child.killWait {}{} = {}, but terminationGracePeriodSeconds {} − {}",
            Seconds(plan.stop_timeout),
            Seconds(plan.kill_wait),
            if plan.kill_wait == plan.reserve() {
                " (the least)"
            } else {
                ""
            },
            Seconds(plan.least()),
            Seconds(plan.grace.0),
            self.margin,
        )?;
        if !self.pre_stop.is_zero() {
            write!(f, " − preStopSeconds {}", Seconds(self.pre_stop))?;
        }
        write!(
            f,
            " leaves {}; shorten them by {} or raise the grace period",
            Seconds(plan.budget.0),
            Seconds(plan.least().saturating_sub(plan.budget.0)),
        )
    }
}

/// A duration as people write it in the config: `5s`, `300ms`, `1.5s`.
#[derive(Clone, Copy, Debug)]
pub struct Seconds(pub Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(duration) = *self;
        if duration < Duration::from_secs(1) && !duration.is_zero() {
            // Divided, not multiplied: 1e-3 has no exact float, and `35.00000000000001ms` is no answer.
            write!(f, "{}ms", f64::from(duration.subsec_nanos()) / 1e6)
        } else {
            write!(f, "{}s", duration.as_secs_f64())
        }
    }
}
