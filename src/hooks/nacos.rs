//! Nacos, by its open API (nacos.io/docs/v2/guide/user/open-api, and v1 before it).
//!
//! An update of an instance replaces all of it, so the instance is read first and written back with one thing
//! changed; coming back writes what was there before.
//!
//! An update is remembered beyond the instance itself (`nacos.naming.clean.expired-metadata.expired-time`, 60 s), and
//! holds for whoever registers under the same address: a container that starts again is as its predecessor was
//! left. So what we take out carries a [`MARK`] among its metadata, by which our successor knows it.

use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::Way;
use super::deed::{Failure, Tried};
use super::http::{Line, refused};
use crate::http::{Endpoint, Reply, Request, Trust, escaped};
use crate::secret::Secret;

/// The key, among an instance's metadata, of the weight it had before we took it out.
const MARK: &str = "tidegate-draining";

/// The code of what is not there, in v2 (com.alibaba.nacos.api.model.v2.ErrorCode).
const RESOURCE_NOT_FOUND: i64 = 20004;

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
    metadata: Map<String, Value>,
}

/// An instance as it is found.
struct Found {
    /// As it was before one of us took it out.
    before: Instance,
    is_marked: bool,
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
    pub(super) fn leaves_a_mark(&self) -> bool {
        self.mode != NacosMode::Deregister
    }

    pub(super) async fn go(&mut self, way: Way, line: &mut Line) -> Result<Tried, Failure> {
        let token = self.log_in(line).await?;
        let token = token.as_deref();
        if way == Way::Anew {
            return self.unmark(token, line).await;
        }
        if self.left.is_none() {
            let found = self.find(token, line).await?;
            let found = found.ok_or_else(|| Failure("the instance is not registered there".to_owned()))?;
            self.left = Some(found.before);
        }
        let Some(before) = self.left.clone() else {
            return Ok(Tried::Done);
        };
        let disabled = Instance {
            enabled: false,
            // What somebody else had disabled is not ours to enable.
            ..if before.enabled {
                before.marked()
            } else {
                before.clone()
            }
        };
        let weightless = Instance {
            weight: 0.0,
            ..before.marked()
        };
        match (self.mode, way) {
            (NacosMode::Deregister, Way::Out) => self.ask(Method::DELETE, &[], token, line).await,
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
        Ok(Tried::Done)
    }

    /// Gives back what a container before this one took out.
    async fn unmark(&self, token: Option<&str>, line: &mut Line) -> Result<Tried, Failure> {
        let Some(found) = self.find(token, line).await? else {
            return Ok(Tried::NotYet);
        };
        if found.is_marked {
            self.write(Method::PUT, &found.before, token, line).await?;
        }
        Ok(Tried::Done)
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
        let reply = line.log_in(request).await?;
        let login: Login = understood(&reply, "its answer to the login")?;
        Ok(Some(login.access_token))
    }

    /// The instance, if it is registered.
    async fn find(&self, token: Option<&str>, line: &mut Line) -> Result<Option<Found>, Failure> {
        let endpoint = self.address.below(&self.path(&[], token))?;
        let reply = line
            .exchange(Request::new(Method::GET, &endpoint, &self.trust))
            .await?;
        if is_not_there(&reply) {
            return Ok(None);
        }
        if !reply.status.is_success() {
            return Err(refused(&reply));
        }
        let instance: Instance = match self.api {
            NacosApi::V1 => understood(&reply, "the instance")?,
            NacosApi::V2 => {
                let envelope: Envelope = understood(&reply, "its answer")?;
                if envelope.code == RESOURCE_NOT_FOUND {
                    return Ok(None);
                }
                Instance::deserialize(envelope.data)
                    .map_err(|_| Failure("the instance is not understood".to_owned()))?
            }
        };
        Ok(Some(self.found(instance)))
    }

    fn found(&self, mut instance: Instance) -> Found {
        let mark = instance.metadata.remove(MARK);
        if let Some(mark) = &mark {
            let weight = mark.as_str().and_then(|text| text.parse().ok());
            instance.weight = weight.filter(|weight: &f64| weight.is_finite()).unwrap_or(1.0);
            // What was disabled before us has no mark of disabling.
            instance.enabled |= self.mode == NacosMode::Disable;
        }
        Found {
            before: instance,
            is_marked: mark.is_some(),
        }
    }

    async fn write(
        &self,
        method: Method,
        instance: &Instance,
        token: Option<&str>,
        line: &mut Line,
    ) -> Result<(), Failure> {
        let changes = [
            ("weight", instance.weight.to_string()),
            ("enabled", instance.enabled.to_string()),
            ("metadata", Value::from(instance.metadata.clone()).to_string()),
        ];
        self.ask(method, &changes, token, line).await
    }

    async fn ask(
        &self,
        method: Method,
        more: &[(&str, String)],
        token: Option<&str>,
        line: &mut Line,
    ) -> Result<(), Failure> {
        let endpoint = self.address.below(&self.path(more, token))?;
        let reply = line.succeed(Request::new(method, &endpoint, &self.trust)).await?;
        let is_done = match self.api {
            NacosApi::V1 => reply.body.trim_ascii() == b"ok",
            NacosApi::V2 => understood::<Envelope>(&reply, "its answer")?.code == 0,
        };
        match is_done {
            true => Ok(()),
            false => Err(Failure("it answered 200, and that it was not done".to_owned())),
        }
    }

    /// The instance's own path and query, with what is to be written.
    fn path(&self, more: &[(&str, String)], token: Option<&str>) -> String {
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
        format!("{}/{api}/ns/instance?{}", self.context(), query.join("&"))
    }

    fn context(&self) -> &'static str {
        match self.address.target().path() {
            "/" => "/nacos",
            _ => "",
        }
    }
}

impl Instance {
    fn marked(&self) -> Self {
        let mut marked = self.clone();
        marked
            .metadata
            .insert(MARK.to_owned(), Value::from(self.weight.to_string()));
        marked
    }
}

/// Whether an answer says that there is no such instance. Servers before 2.0 say that with a 500.
fn is_not_there(reply: &Reply) -> bool {
    let says = |text: &str| reply.body.windows(text.len()).any(|part| part == text.as_bytes());
    match reply.status {
        StatusCode::NOT_FOUND => true,
        StatusCode::INTERNAL_SERVER_ERROR => says("no ips found") || says("no matched ip found"),
        _ => false,
    }
}

fn understood<'r, T: Deserialize<'r>>(reply: &'r Reply, what: &str) -> Result<T, Failure> {
    // Its own words may repeat a secret.
    serde_json::from_slice(&reply.body).map_err(|_| Failure(format!("{what} is not understood")))
}
