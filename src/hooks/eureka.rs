//! Eureka, by its REST operations (github.com/Netflix/eureka/wiki/Eureka-REST-operations).
//!
//! The override OUT_OF_SERVICE outlives the heartbeats of the app's own client; it is taken away again by a
//! DELETE of the status. After a deregistration that client is told 404 at its next heartbeat, and
//! registers anew by itself: coming back is then the client's, and so may be an unwanted one.

use hyper::{Method, StatusCode};

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

impl Eureka {
    pub(super) fn comes_back(&self) -> bool {
        self.mode == EurekaMode::OutOfService
    }

    pub(super) async fn go(&self, way: Way, line: &mut Line) -> Result<(), Failure> {
        let instance = format!("/apps/{}/{}", escaped(&self.app), escaped(&self.instance_id));
        let (method, path) = match (self.mode, way) {
            (EurekaMode::OutOfService, Way::Out) => {
                (Method::PUT, format!("{instance}/status?value=OUT_OF_SERVICE"))
            }
            (EurekaMode::OutOfService, Way::Back | Way::Anew) => {
                (Method::DELETE, format!("{instance}/status?value=UP"))
            }
            (EurekaMode::Deregister, _) => (Method::DELETE, instance),
        };
        let endpoint = self.address.below(&path)?;
        let reply = line
            .exchange(Request::new(method, &endpoint, &self.trust))
            .await?;
        // It has not registered yet, and an override ends with the lease it was for.
        let is_unknown = way == Way::Anew && reply.status == StatusCode::NOT_FOUND;
        match reply.status.is_success() || is_unknown {
            true => Ok(()),
            false => Err(refused(&reply)),
        }
    }
}
