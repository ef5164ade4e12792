//! One act: a pod under load is told to stop, and its replacement takes over.

use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};

use crate::Failure;
use crate::balancer::{self, Balancer};
use crate::load::{Load, Tally};
use crate::page::Page;
use crate::pod::{Pod, Wrapping};
use crate::report::Report;

/// The load runs this long before the pod is told to stop.
const WARM_UP: Duration = Duration::from_millis(1500);
/// And this long after both the pod is gone and the balancer has noticed: the replacement serves.
const AFTERWARDS: Duration = Duration::from_millis(700);

/// How the old pod is run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// The program under `tidegate run`.
    WithTidegate,
    /// The program alone.
    Without,
}

/// How the act went.
pub struct Outcome {
    /// The calls, counted.
    pub tally: Tally,
    /// From SIGTERM to the end of the old pod.
    pub gone_after: Duration,
    /// From SIGTERM to the last call begun.
    pub loaded_for: Duration,
    /// tidegate's own account, where there is one.
    pub report: Option<Report>,
}

/// Plays one act, telling its story as it goes. The load goes on for `least` after the SIGTERM, so that a pod
/// that is gone at once has the same load to answer for.
pub async fn play(act: Act, least: Duration, page: &Page) -> Result<Outcome, Failure> {
    page.act(act);
    let wrapping = match act {
        Act::WithTidegate => Wrapping::Tidegate,
        Act::Without => Wrapping::None,
    };
    let mut old = Pod::start("the old pod", wrapping).await?;
    let new = Pod::start("the next pod", Wrapping::None).await?;
    let mut health = match old.health() {
        Some(address) => Some(
            balancer::watch_until_serving(address)
                .await
                .map_err(|why| old.explain(&why))?,
        ),
        None => None,
    };

    let load = Load::start(old.calls(), new.calls());
    sleep(WARM_UP).await;
    let under_way = load.wait_until_under_way(8).await?;

    // The moment the kubelet would send SIGTERM, and the API server would take the pod's address away.
    let told = Instant::now();
    old.terminate()?;
    page.moment(told, "SIGTERM", &format!("{under_way} calls under way"));

    let balancer = match health.take() {
        Some(watch) => Balancer::watching(watch, load.route(), page.clone(), told),
        None => Balancer::by_endpoints(load.route(), page.clone(), told),
    };
    let gone = old.wait_gone(told).await?;
    let gone_after = gone - told;
    let report = old.report();
    page.gone(told, gone, report.as_ref());
    if let Some(report) = &report {
        page.phases(report);
    }
    timeout(Duration::from_secs(5), balancer.noticed())
        .await
        .map_err(|_| "the load balancer never learnt that the old pod is going".to_owned())??;
    sleep(AFTERWARDS.max(least.saturating_sub(told.elapsed()))).await;
    let loaded_for = told.elapsed();
    let tally = load.finish(gone).await?;
    Ok(Outcome {
        tally,
        gone_after,
        loaded_for,
        report,
    })
}
