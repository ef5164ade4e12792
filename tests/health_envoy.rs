//! A real Envoy's active health checks: the host is down as soon as the drain is told, and never before.

mod support;

use std::net::SocketAddr;
use std::process::Command;
use std::time::{Duration, Instant};

use support::children::{TOLD, telling};
use support::client::Client;
use support::config::{LONG, Timing};
use support::http::get;
use support::patience::{best_of, eventually};
use support::{Running, Signal, Tidegate, ports};

/// How often Envoy asks.
const INTERVAL: Duration = Duration::from_millis(250);

/// What the admin port and a busy machine add.
const SLACK: Duration = Duration::from_millis(100);

/// The window is open for long enough to look around in it.
const WINDOW: Timing = Timing {
    propagation: Duration::from_secs(2),
    ..LONG
};

#[test]
fn by_grpc_a_draining_host_is_down_within_one_interval() {
    is_down_within_one_interval("grpc_health_check: {}");
}

#[test]
fn by_readyz_a_draining_host_is_down_within_one_interval() {
    is_down_within_one_interval("http_health_check: {path: /readyz}");
}

fn is_down_within_one_interval(check: &str) {
    let wanted = INTERVAL + SLACK;
    let best = best_of(3, wanted, || {
        let mut tidegate = Tidegate::wrapping(telling(&[]))
            .config(WINDOW.unmeasured())
            .start();
        tidegate.child();
        let envoy = Envoy::checking(&tidegate, check);
        eventually("Envoy's checks succeed", || {
            (envoy.stat("success") >= 4).then_some(())
        });
        assert!(!envoy.is_down());
        let trigger = tidegate.signal(Signal::SIGTERM);
        eventually("Envoy takes the host out", || envoy.is_down().then_some(()));
        let took = Instant::now() - trigger;
        assert!(envoy.stat("failure") >= 1);
        // Told, not lost: for as long as the window is open, and after it.
        eventually("the program is stopped", || {
            assert_eq!(envoy.stat("network_failure"), 0);
            (!tidegate.stdout.with("signal SIGTERM").is_empty()).then_some(())
        });
        assert_eq!(tidegate.wait().code(), TOLD);
        took
    });
    assert!(best <= wanted, "the best of three took {best:?}");
}

#[test]
fn a_host_that_serves_is_never_counted_as_failing() {
    let tidegate = Tidegate::wrapping(telling(&[])).config(LONG.unmeasured()).start();
    tidegate.child();
    for check in ["grpc_health_check: {}", "http_health_check: {path: /readyz}"] {
        let envoy = Envoy::checking(&tidegate, check);
        eventually("Envoy asks ten times", || {
            (envoy.stat("attempt") >= 10).then_some(())
        });
        for stat in ["failure", "network_failure", "passive_failure"] {
            assert_eq!(envoy.stat(stat), 0, "{check}: {stat}");
        }
    }
}

struct Envoy {
    admin: SocketAddr,
    _process: Client,
}

impl Envoy {
    /// With a cluster of one host, whose health is asked of `tidegate`, SERVING by then.
    fn checking(tidegate: &Running, check: &str) -> Self {
        let health = tidegate.health();
        eventually("tidegate serves", || {
            get(health, "/readyz").ok().filter(|answer| answer.status == 200)
        });
        let admin = ports::free();
        let config = format!(
            r#"
admin: {{address: {{socket_address: {{address: {admin_host}, port_value: {admin_port}}}}}}}
static_resources:
  clusters:
  - name: app
    type: STATIC
    connect_timeout: 1s
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config: {{http2_protocol_options: {{}}}}
    health_checks:
    - timeout: 1s
      interval: {interval}s
      no_traffic_interval: {interval}s
      unhealthy_threshold: 1
      healthy_threshold: 1
      {check}
    load_assignment:
      cluster_name: app
      endpoints:
      - lb_endpoints:
        - endpoint:
            address: {{socket_address: {{address: {host}, port_value: {port}}}}}
"#,
            admin_host = admin.ip(),
            admin_port = admin.port(),
            interval = INTERVAL.as_secs_f64(),
            host = health.ip(),
            port = health.port(),
        );
        let file = tidegate.directory().join(format!("envoy-{}.yaml", admin.port()));
        std::fs::write(&file, config).expect("a file");
        let binary = format!("{}/.venv/bin/envoy", env!("CARGO_MANIFEST_DIR"));
        assert!(
            std::path::Path::new(&binary).exists(),
            "{binary} is not there; `make test` makes it"
        );
        let mut command = Command::new(binary);
        command.args(["--disable-hot-restart", "--concurrency", "1", "-l", "warn", "-c"]);
        command.arg(file);
        let process = Client::start(command);
        eventually("Envoy is up", || {
            get(admin, "/ready").ok().filter(|answer| answer.status == 200)
        });
        Self {
            admin,
            _process: process,
        }
    }

    /// Whether the host's active health check has failed.
    fn is_down(&self) -> bool {
        self.ask("/clusters").contains("health_flags::/failed_active_hc")
    }

    /// One of the counters of `cluster.app.health_check`.
    fn stat(&self, name: &str) -> u64 {
        let wanted = format!("cluster.app.health_check.{name}: ");
        let stats = self.ask("/stats?filter=health_check");
        let line = stats.lines().find_map(|line| line.strip_prefix(&wanted));
        let number = line.and_then(|number| number.trim().parse().ok());
        number.unwrap_or_else(|| panic!("no {wanted}in {stats}"))
    }

    fn ask(&self, path: &str) -> String {
        get(self.admin, path).expect("Envoy's admin port answers").body
    }
}
