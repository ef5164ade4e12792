//! etcd, by the JSON gateway of its v3 API (etcd.io/docs/v3.5/dev-guide/api_grpc_gateway): keys and values are
//! base64, 64-bit numbers are strings.

use std::fs;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::Method;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Way;
use super::deed::Failure;
use super::http::Line;
use crate::http::{Endpoint, Reply, Request, Trust};
use crate::secret::Secret;

/// An `etcd` hook.
#[derive(Clone, Debug)]
pub struct Etcd {
    /// The endpoint.
    pub address: Endpoint,
    /// What is given up.
    pub held: Held,
    /// Who we are there.
    pub user: Option<(String, Secret)>,
    /// Whose certificates are believed, with https.
    pub trust: Trust,
    /// The key as it was before it was deleted.
    pub left: Option<Entry>,
}

/// What an instance is registered by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held {
    /// A key. It is deleted, and put back with its value and lease.
    Key(String),
    /// A lease by its id, in hexadecimal as `etcdctl` shows it. It is revoked, with its keys, and that is not undone.
    Lease(String),
    /// A file in which the app keeps that id.
    LeaseFile(PathBuf),
}

/// A key as it was.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Entry {
    /// Left out where it is empty (proto3's JSON).
    #[serde(default)]
    value: String,
    #[serde(default = "no_lease")]
    lease: String,
}

fn no_lease() -> String {
    "0".to_owned()
}

#[derive(Deserialize)]
struct Range {
    #[serde(default)]
    kvs: Vec<Entry>,
}

#[derive(Deserialize)]
struct Deleted {
    #[serde(default)]
    prev_kvs: Vec<Entry>,
}

#[derive(Deserialize)]
struct Token {
    token: String,
}

impl Etcd {
    pub(super) fn comes_back(&self) -> bool {
        matches!(self.held, Held::Key(_))
    }

    pub(super) async fn go(&mut self, way: Way, line: &mut Line) -> Result<(), Failure> {
        let token = self.log_in(line).await?;
        let token = token.as_ref();
        match (&self.held, way) {
            (Held::Key(key), Way::Out) => {
                let key = STANDARD.encode(key);
                // A try whose answer is lost has deleted it all the same: what it was is known before.
                if self.left.is_none() {
                    let now = self
                        .ask("/v3/kv/range", &json!({"key": key}), token, line)
                        .await?;
                    let now: Range = understood(&now)?;
                    self.left = now.kvs.into_iter().next();
                }
                let delete = json!({"key": key, "prev_kv": true});
                let deleted = self.ask("/v3/kv/deleterange", &delete, token, line).await?;
                let deleted: Deleted = understood(&deleted)?;
                // As it was at that very moment, whatever the app wrote since we looked.
                if let Some(entry) = deleted.prev_kvs.into_iter().next() {
                    self.left = Some(entry);
                }
            }
            (Held::Key(key), Way::Back) => {
                // Nothing was there, so nothing comes back.
                let Some(left) = &self.left else { return Ok(()) };
                let put = json!({"key": STANDARD.encode(key), "value": left.value, "lease": left.lease});
                self.ask("/v3/kv/put", &put, token, line).await?;
                self.left = None;
            }
            (Held::Lease(_) | Held::LeaseFile(_), Way::Out) => {
                let revoke = json!({"ID": self.lease()?.to_string()});
                self.ask("/v3/lease/revoke", &revoke, token, line).await?;
            }
            (Held::Lease(_) | Held::LeaseFile(_), Way::Back) | (_, Way::Anew) => {}
        }
        Ok(())
    }

    fn lease(&self) -> Result<i64, Failure> {
        let text = match &self.held {
            Held::Lease(id) => id.clone(),
            Held::LeaseFile(path) => {
                fs::read_to_string(path).map_err(|why| Failure(format!("{}: {why}", path.display())))?
            }
            Held::Key(_) => String::new(),
        };
        i64::from_str_radix(text.trim().trim_start_matches("0x"), 16)
            .map_err(|_| Failure("the lease's id is no hexadecimal number".to_owned()))
    }

    async fn log_in(&self, line: &mut Line) -> Result<Option<HeaderValue>, Failure> {
        let Some((name, password)) = &self.user else {
            return Ok(None);
        };
        let ask = json!({"name": name, "password": password.read()?});
        let reply = self.ask("/v3/auth/authenticate", &ask, None, line).await?;
        let Token { token } = understood(&reply)?;
        let mut value = HeaderValue::from_str(&token)
            .map_err(|_| Failure("its token is no header's value".to_owned()))?;
        value.set_sensitive(true);
        Ok(Some(value))
    }

    async fn ask(
        &self,
        path: &str,
        body: &Value,
        token: Option<&HeaderValue>,
        line: &mut Line,
    ) -> Result<Reply, Failure> {
        let endpoint = self.address.below(path)?;
        let mut request = Request::new(Method::POST, &endpoint, &self.trust);
        request.header(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(token) = token {
            request.header(AUTHORIZATION, token.clone());
        }
        request.body(body.to_string());
        line.succeed(request).await
    }
}

fn understood<'r, T: Deserialize<'r>>(reply: &'r Reply) -> Result<T, Failure> {
    // Its own words may repeat a secret.
    serde_json::from_slice(&reply.body).map_err(|_| Failure("its answer is not understood".to_owned()))
}
