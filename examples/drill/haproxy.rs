//! A real HAProxy in front of the instances, for plain HTTP/1.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;

use tokio::process::Command;

use crate::Failure;
use crate::endpoints::Endpoint;
use crate::ports;
use crate::process::Process;

/// Starts one for these instances, which keep their addresses. Waits until it listens.
pub async fn start(directory: &Path, known: &[Endpoint]) -> Result<(SocketAddr, Process), Failure> {
    let listen = ports::free();
    let file = directory.join("haproxy.cfg");
    std::fs::write(&file, configuration(listen, known))
        .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    let program = ["/usr/sbin/haproxy", "/usr/local/sbin/haproxy"]
        .into_iter()
        .find(|path| Path::new(path).exists())
        .unwrap_or("haproxy");
    let mut command = Command::new(program);
    command.args(["-db", "-f"]).arg(file);
    let mut process = Process::start("haproxy", command)
        .map_err(|failure| format!("{failure}; `make test-needs` installs what the drill needs"))?;
    process.wait_until_listening(listen).await?;
    Ok((listen, process))
}

/// No retries, a connection of its own for each request, and every answer says which instance it is from.
fn configuration(listen: SocketAddr, known: &[Endpoint]) -> String {
    let mut text = format!(
        "global
  maxconn 4000
defaults
  mode http
  timeout connect 1s
  timeout client 60s
  timeout server 60s
  retries 0
  option http-server-close
frontend calls
  bind {listen}
  default_backend web
backend web
  balance roundrobin
  http-reuse never
  option httpchk
  http-check send meth GET uri /readyz
  http-check expect status 200
"
    );
    for (number, Endpoint { calls, health }) in known.iter().enumerate() {
        let _ = writeln!(
            text,
            "  server s{number} {calls} source 127.0.0.3 check inter 500 fall 1 rise 1 addr {} port {}",
            health.ip(),
            health.port()
        );
        let _ = writeln!(
            text,
            "  http-after-response set-header x-instance {calls} if {{ srv_name s{number} }}"
        );
    }
    text
}
