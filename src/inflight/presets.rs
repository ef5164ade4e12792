//! Programs whose metrics are known: what to ask them, so that nobody has to look it up.
//!
//! Each was checked against a page in `tests/fixtures/inflight/`; docs/inflight.md says what each
//! metric means and where that is written.

use super::prometheus::{PrometheusConfig, PrometheusConfigError};
use super::query::{Absent, Query};
use super::sources::SourceConfig;
use super::stub_status::StubStatusConfig;
use crate::http::Endpoint;

/// A known program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// Envoy, its admin port.
    Envoy,
    /// grpc-go with go-grpc-middleware's or go-grpc-prometheus' metrics.
    GrpcGo,
    /// grpc-java with java-grpc-prometheus, and everything with the same names.
    GrpcJava,
    /// gRPC's own OpenTelemetry metrics, in any language.
    GrpcOtel,
    /// Spring Boot 3, its actuator.
    Spring,
    /// ASP.NET Core 8 by OpenTelemetry.
    Kestrel,
    /// vLLM.
    Vllm,
    /// NVIDIA Triton.
    Triton,
    /// nginx's `stub_status`.
    Nginx,
    /// HAProxy's own exporter.
    Haproxy,
}

/// What a program is asked.
struct Page {
    /// Where the page usually is, when the URL has no path.
    target: &'static str,
    query: &'static str,
    arrivals: Option<&'static str>,
    absent: Absent,
}

/// Health watches never end; they are not calls to wait for.
const GRPC: Page = Page {
    target: "/metrics",
    query: r#"sum(grpc_server_started_total{grpc_service!="grpc.health.v1.Health"}) - sum(grpc_server_handled_total{grpc_service!="grpc.health.v1.Health"})"#,
    arrivals: Some(r#"sum(grpc_server_started_total{grpc_service!="grpc.health.v1.Health"})"#),
    // A service that was never called has no series.
    absent: Absent::Zero,
};

impl Preset {
    /// Every preset.
    pub const ALL: [Self; 10] = [
        Self::Envoy,
        Self::GrpcGo,
        Self::GrpcJava,
        Self::GrpcOtel,
        Self::Spring,
        Self::Kestrel,
        Self::Vllm,
        Self::Triton,
        Self::Nginx,
        Self::Haproxy,
    ];

    /// What it is called in the config.
    pub fn name(self) -> &'static str {
        match self {
            Self::Envoy => "envoy",
            Self::GrpcGo => "grpc-go",
            Self::GrpcJava => "grpc-java",
            Self::GrpcOtel => "grpc-otel",
            Self::Spring => "spring",
            Self::Kestrel => "kestrel",
            Self::Vllm => "vllm",
            Self::Triton => "triton",
            Self::Nginx => "nginx",
            Self::Haproxy => "haproxy",
        }
    }

    /// The source that reads this program at `endpoint`; one without a path is asked where the
    /// program usually has its page.
    ///
    /// # Errors
    /// None, as long as the queries are of the subset, which a test holds them to.
    pub fn source(self, endpoint: Endpoint) -> Result<SourceConfig, PrometheusConfigError> {
        let Some(page) = self.page() else {
            return Ok(SourceConfig::StubStatus(StubStatusConfig::new(endpoint)));
        };
        let arrivals = page.arrivals.map(Query::parse).transpose();
        Ok(SourceConfig::Prometheus(PrometheusConfig::of(
            endpoint.or_target(page.target),
            Query::parse(page.query).map_err(PrometheusConfigError::Query)?,
            page.absent,
            arrivals.map_err(PrometheusConfigError::Arrivals)?,
        )))
    }

    /// None for nginx, whose page is no exposition.
    fn page(self) -> Option<Page> {
        Some(match self {
            Self::Envoy => Page {
                // Everything else is left out by Envoy itself.
                target: "/stats/prometheus?filter=downstream_rq_(active%7Ctotal)",
                query: r#"sum(envoy_http_downstream_rq_active{envoy_http_conn_manager_prefix!="admin"})"#,
                arrivals: Some(
                    r#"sum(envoy_http_downstream_rq_total{envoy_http_conn_manager_prefix!="admin"})"#,
                ),
                absent: Absent::Unknown,
            },
            Self::GrpcGo | Self::GrpcJava => GRPC,
            Self::GrpcOtel => Page {
                query: r#"sum(grpc_server_call_started_total{grpc_method!~"grpc.health.v1.Health/.*"}) - sum(grpc_server_call_duration_seconds_count{grpc_method!~"grpc.health.v1.Health/.*"})"#,
                arrivals: Some(
                    r#"sum(grpc_server_call_started_total{grpc_method!~"grpc.health.v1.Health/.*"})"#,
                ),
                ..GRPC
            },
            Self::Spring => Page {
                target: "/actuator/prometheus",
                // A gauge; its name's end depends on Micrometer's version and on whether
                // histograms are switched on.
                query: r#"sum({__name__=~"http_server_requests_active_seconds_(count|gcount|active_count)"})"#,
                arrivals: Some(
                    r#"sum(http_server_requests_seconds_count) + sum({__name__=~"http_server_requests_active_seconds_(count|gcount|active_count)"})"#,
                ),
                // The first request creates the series.
                absent: Absent::Zero,
            },
            Self::Kestrel => Page {
                target: "/metrics",
                query: "sum(http_server_active_requests)",
                arrivals: Some(
                    "sum(http_server_request_duration_seconds_count) + sum(http_server_active_requests)",
                ),
                absent: Absent::Zero,
            },
            Self::Vllm => Page {
                target: "/metrics",
                query: "sum(vllm:num_requests_running) + sum(vllm:num_requests_waiting)",
                arrivals: Some(
                    "sum(vllm:request_success_total) + sum(vllm:num_requests_running) + sum(vllm:num_requests_waiting)",
                ),
                absent: Absent::Unknown,
            },
            Self::Triton => Page {
                target: "/metrics",
                query: "sum(nv_inference_pending_request_count)",
                arrivals: Some(
                    "sum(nv_inference_request_success) + sum(nv_inference_request_failure) + sum(nv_inference_pending_request_count)",
                ),
                absent: Absent::Unknown,
            },
            Self::Haproxy => Page {
                target: "/metrics",
                query: "sum(haproxy_backend_current_sessions) + sum(haproxy_backend_current_queue)",
                arrivals: Some("sum(haproxy_backend_sessions_total)"),
                absent: Absent::Unknown,
            },
            Self::Nginx => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_a_source() {
        for preset in Preset::ALL {
            let endpoint = Endpoint::parse("http://127.0.0.1:9/").unwrap();
            assert!(preset.source(endpoint).is_ok(), "{}", preset.name());
        }
    }

    #[test]
    fn a_url_with_a_path_is_left_as_it_is() {
        for (url, shown) in [
            ("http://127.0.0.1:9901", "http://127.0.0.1:9901/stats/prometheus"),
            ("http://127.0.0.1:9901/", "http://127.0.0.1:9901/stats/prometheus"),
            ("http://127.0.0.1:9901/m", "http://127.0.0.1:9901/m"),
        ] {
            let endpoint = Endpoint::parse(url).unwrap();
            let Ok(SourceConfig::Prometheus(source)) = Preset::Envoy.source(endpoint) else {
                panic!("a prometheus source")
            };
            assert_eq!(source.endpoint().to_string(), shown);
        }
    }
}
