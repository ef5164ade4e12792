//! Consul, by its agent's HTTP API.
//!
//! Maintenance marks the service critical in every catalog query, and ends without a trace
//! (developer.hashicorp.com/consul/api-docs/agent/service#enable-maintenance-mode).

use std::collections::BTreeMap;

use hyper::Method;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use serde::Deserialize;

use super::Way;
use super::deed::Failure;
use super::http::{Line, secret_header};
use crate::http::{Endpoint, Reply, Request, Trust, escaped};
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

/// A health check, of which nothing else is read (developer.hashicorp.com/consul/api-docs/agent/check#list-checks).
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Check {
    notes: String,
}

impl Consul {
    pub(super) fn leaves_a_mark(&self) -> bool {
        self.mode == ConsulMode::Maintenance
    }

    pub(super) fn comes_back(&self) -> bool {
        self.mode == ConsulMode::Maintenance || self.registration.is_some()
    }

    /// Maintenance has no TTL, and a container that starts again has the same id. What somebody else began stays.
    async fn is_marked_by_us(&self, line: &mut Line) -> Result<bool, Failure> {
        let id = self.service_id.replace('\\', r"\\").replace('"', r#"\""#);
        let filter = escaped(&format!(r#"CheckID == "_service_maintenance:{id}""#));
        let reply = self
            .ask(
                Method::GET,
                &format!("/v1/agent/checks?filter={filter}"),
                None,
                line,
            )
            .await?;
        let checks: BTreeMap<String, Check> = serde_json::from_slice(&reply.body)
            .map_err(|_| Failure("its list of checks is not understood".to_owned()))?;
        Ok(checks.values().any(|check| check.notes == REASON))
    }

    pub(super) async fn go(&self, way: Way, line: &mut Line) -> Result<(), Failure> {
        if way == Way::Anew && !(self.leaves_a_mark() && self.is_marked_by_us(line).await?) {
            return Ok(());
        }
        let id = escaped(&self.service_id);
        let reason = escaped(REASON);
        let path = match (self.mode, way) {
            (ConsulMode::Maintenance, Way::Out) => {
                format!("/v1/agent/service/maintenance/{id}?enable=true&reason={reason}")
            }
            (ConsulMode::Maintenance, Way::Back | Way::Anew) => {
                format!("/v1/agent/service/maintenance/{id}?enable=false")
            }
            (ConsulMode::Deregister, Way::Out) => format!("/v1/agent/service/deregister/{id}"),
            (ConsulMode::Deregister, Way::Back | Way::Anew) => "/v1/agent/service/register".to_owned(),
        };
        let body = match (self.mode, way) {
            (ConsulMode::Deregister, Way::Back) => self.registration.as_deref(),
            _ => None,
        };
        self.ask(Method::PUT, &path, body, line).await.map(drop)
    }

    async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&str>,
        line: &mut Line,
    ) -> Result<Reply, Failure> {
        let endpoint = self.address.below(path)?;
        let mut request = Request::new(method, &endpoint, &self.trust);
        if let Some(token) = &self.token {
            request.header(TOKEN, secret_header(token)?);
        }
        if let Some(body) = body {
            request.header(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            request.body(body.to_owned());
        }
        line.succeed(request).await
    }
}
