//! `health`: the health server and what it says.

use std::path::PathBuf;
use std::time::Duration;

use crate::health::{Listen, Place, Recovery};
use crate::http::Endpoint;

use super::super::entry::Refusal;
use super::super::scalars::words;
use super::super::section::{Shape, exactly_one, required, section};
use super::Exec;

section! {
    /// `health`
    Health {
        /// Where the server listens.
        listen: Listen = "listen",
        /// The gRPC services it answers for.
        services: Vec<String> = "services",
        /// The app's own health, followed.
        app: App = "app",
        /// What the app depends on.
        checks: Vec<Check> = "checks",
        /// How NOT_SERVING ends.
        recovery: Recovery = "recovery",
        /// TLS on the health port.
        tls: Tls = "tls",
    }
}

section! {
    /// `health.app`
    App {
        /// Where the app's gRPC health is.
        grpc: Place = "grpc",
        /// So long the last state holds without a connection.
        hold_on_disconnect: Duration = "holdOnDisconnect",
    }
}

section! {
    /// An item of `health.checks`.
    Check {
        /// What `/readyz` calls it.
        name: String = "name",
        /// A connection can be made.
        tcp: Place = "tcp",
        /// A GET answers 2xx.
        http: Endpoint = "http",
        /// gRPC health says SERVING.
        grpc: Place = "grpc",
        /// A program ends with 0.
        exec: Exec = "exec",
        /// From the begin of one to the begin of the next.
        interval: Duration = "interval",
        /// A slower one has failed.
        timeout: Duration = "timeout",
        /// So many in a row make NOT_SERVING.
        failures: u64 = "failures",
    }
}

words! { Recovery, "automatic or manual" {
    Automatic = "automatic",
    Manual = "manual",
} }

section! {
    /// `health.tls`
    Tls {
        /// The certificate chain, PEM.
        cert: PathBuf = "cert",
        /// Its key, PEM.
        key: PathBuf = "key",
    }
}

impl Shape for Health {}
impl Shape for App {}
impl Shape for Tls {}

impl Shape for Check {
    fn shape(&self) -> Result<(), Refusal> {
        required("name", &self.name)?;
        exactly_one(&[
            ("tcp", self.tcp.is_some()),
            ("http", self.http.is_some()),
            ("grpc", self.grpc.is_some()),
            ("exec", self.exec.is_some()),
        ])
    }
}
