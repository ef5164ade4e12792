//! The rules of `lifecycle`: where preStop hooks are called, and by whom.

use std::path::PathBuf;

use crate::health::Listen;
use crate::lifecycle::LifecycleSettings;

use super::error::ConfigError;
use super::rules::Rules;
use super::schema;
use super::settings::Settings;

impl Settings {
    /// The port of preStop hooks where the kubelet cannot reach it: nothing, or a line with the mend.
    pub fn unreachable_hook(&self) -> Option<String> {
        let address = self
            .lifecycle
            .listen
            .filter(|address| address.ip().is_loopback())?;
        let port = address.port();
        Some(format!(
            "lifecycle.listen {address} is loopback, and the kubelet calls a hook on the pod's address; write 0.0.0.0:{port}"
        ))
    }
}

impl Rules<'_> {
    /// Where hooks are called, by what was written.
    pub(super) fn lifecycle(
        &self,
        lifecycle: schema::Lifecycle,
        health: &Listen,
    ) -> Result<LifecycleSettings, ConfigError> {
        const KEY: &str = "lifecycle.listen";
        let listen = match lifecycle.listen.unwrap_or(Listen::Off) {
            Listen::Off => None,
            Listen::Tcp(address) => Some(address),
            Listen::Unix(_) => {
                let why = "the kubelet calls an address and a port; write 0.0.0.0:9096";
                return Err(self.refused(KEY, why.to_owned()));
            }
        };
        if let (Some(ours), Listen::Tcp(theirs)) = (listen, health)
            && ours.port() == theirs.port()
        {
            return Err(self.broken(
                format!(
                    "lifecycle.listen and health.listen have the same port, {}; each needs its own",
                    ours.port()
                ),
                &[KEY, "health.listen"],
            ));
        }
        let token_file = lifecycle
            .token_file
            .filter(|file| !file.is_empty())
            .map(PathBuf::from);
        if token_file.is_some() && listen.is_none() {
            let why = "nobody can call with it; set lifecycle.listen as well, like 0.0.0.0:9096";
            return Err(self.refused("lifecycle.tokenFile", why.to_owned()));
        }
        Ok(LifecycleSettings { listen, token_file })
    }
}
