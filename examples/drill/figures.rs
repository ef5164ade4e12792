//! What an operator accepts a release by: errors, and how long calls took before it and during it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::explain::explain;
use crate::load::{Call, Kind};
use crate::run::{Outcome, Restart};

/// How long calls took, in milliseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Latency {
    /// Half of them took no longer.
    pub p50: f64,
    /// 95 % of them.
    pub p95: f64,
    /// 99 % of them.
    pub p99: f64,
    /// None took longer.
    pub max: f64,
}

impl Latency {
    fn of(mut millis: Vec<f64>) -> Self {
        millis.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let rank = (millis.len() as f64 * share).ceil() as usize;
            millis.get(rank.saturating_sub(1)).copied().unwrap_or_default()
        };
        Self {
            p50: at(0.5),
            p95: at(0.95),
            p99: at(0.99),
            max: at(1.0),
        }
    }

    fn json(self) -> Value {
        json!({"p50": self.p50, "p95": self.p95, "p99": self.p99, "max": self.max})
    }
}

/// The figures of one run.
pub struct Figures {
    /// Failed calls, by gRPC code.
    pub failed: BTreeMap<String, usize>,
    /// The calls of 20 to 200 ms that came back, before the release.
    pub baseline: Latency,
    /// The same during the release.
    pub window: Latency,
    /// What all calls took beyond what they were asked to take, before the release.
    pub added_baseline: Latency,
    /// The same during the release.
    pub added_window: Latency,
    /// From the moment an instance was told to stop to the next one SERVING: the mean, in seconds.
    pub restart: f64,
    /// The mean, in seconds, of the time instances lived on after their last call had ended.
    pub wasted: f64,
}

impl Figures {
    /// Works them out.
    pub fn of(outcome: &Outcome) -> Self {
        let mut failed = BTreeMap::new();
        for call in &outcome.calls {
            if let Some(why) = &call.failed {
                *failed.entry(format!("{:?}", why.code)).or_default() += 1;
            }
        }
        let before = outcome.baseline..outcome.release();
        let during = outcome.release()..outcome.end;
        let well = |range: &std::ops::Range<Duration>| {
            let range = range.clone();
            let calls = outcome.calls.iter();
            calls.filter(move |call| call.failed.is_none() && range.contains(&call.at))
        };
        let short = |range| {
            Latency::of(
                well(range)
                    .filter(|call| call.kind == Kind::Short)
                    .map(took)
                    .collect(),
            )
        };
        let added = |range| Latency::of(well(range).map(added).collect());
        let mean = |seconds: Vec<f64>| seconds.iter().sum::<f64>() / seconds.len().max(1) as f64;
        Self {
            failed,
            baseline: short(&before),
            window: short(&during),
            added_baseline: added(&before),
            added_window: added(&during),
            restart: mean(
                outcome
                    .restarts
                    .iter()
                    .map(|restart| (restart.ready - restart.told).as_secs_f64())
                    .collect(),
            ),
            wasted: mean(
                outcome
                    .restarts
                    .iter()
                    .map(|restart| wasted(restart, &outcome.calls).as_secs_f64())
                    .collect(),
            ),
        }
    }
}

/// How long an instance lived on, told to stop, when its last call was over.
pub fn wasted(restart: &Restart, calls: &[Call]) -> Duration {
    let last = calls
        .iter()
        .filter(|call| call.instance == Some(restart.address) && call.at < restart.gone)
        .map(Call::end)
        .max();
    let idle = last.unwrap_or_default().max(restart.told);
    restart.gone.saturating_sub(idle)
}

fn took(call: &Call) -> f64 {
    call.took.as_secs_f64() * 1e3
}

fn added(call: &Call) -> f64 {
    call.took.saturating_sub(call.asked).as_secs_f64() * 1e3
}

/// Everything, for machines.
pub fn json(outcomes: &[Outcome]) -> String {
    let runs: Vec<_> = outcomes.iter().map(run).collect();
    json!({ "runs": runs }).to_string()
}

fn run(outcome: &Outcome) -> Value {
    let figures = Figures::of(outcome);
    let restarts = outcome.restarts.iter().map(|restart| {
        json!({
            "instance": restart.name,
            "told": restart.told.as_secs_f64(),
            "gone": restart.gone.as_secs_f64(),
            "ready": restart.ready.as_secs_f64(),
            "killed": restart.killed,
            "wasted": wasted(restart, &outcome.calls).as_secs_f64(),
            "report": restart.report,
        })
    });
    let failures = explain(outcome).into_iter().map(|failure| {
        json!({
            "at": failure.at.as_secs_f64(),
            "instance": failure.instance,
            "phase": failure.phase,
            "code": format!("{:?}", failure.code),
            "why": failure.why,
        })
    });
    json!({
        "balancer": outcome.balancer.title(),
        "contestant": outcome.contestant.title(),
        "calls": outcome.calls.len(),
        "failed": figures.failed,
        "baselineMillis": figures.baseline.json(),
        "windowMillis": figures.window.json(),
        "addedBaselineMillis": figures.added_baseline.json(),
        "addedWindowMillis": figures.added_window.json(),
        "restartSeconds": figures.restart,
        "wastedSeconds": figures.wasted,
        "restarts": restarts.collect::<Vec<_>>(),
        "failures": failures.collect::<Vec<_>>(),
    })
}
