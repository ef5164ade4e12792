//! The health part of `/metrics`: what each service shows, and how the checks go.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

use super::metrics::Page;
use crate::health::{Board, Status};

/// The numbers of one board.
#[derive(Debug)]
pub struct HealthMetrics(pub Board);

impl Collector for HealthMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let page = &mut Page(&mut encoder);
        let services = self.0.statuses().into_iter();
        page.gauges(
            "health_serving",
            "1 for a service that shows SERVING, 0 for NOT_SERVING; absent while UNKNOWN",
            services.filter_map(|(service, status)| Some(([("service", service)], number(status)?))),
        )?;
        let checks = self.0.checks();
        page.gauges(
            "check_serving",
            "1 for a check that succeeds, 0 for one that has failed too often in a row; absent before either",
            checks
                .iter()
                .filter_map(|(name, check)| Some(([("check", name.clone())], number(check.status)?))),
        )?;
        page.counters(
            "check_probes",
            "Probes of the checks",
            checks.iter().flat_map(|(name, check)| {
                [("success", check.succeeded), ("failure", check.failed)]
                    .map(|(result, count)| ([("check", name.clone()), ("result", result.to_owned())], count))
            }),
        )
    }
}

fn number(status: Status) -> Option<f64> {
    match status {
        Status::Unknown => None,
        Status::Serving => Some(1.0),
        Status::NotServing => Some(0.0),
    }
}
