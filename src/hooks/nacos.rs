//! Nacos, by its open API (nacos.io/docs/v2/guide/user/open-api, and v1 before it).
//!
//! An update of an instance replaces all of it, so the instance is read first and written back with one thing
//! changed; coming back writes what was there before.

use hyper::Method;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use serde::Deserialize;
use serde_json::Value;

use super::Way;
use super::deed::Failure;
use super::http::Line;
use crate::http::{Endpoint, Reply, Request, Trust, escaped};
use crate::secret::Secret;

/// A `nacos` hook.
#[derive(Clone, Debug)]
pub struct Nacos {
    /// The registry; without a path, `/nacos` is it.
    pub address: Endpoint,
    /// The service's name there.
    pub service_name: String,
    /// The instance's address there.
    pub ip: String,
    /// The instance's port there.
    pub port: u16,
    /// Where the service is: namespace, group, cluster. What is not said is the registry's default.
    pub place: Vec<(&'static str, String)>,
    /// Whether the instance is ephemeral, as registrations with a heartbeat are.
    pub ephemeral: bool,
    /// How it is taken out.
    pub mode: NacosMode,
    /// Which API is spoken.
    pub api: NacosApi,
    /// Who we are there.
    pub user: Option<(String, Secret)>,
    /// Whose certificates are believed, with https.
    pub trust: Trust,
    /// The instance as it was before we left.
    pub left: Option<Instance>,
}

/// How an instance is taken out of Nacos.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NacosMode {
    /// `enabled=false`: nobody is given it.
    Disable,
    /// `weight=0`: those who heed weights do not choose it.
    Weight,
    /// It is removed.
    Deregister,
}

/// Which API is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NacosApi {
    /// `/v1`: answers `ok`.
    V1,
    /// `/v2`, since 2.2: answers JSON with a code, 0 if it was done.
    V2,
}

/// What an update replaces.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Instance {
    weight: f64,
    #[serde(default = "yes")]
    enabled: bool,
    #[serde(default)]
    metadata: Value,
}

fn yes() -> bool {
    true
}

/// An answer of v2.
#[derive(Deserialize)]
struct Envelope {
    code: i64,
    #[serde(default)]
    data: Value,
}

/// An answer to a login, in both.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Login {
    access_token: String,
}

impl Nacos {
    pub(super) async fn go(&mut self, way: Way, line: &mut Line) -> Result<(), Failure> {
        let token = self.log_in(line).await?;
        let token = token.as_deref();
        if self.left.is_none() {
            self.left = Some(self.instance(token, line).await?);
        }
        let Some(before) = self.left.clone() else {
            return Ok(());
        };
        let disabled = Instance {
            enabled: false,
            ..before.clone()
        };
        let weightless = Instance {
            weight: 0.0,
            ..before.clone()
        };
        match (self.mode, way) {
            (NacosMode::Deregister, Way::Out) => self.ask(Method::DELETE, &[], token, line).await.map(drop),
            (NacosMode::Deregister, Way::Back) => self.write(Method::POST, &before, token, line).await,
            (NacosMode::Disable, Way::Out) => self.write(Method::PUT, &disabled, token, line).await,
            (NacosMode::Weight, Way::Out) => self.write(Method::PUT, &weightless, token, line).await,
            (NacosMode::Disable | NacosMode::Weight, Way::Back) => {
                self.write(Method::PUT, &before, token, line).await
            }
            (_, Way::Anew) => Ok(()),
        }?;
        if way == Way::Back {
            // It may change before it is left again.
            self.left = None;
        }
        Ok(())
    }

    async fn log_in(&self, line: &mut Line) -> Result<Option<String>, Failure> {
        let Some((name, password)) = &self.user else {
            return Ok(None);
        };
        let endpoint = self.address.below(&format!("{}/v1/auth/login", self.context()))?;
        let mut request = Request::new(Method::POST, &endpoint, &self.trust);
        request.header(
            CONTENT_TYPE,
            HeaderValue::from_static("application/x-www-form-urlencoded"),
        );
        request.body(format!(
            "username={}&password={}",
            escaped(name),
            escaped(&password.read()?)
        ));
        let reply = line.succeed(request).await?;
        let login: Login = understood(&reply, "its answer to the login")?;
        Ok(Some(login.access_token))
    }

    /// The instance as it is now.
    async fn instance(&self, token: Option<&str>, line: &mut Line) -> Result<Instance, Failure> {
        let reply = self.ask(Method::GET, &[], token, line).await?;
        match self.api {
            NacosApi::V1 => understood(&reply, "the instance"),
            NacosApi::V2 => {
                let envelope: Envelope = understood(&reply, "its answer")?;
                Instance::deserialize(envelope.data)
                    .map_err(|_| Failure("the instance is not understood".to_owned()))
            }
        }
    }

    async fn write(
        &self,
        method: Method,
        instance: &Instance,
        token: Option<&str>,
        line: &mut Line,
    ) -> Result<(), Failure> {
        let metadata = match &instance.metadata {
            Value::Null => "{}".to_owned(),
            metadata => metadata.to_string(),
        };
        let changes = [
            ("weight", instance.weight.to_string()),
            ("enabled", instance.enabled.to_string()),
            ("metadata", metadata),
        ];
        self.ask(method, &changes, token, line).await.map(drop)
    }

    async fn ask(
        &self,
        method: Method,
        more: &[(&str, String)],
        token: Option<&str>,
        line: &mut Line,
    ) -> Result<Reply, Failure> {
        let api = match self.api {
            NacosApi::V1 => "v1",
            NacosApi::V2 => "v2",
        };
        let mut query = vec![
            ("serviceName", self.service_name.clone()),
            ("ip", self.ip.clone()),
            ("port", self.port.to_string()),
            ("ephemeral", self.ephemeral.to_string()),
        ];
        query.extend(self.place.iter().cloned());
        query.extend(more.iter().cloned());
        query.extend(token.map(|token| ("accessToken", token.to_owned())));
        let query: Vec<String> = query
            .iter()
            .map(|(name, value)| format!("{name}={}", escaped(value)))
            .collect();
        let path = format!("{}/{api}/ns/instance?{}", self.context(), query.join("&"));
        let endpoint = self.address.below(&path)?;
        let reply = line
            .succeed(Request::new(method.clone(), &endpoint, &self.trust))
            .await?;
        let is_done = match (self.api, method) {
            (NacosApi::V1, Method::GET) => true,
            (NacosApi::V1, _) => reply.body.trim_ascii() == b"ok",
            (NacosApi::V2, _) => understood::<Envelope>(&reply, "its answer")?.code == 0,
        };
        match is_done {
            true => Ok(reply),
            false => Err(Failure("it answered 200, and that it was not done".to_owned())),
        }
    }

    fn context(&self) -> &'static str {
        match self.address.target().path() {
            "/" => "/nacos",
            _ => "",
        }
    }
}

fn understood<'r, T: Deserialize<'r>>(reply: &'r Reply, what: &str) -> Result<T, Failure> {
    // Its own words may repeat a secret.
    serde_json::from_slice(&reply.body).map_err(|_| Failure(format!("{what} is not understood")))
}
