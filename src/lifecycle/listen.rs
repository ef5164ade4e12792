//! The port, bound before the program starts, so that one that is taken is one line and exit code 125.

use std::io;
use std::net::{SocketAddr, TcpListener};

use thiserror::Error;

use super::LifecycleSettings;
use crate::secret::Secret;

/// A listener that is bound and not yet served: connections wait in the kernel.
#[derive(Debug)]
pub struct Bound {
    pub(super) listener: TcpListener,
    pub(super) token: Option<Secret>,
}

/// The port could not be opened.
#[derive(Debug, Error)]
#[error("lifecycle.listen: cannot listen on {address}: {why}; {mend}", mend = mend(.why))]
pub struct BindError {
    address: SocketAddr,
    why: io::Error,
}

fn mend(why: &io::Error) -> &'static str {
    match why.kind() {
        io::ErrorKind::AddrInUse => "stop what listens there or set it to another port",
        io::ErrorKind::PermissionDenied => {
            "ports below 1024 need CAP_NET_BIND_SERVICE: set it to a port from 1024 up"
        }
        _ => "set it to 0.0.0.0 or [::] with the same port",
    }
}

/// Binds and listens; nothing when it is off. The standard library sets SO_REUSEADDR and close-on-exec.
///
/// # Errors
/// [`BindError`], a line for the person who set it.
pub fn bind(settings: &LifecycleSettings) -> Result<Option<Bound>, BindError> {
    let Some(address) = settings.listen else {
        return Ok(None);
    };
    let bound = TcpListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok(Bound {
            listener,
            token: settings.token_file.clone().map(Secret::File),
        })
    });
    bound.map(Some).map_err(|why| BindError { address, why })
}
