//! The httpGet preStop endpoint: `GET /prestop` on the pod's address, which blocks until the drain is over.
//!
//! | file | what it does |
//! | --- | --- |
//! | `listen` | the port, bound before the program starts |
//! | `server` | who may come in, and that their answers still go out at the end |
//! | `hook` | one call: it triggers or joins the drain, and is answered when that is over |
//! | `token` | who knows the word may call |
//!
//! The kubelet calls an httpGet hook on the pod's IP, gives it no timeout of its own, heeds no status code, and
//! abandons it when the grace period is over (pkg/kubelet/lifecycle/handlers.go). So the port cannot be on
//! loopback, whoever reaches the pod reaches it, and it is off unless set: this is the one way in which another
//! container can stop the program.

mod hook;
mod listen;
mod server;
mod token;

use std::net::SocketAddr;
use std::path::PathBuf;

pub use listen::{BindError, Bound, bind};
pub use server::{Server, serve};

/// Where hooks are called, and by whom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LifecycleSettings {
    /// Where it listens; nowhere unless set.
    pub listen: Option<SocketAddr>,
    /// A file whose text a caller has to know.
    pub token_file: Option<PathBuf>,
}
