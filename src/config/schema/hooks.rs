//! `hooks`: what is called when the instance leaves traffic and when it comes back.

use std::path::PathBuf;
use std::time::Duration;

use hyper::StatusCode;

use crate::child::Signal;
use crate::hooks::{ConsulMode, EurekaMode, NacosApi, NacosMode};
use crate::secret::Secret;

use super::super::entry::Refusal;
use super::super::scalars::{Headers, words};
use super::super::section::{Shape, exactly_one, required, section};
use super::super::url::Url;
use super::Exec;

section! {
    /// `hooks`
    Hooks {
        /// When the drain or a hold begins.
        on_drain: Vec<Hook> = "onDrain",
        /// When that is undone.
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
        /// Leave etcd.
        etcd: Etcd = "etcd",
        /// Call a URL.
        http: HttpHook = "http",
        /// Run a program.
        exec: Exec = "exec",
        /// Signal the child.
        signal: Signal = "signal",
    }
}

/// A section that is a call over HTTP: its own keys, and those that every call has.
macro_rules! call {
    ($(#[$meta:meta])* $name:ident { $($keys:tt)* }) => {
        section! {
            $(#[$meta])*
            $name {
                $($keys)*
                /// The CA certificates that are believed.
                ca: PathBuf = "ca",
                /// A slower try has failed.
                timeout: Duration = "timeout",
                /// So many tries after the first.
                retries: u64 = "retries",
            }
        }
    };
}

call! {
    /// `consul`
    Consul {
        /// The agent.
        address: Url = "address",
        /// The service's id there.
        service_id: String = "serviceId",
        /// How it is taken out.
        mode: ConsulMode = "mode",
        /// Its ACL token.
        token: Secret = "token",
        /// What brings a deregistered service back: the JSON of a registration.
        registration: String = "registration",
    }
}

words! { ConsulMode, "maintenance or deregister" {
    Maintenance = "maintenance",
    Deregister = "deregister",
} }

call! {
    /// `eureka`
    Eureka {
        /// The registry, with its path.
        address: Url = "address",
        /// The app's name there.
        app: String = "app",
        /// The instance's id there.
        instance_id: String = "instanceId",
        /// How it is taken out.
        mode: EurekaMode = "mode",
    }
}

words! { EurekaMode, "outOfService or deregister" {
    OutOfService = "outOfService",
    Deregister = "deregister",
} }

call! {
    /// `nacos`
    Nacos {
        /// The registry.
        address: Url = "address",
        /// The service's name there.
        service_name: String = "serviceName",
        /// The instance's address there.
        ip: String = "ip",
        /// The instance's port there.
        port: u16 = "port",
        /// How it is taken out.
        mode: NacosMode = "mode",
        /// Which API is spoken.
        api: NacosApi = "api",
        /// The service's group.
        group: String = "group",
        /// The service's namespace.
        namespace: String = "namespace",
        /// The instance's cluster.
        cluster: String = "cluster",
        /// Whether it is registered with a heartbeat.
        ephemeral: bool = "ephemeral",
        /// Who we are there.
        user: String = "user",
        /// And our password.
        password: Secret = "password",
    }
}

words! { NacosMode, "disable, weight or deregister" {
    Disable = "disable",
    Weight = "weight",
    Deregister = "deregister",
} }

words! { NacosApi, "v1 or v2" {
    V1 = "v1",
    V2 = "v2",
} }

call! {
    /// `etcd`
    Etcd {
        /// The endpoint.
        address: Url = "address",
        /// A key to delete.
        key: String = "key",
        /// A lease to revoke, in hexadecimal.
        lease: String = "lease",
        /// A file that holds its id.
        lease_file: PathBuf = "leaseFile",
        /// Who we are there.
        user: String = "user",
        /// And our password.
        password: Secret = "password",
    }
}

call! {
    /// `http`
    HttpHook {
        /// GET, PUT, POST, DELETE, …
        method: String = "method",
        /// What is called.
        url: Url = "url",
        /// Headers, by name.
        headers: Headers = "headers",
        /// The body sent.
        body: String = "body",
        /// The statuses that are a success.
        expect: Vec<StatusCode> = "expect",
    }
}

impl Shape for Hooks {}

impl Shape for Hook {
    fn shape(&self) -> Result<(), Refusal> {
        exactly_one(&[
            ("consul", self.consul.is_some()),
            ("eureka", self.eureka.is_some()),
            ("nacos", self.nacos.is_some()),
            ("etcd", self.etcd.is_some()),
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
        required("port", &self.port)?;
        both_or_neither(self.user.is_some(), self.password.is_some())
    }
}

impl Shape for Etcd {
    fn shape(&self) -> Result<(), Refusal> {
        required("address", &self.address)?;
        both_or_neither(self.user.is_some(), self.password.is_some())?;
        exactly_one(&[
            ("key", self.key.is_some()),
            ("lease", self.lease.is_some()),
            ("leaseFile", self.lease_file.is_some()),
        ])
    }
}

impl Shape for HttpHook {
    fn shape(&self) -> Result<(), Refusal> {
        required("url", &self.url)
    }
}

fn both_or_neither(user: bool, password: bool) -> Result<(), Refusal> {
    match (user, password) {
        (true, false) => Err(Refusal("user without password".to_owned())),
        (false, true) => Err(Refusal("password without user".to_owned())),
        _ => Ok(()),
    }
}
