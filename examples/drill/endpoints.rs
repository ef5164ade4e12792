//! What the control plane tells the load balancer: each change so much later, one after another.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::Failure;

/// One instance, as a load balancer knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Where calls are served.
    pub calls: SocketAddr,
    /// Where health is asked.
    pub health: SocketAddr,
}

/// The list that Envoy reads from a file (its file-based EDS), and the delay of each change.
#[derive(Clone)]
pub struct Endpoints {
    file: PathBuf,
    lag: Duration,
    known: Arc<Mutex<Vec<Endpoint>>>,
}

/// A change of the list.
#[derive(Clone, Copy, Debug)]
pub enum Change {
    /// The instance is ready.
    Add(Endpoint),
    /// The instance is told to stop.
    Remove(Endpoint),
}

impl Endpoints {
    /// A list in `directory` with these on it.
    pub fn new(directory: &Path, lag: Duration, known: Vec<Endpoint>) -> Result<Self, Failure> {
        let endpoints = Self {
            file: directory.join("endpoints.json"),
            lag,
            known: Arc::new(Mutex::new(known)),
        };
        endpoints.change(|_| {})?;
        Ok(endpoints)
    }

    /// Where it stands.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Tells of a change, so much later.
    pub fn tell(&self, change: Change) {
        let endpoints = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(endpoints.lag).await;
            let told = endpoints.change(|known| match change {
                Change::Add(endpoint) => known.push(endpoint),
                Change::Remove(endpoint) => known.retain(|other| *other != endpoint),
            });
            if let Err(failure) = told {
                eprintln!("drill: {failure}");
            }
        });
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Endpoint>)) -> Result<(), Failure> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut known);
        // Envoy looks when a file is moved into place, and only then.
        let new = self.file.with_extension("new");
        std::fs::write(&new, assignment(&known))
            .and_then(|()| std::fs::rename(&new, &self.file))
            .map_err(|error| format!("cannot write {}: {error}", self.file.display()))
    }
}

/// Envoy's ClusterLoadAssignment.
fn assignment(known: &[Endpoint]) -> String {
    let address = |address: SocketAddr| serde_json::json!({"socket_address": {"address": address.ip(), "port_value": address.port()}});
    let endpoints: Vec<_> = known
        .iter()
        .map(|endpoint| {
            serde_json::json!({"endpoint": {
                "address": address(endpoint.calls),
                "health_check_config": {"address": address(endpoint.health)},
            }})
        })
        .collect();
    serde_json::json!({"resources": [{
        "@type": "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
        "cluster_name": "library",
        "endpoints": [{"lb_endpoints": endpoints}],
    }]})
    .to_string()
}
