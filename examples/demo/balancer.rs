//! The clients' load balancer: it learns that a pod is going, and acts on it some time later.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tonic::Streaming;
use tonic::transport::Endpoint;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

use crate::Failure;
use crate::load::Route;
use crate::page::Page;

/// From learning to acting: informers, a control plane, xDS or an ingress reload lie in between. One or two
/// seconds are a good day.
pub const LAG: Duration = Duration::from_millis(1500);

/// How long the wrapped program has to come up.
const START: Duration = Duration::from_secs(10);

/// An open `grpc.health.v1.Health/Watch`.
pub struct Watch(Streaming<HealthCheckResponse>);

/// A load balancer that is about to notice.
pub struct Balancer(JoinHandle<Result<(), Failure>>);

/// Opens a Watch on the health port and waits until it says SERVING.
pub async fn watch_until_serving(address: SocketAddr) -> Result<Watch, Failure> {
    let serving = async {
        loop {
            match open(address).await {
                Ok(mut watch) => {
                    watch.wait_for(ServingStatus::Serving).await?;
                    return Ok(watch);
                }
                // The port is not there yet: it is the start of a program, not a fault.
                Err(_) => sleep(Duration::from_millis(20)).await,
            }
        }
    };
    timeout(START, serving).await.unwrap_or_else(|_| {
        Err(format!(
            "health on {address} is not SERVING after {} s",
            START.as_secs()
        ))
    })
}

async fn open(address: SocketAddr) -> Result<Watch, Box<dyn std::error::Error>> {
    let channel = Endpoint::from_shared(format!("http://{address}"))?
        .connect()
        .await?;
    let stream = HealthClient::new(channel)
        .watch(HealthCheckRequest::default())
        .await?
        .into_inner();
    Ok(Watch(stream))
}

impl Watch {
    async fn wait_for(&mut self, wanted: ServingStatus) -> Result<(), Failure> {
        loop {
            match self.0.message().await {
                Ok(Some(answer)) if answer.status == wanted as i32 => return Ok(()),
                Ok(Some(_)) => {}
                Ok(None) => return Err(format!("the Watch ended before it said {}", wanted.as_str_name())),
                Err(status) => {
                    return Err(format!(
                        "the Watch broke before it said {}: {status}",
                        wanted.as_str_name()
                    ));
                }
            }
        }
    }
}

impl Balancer {
    /// One that watches the pod's health, as gRPC clients and meshes do.
    pub fn watching(mut watch: Watch, route: Route, page: Page, told: Instant) -> Self {
        Self(tokio::spawn(async move {
            watch.wait_for(ServingStatus::NotServing).await?;
            page.moment(
                told,
                "health: NOT_SERVING",
                "every watcher is told; the program serves on",
            );
            switch(&route, &page, told).await;
            // The stream stays open, as a client's does: the exit must not wait for it.
            while let Ok(Some(_)) = watch.0.message().await {}
            Ok(())
        }))
    }

    /// One that hears of the pod's deletion from the API server, as soon as it happens.
    pub fn by_endpoints(route: Route, page: Page, told: Instant) -> Self {
        Self(tokio::spawn(async move {
            switch(&route, &page, told).await;
            Ok(())
        }))
    }

    /// Waits until new calls go to the next pod.
    pub async fn noticed(self) -> Result<(), Failure> {
        self.0
            .await
            .map_err(|error| format!("the load balancer failed: {error}"))?
    }
}

async fn switch(route: &Route, page: &Page, told: Instant) {
    sleep(LAG).await;
    route.to_the_next_pod();
    page.moment(told, "the balancer has noticed", "new calls go to the next pod");
}
