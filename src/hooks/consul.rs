//! Consul, by its agent's HTTP API.
//!
//! Maintenance marks the service critical in every catalog query, and ends without a trace
//! (developer.hashicorp.com/consul/api-docs/agent/service#enable-maintenance-mode).

use hyper::Method;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};

use super::Way;
use super::deed::Failure;
use super::http::{Line, secret_header};
use crate::http::{Endpoint, Request, Trust, escaped};
use crate::secret::Secret;

/// The agent's own header for its ACL token.
const TOKEN: HeaderName = HeaderName::from_static("x-consul-token");

/// What others see as the reason of the maintenance.
const REASON: &str = "tidegate: draining";

/// A `consul` hook.
#[derive(Clone, Debug)]
pub struct Consul {
    /// The agent.
    pub address: Endpoint,
    /// The service's id there.
    pub service_id: String,
    /// How it is taken out.
    pub mode: ConsulMode,
    /// Its ACL token, with `service:write`.
    pub token: Option<Secret>,
    /// The body of `/v1/agent/service/register` that brings a deregistered service back.
    pub registration: Option<String>,
    /// Whose certificates are believed, with https.
    pub trust: Trust,
}

/// How a service is taken out of Consul.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsulMode {
    /// It is marked, and coming back ends that.
    Maintenance,
    /// It is removed.
    Deregister,
}

impl Consul {
    pub(super) fn comes_back(&self) -> bool {
        self.mode == ConsulMode::Maintenance || self.registration.is_some()
    }

    pub(super) async fn go(&self, way: Way, line: &mut Line) -> Result<(), Failure> {
        let id = escaped(&self.service_id);
        let reason = escaped(REASON);
        let path = match (self.mode, way) {
            (ConsulMode::Maintenance, Way::Out) => {
                format!("/v1/agent/service/maintenance/{id}?enable=true&reason={reason}")
            }
            (ConsulMode::Maintenance, Way::Back) => {
                format!("/v1/agent/service/maintenance/{id}?enable=false")
            }
            (ConsulMode::Deregister, Way::Out) => format!("/v1/agent/service/deregister/{id}"),
            (ConsulMode::Deregister, Way::Back) => "/v1/agent/service/register".to_owned(),
        };
        let endpoint = self.address.below(&path)?;
        let mut request = Request::new(Method::PUT, &endpoint, &self.trust);
        if let Some(token) = &self.token {
            request.header(TOKEN, secret_header(token)?);
        }
        if let (ConsulMode::Deregister, Way::Back, Some(body)) = (self.mode, way, &self.registration) {
            request.header(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            request.body(body.clone());
        }
        line.succeed(request).await?;
        Ok(())
    }
}
