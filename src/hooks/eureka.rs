//! Eureka, by its REST operations (github.com/Netflix/eureka/wiki/Eureka-REST-operations).
//!
//! The override OUT_OF_SERVICE outlives the heartbeats of the app's own client; it is taken away again by a
//! DELETE of the status. After a deregistration that client is told 404 at its next heartbeat, and
//! registers anew by itself: coming back is then the client's, and so may be an unwanted one.

use hyper::header::{ACCEPT, HeaderValue};
use hyper::{Method, StatusCode};
use serde::Deserialize;

use super::Way;
use super::deed::Failure;
use super::http::{Line, refused};
use crate::http::{Endpoint, Request, Trust, escaped};

/// A `eureka` hook.
#[derive(Clone, Debug)]
pub struct Eureka {
    /// The registry, with its path (`/eureka`, or `/eureka/v2`).
    pub address: Endpoint,
    /// The app's name there.
    pub app: String,
    /// The instance's id there.
    pub instance_id: String,
    /// How it is taken out.
    pub mode: EurekaMode,
    /// Whose certificates are believed, with https.
    pub trust: Trust,
}

/// How an instance is taken out of Eureka.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EurekaMode {
    /// Its status is overridden, and coming back ends that.
    OutOfService,
    /// It is removed.
    Deregister,
}

/// The override we set, and may take away.
const OUT_OF_SERVICE: &str = "OUT_OF_SERVICE";

/// An instance, of which nothing else is read.
#[derive(Deserialize)]
struct Found {
    instance: Overridden,
}

/// Its override, which servers spell in two ways.
#[derive(Deserialize)]
struct Overridden {
    #[serde(default, rename = "overriddenStatus")]
    status: String,
    #[serde(default, rename = "overriddenstatus")]
    status_as_of_old: String,
}

impl Eureka {
    pub(super) fn comes_back(&self) -> bool {
        self.mode == EurekaMode::OutOfService
    }

    pub(super) async fn go(&self, way: Way, line: &mut Line) -> Result<(), Failure> {
        if way == Way::Anew && !self.is_out_of_service(line).await? {
            return Ok(());
        }
        let (method, below) = match (self.mode, way) {
            (EurekaMode::OutOfService, Way::Out) => (Method::PUT, "/status?value=OUT_OF_SERVICE"),
            (EurekaMode::OutOfService, Way::Back) => (Method::DELETE, "/status?value=UP"),
            // UNKNOWN, until the client says more: it alone knows whether the program is up.
            (EurekaMode::OutOfService, Way::Anew) => (Method::DELETE, "/status"),
            (EurekaMode::Deregister, _) => (Method::DELETE, ""),
        };
        let endpoint = self.address.below(&format!("{}{below}", self.instance()))?;
        line.succeed(Request::new(method, &endpoint, &self.trust)).await?;
        Ok(())
    }

    /// Whether a container before this one may have left it so. One that has not registered yet has no override, which
    /// ends with the lease it was for.
    async fn is_out_of_service(&self, line: &mut Line) -> Result<bool, Failure> {
        let endpoint = self.address.below(&self.instance())?;
        let mut request = Request::new(Method::GET, &endpoint, &self.trust);
        request.header(ACCEPT, HeaderValue::from_static("application/json"));
        let reply = line.exchange(request).await?;
        if reply.status == StatusCode::NOT_FOUND {
            return Ok(false);
        }
        if !reply.status.is_success() {
            return Err(refused(&reply));
        }
        let Found { instance } = serde_json::from_slice(&reply.body)
            .map_err(|_| Failure("the instance is not understood".to_owned()))?;
        Ok([instance.status, instance.status_as_of_old]
            .iter()
            .any(|status| status == OUT_OF_SERVICE))
    }

    fn instance(&self) -> String {
        format!("/apps/{}/{}", escaped(&self.app), escaped(&self.instance_id))
    }
}
