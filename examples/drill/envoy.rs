//! A real Envoy in front of the instances.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::process::Command;

use crate::Failure;
use crate::endpoints::Endpoints;
use crate::ports;
use crate::process::Process;

/// How often Envoy asks for health, where it does.
const INTERVAL: Duration = Duration::from_millis(500);

/// What Envoy answers from and asks from: another host than the prober of readiness, as in a cluster.
const SOURCE: &str = "127.0.0.3";

/// A running Envoy.
pub struct Envoy {
    listen: SocketAddr,
    file: PathBuf,
    process: Process,
}

impl Envoy {
    /// Starts it, and waits until it listens, which it does when it knows its endpoints.
    pub async fn start(
        directory: &Path,
        endpoints: &Endpoints,
        checks_health: bool,
    ) -> Result<Self, Failure> {
        let listen = ports::free();
        let file = directory.join("envoy.yaml");
        std::fs::write(&file, configuration(listen, endpoints.file(), checks_health))
            .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        let process = launch(&file, listen).await?;
        Ok(Self {
            listen,
            file,
            process,
        })
    }

    /// Kills it, and starts it anew at its address.
    pub async fn restart(&mut self) -> Result<(), Failure> {
        self.process.signal(Signal::SIGKILL)?;
        // Whatever it says of its end, it has none of its own.
        let _ = self.process.wait().await;
        self.process = launch(&self.file, self.listen).await?;
        Ok(())
    }

    /// Where clients connect to.
    pub fn listen(&self) -> SocketAddr {
        self.listen
    }

    /// Fails when it is gone.
    pub fn lives(&mut self) -> Result<(), Failure> {
        match self.process.ended() {
            Some(status) => Err(self.process.explain(&format!("it ended with {status}"))),
            None => Ok(()),
        }
    }
}

async fn launch(file: &Path, listen: SocketAddr) -> Result<Process, Failure> {
    let mut command = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.venv/bin/envoy"));
    command.args(["--disable-hot-restart", "--concurrency", "1", "-l", "warn", "-c"]);
    command.arg(file);
    let mut process = Process::start("envoy", command)
        .map_err(|failure| format!("{failure}; `make test-needs` installs what the drill needs"))?;
    process.wait_until_listening(listen).await?;
    Ok(process)
}

/// No retries, no panic threshold, and every answer says which instance it is from and what Envoy thinks of it.
fn configuration(listen: SocketAddr, endpoints: &Path, checks_health: bool) -> String {
    let interval = INTERVAL.as_secs_f64();
    let checks = if checks_health {
        format!(
            "health_checks: [{{timeout: 1s, interval: {interval}s, no_traffic_interval: {interval}s, \
             unhealthy_threshold: 1, healthy_threshold: 1, grpc_health_check: {{}}}}]"
        )
    } else {
        String::new()
    };
    format!(
        r#"
node: {{id: drill, cluster: drill}}
static_resources:
  listeners:
  - name: calls
    address: {{socket_address: {{address: {host}, port_value: {port}}}}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: calls
          codec_type: AUTO
          http_filters:
          - name: envoy.filters.http.router
            typed_config: {{"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}}
          route_config:
            response_headers_to_add:
            - {{header: {{key: x-instance, value: "%UPSTREAM_HOST%"}}}}
            - {{header: {{key: x-flags, value: "%RESPONSE_FLAGS%"}}}}
            virtual_hosts:
            - name: library
              domains: ["*"]
              routes:
              - match: {{prefix: "/"}}
                route: {{cluster: library, timeout: 0s}}
  clusters:
  - name: library
    type: EDS
    eds_cluster_config:
      eds_config: {{resource_api_version: V3, path_config_source: {{path: "{endpoints}"}}}}
    connect_timeout: 1s
    lb_policy: ROUND_ROBIN
    common_lb_config: {{healthy_panic_threshold: {{value: 0}}}}
    upstream_bind_config: {{source_address: {{address: {SOURCE}, port_value: 0}}}}
    circuit_breakers: {{thresholds: [{{max_requests: 100000, max_pending_requests: 100000, max_connections: 100000}}]}}
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config: {{http2_protocol_options: {{}}}}
    {checks}
"#,
        host = listen.ip(),
        port = listen.port(),
        endpoints = endpoints.display(),
    )
}
