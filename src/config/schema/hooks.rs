//! `hooks`: what is called when the drain begins or is undone.

use std::time::Duration;

use crate::child::Signal;
use crate::http::Endpoint;

use super::super::entry::Refusal;
use super::super::scalars::{Headers, choice};
use super::super::section::{Shape, exactly_one, required, section};
use super::Exec;

section! {
    /// `hooks`
    Hooks {
        /// When the drain begins.
        on_drain: Vec<Hook> = "onDrain",
        /// When it is undone.
        on_resume: Vec<Hook> = "onResume",
    }
}

section! {
    /// One hook: exactly one of its keys is written.
    Hook {
        /// Leave a Consul agent.
        consul: Consul = "consul",
        /// Leave a Eureka registry.
        eureka: Eureka = "eureka",
        /// Leave a Nacos registry.
        nacos: Nacos = "nacos",
        /// Call a URL.
        http: HttpHook = "http",
        /// Run a program.
        exec: Exec = "exec",
        /// Signal the child.
        signal: Signal = "signal",
    }
}

section! {
    /// `consul`
    Consul {
        /// The agent.
        address: Endpoint = "address",
        /// The service's id there.
        service_id: String = "serviceId",
        /// How it is taken out.
        mode: ConsulMode = "mode",
    }
}

choice! {
    /// How a service is taken out of Consul.
    ConsulMode, "maintenance or deregister" {
        /// It is marked, and comes back by itself.
        Maintenance = "maintenance",
        /// It is removed.
        Deregister = "deregister",
    }
}

section! {
    /// `eureka`
    Eureka {
        /// The registry, with its path.
        address: Endpoint = "address",
        /// The app's name there.
        app: String = "app",
        /// The instance's id there.
        instance_id: String = "instanceId",
    }
}

section! {
    /// `nacos`
    Nacos {
        /// The registry.
        address: Endpoint = "address",
        /// The service's name there.
        service_name: String = "serviceName",
        /// The instance's address there.
        ip: String = "ip",
        /// The instance's port there.
        port: u16 = "port",
    }
}

section! {
    /// `http`
    HttpHook {
        /// GET, PUT, POST, DELETE, …
        method: String = "method",
        /// What is called.
        url: Endpoint = "url",
        /// Headers, by name.
        headers: Headers = "headers",
        /// The body sent.
        body: String = "body",
        /// The statuses that are a success.
        expect: Vec<u16> = "expect",
        /// A slower try has failed.
        timeout: Duration = "timeout",
        /// So many tries after the first.
        retries: u64 = "retries",
    }
}

impl Shape for Hooks {}

impl Shape for Hook {
    fn shape(&self) -> Result<(), Refusal> {
        exactly_one(&[
            ("consul", self.consul.is_some()),
            ("eureka", self.eureka.is_some()),
            ("nacos", self.nacos.is_some()),
            ("http", self.http.is_some()),
            ("exec", self.exec.is_some()),
            ("signal", self.signal.is_some()),
        ])
    }
}

impl Shape for Consul {
    fn shape(&self) -> Result<(), Refusal> {
        required("address", &self.address)?;
        required("serviceId", &self.service_id)
    }
}

impl Shape for Eureka {
    fn shape(&self) -> Result<(), Refusal> {
        required("address", &self.address)?;
        required("app", &self.app)?;
        required("instanceId", &self.instance_id)
    }
}

impl Shape for Nacos {
    fn shape(&self) -> Result<(), Refusal> {
        required("address", &self.address)?;
        required("serviceName", &self.service_name)?;
        required("ip", &self.ip)?;
        required("port", &self.port)
    }
}

impl Shape for HttpHook {
    fn shape(&self) -> Result<(), Refusal> {
        required("url", &self.url)
    }
}
