//! What a program does for its own end, where it does anything: a health service, and a stop that waits for calls.

use tokio::signal::unix::{SignalKind, signal};
use tonic_health::ServingStatus;
use tonic_health::pb::health_server::{Health, HealthServer};
use tonic_health::server::{HealthReporter, health_reporter};

/// The health service, with what turns it. SERVING at once, NOT_SERVING after SIGUSR1: calls go on being served.
pub fn health() -> (HealthReporter, HealthServer<impl Health>) {
    let (reporter, service) = health_reporter();
    let turned = reporter.clone();
    tokio::spawn(async move {
        if let Ok(mut quiesce) = signal(SignalKind::user_defined1()) {
            quiesce.recv().await;
            turned.set_service_status("", ServingStatus::NotServing).await;
        }
    });
    (reporter, service)
}

/// Waits for SIGTERM. Watches end with it: the server waits for every stream that is open.
pub async fn asked(health: Option<HealthReporter>) {
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => terminate.recv().await,
        // Without a handler SIGTERM ends the program by itself.
        Err(_) => std::future::pending().await,
    };
    if let Some(mut health) = health {
        health.clear_service_status("").await;
    }
}
