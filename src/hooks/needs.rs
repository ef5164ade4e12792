//! What a hook needs of the container: secrets, certificates, a program.

use std::path::Path;

use nix::unistd::{AccessFlags, access};

use super::{Deed, Etcd, Hook, Nacos};
use crate::http::Trust;
use crate::secret::Secret;

impl Hook {
    /// The keys, below the hook's own, of secrets that stand in the config itself.
    pub fn plain_secrets(&self) -> Vec<String> {
        let is_secret = |key: &str| key.strip_prefix("headers.").is_none_or(is_secret);
        let plain = self.secrets().into_iter();
        plain
            .filter(|(key, secret)| secret.is_plain() && is_secret(key))
            .map(|(key, _)| key)
            .collect()
    }

    /// The variables that hold its secrets.
    pub fn variables(&self) -> Vec<&str> {
        let secrets = self.secrets().into_iter();
        let names = secrets.filter_map(|(_, secret)| match secret {
            Secret::Env(name) => Some(name.as_str()),
            Secret::Plain(_) | Secret::File(_) => None,
        });
        names.collect()
    }

    /// Why it would fail now: what is named and not there. A lease's file is the app's to write, later.
    pub fn lacks(&self) -> Vec<String> {
        let secrets = self.secrets().into_iter();
        let mut lacks: Vec<String> = secrets
            .filter_map(|(key, secret)| Some(format!("{key}: {}", secret.is_there().err()?)))
            .collect();
        if let Some(Trust::File(file)) = self.deed.trust() {
            lacks.extend(not_there(file, AccessFlags::R_OK).map(|why| format!("ca: {why}")));
        }
        if let Deed::Exec(command) = &self.deed
            && let program = Path::new(&command.program)
            && program.is_absolute()
        {
            lacks.extend(not_there(program, AccessFlags::X_OK));
        }
        lacks
    }

    /// All secrets, by the key below the hook's own: of a call, every header's value.
    fn secrets(&self) -> Vec<(String, &Secret)> {
        match &self.deed {
            Deed::Http(call) => {
                let named = call.headers.iter();
                named
                    .map(|(name, value)| (format!("headers.{name}"), value))
                    .collect()
            }
            Deed::Consul(consul) => {
                let token = consul.token.iter();
                token.map(|token| ("token".to_owned(), token)).collect()
            }
            Deed::Nacos(Nacos { user, .. }) | Deed::Etcd(Etcd { user, .. }) => {
                let user = user.iter();
                user.map(|(_, password)| ("password".to_owned(), password))
                    .collect()
            }
            Deed::Eureka(_) | Deed::Exec(_) | Deed::Signal(_) => Vec::new(),
        }
    }
}

impl Deed {
    fn trust(&self) -> Option<&Trust> {
        match self {
            Self::Http(call) => Some(&call.trust),
            Self::Consul(consul) => Some(&consul.trust),
            Self::Eureka(eureka) => Some(&eureka.trust),
            Self::Nacos(nacos) => Some(&nacos.trust),
            Self::Etcd(etcd) => Some(&etcd.trust),
            Self::Exec(_) | Self::Signal(_) => None,
        }
    }
}

fn not_there(file: &Path, wanted: AccessFlags) -> Option<String> {
    let why = std::io::Error::from(access(file, wanted).err()?);
    Some(format!("{}: {why}", file.display()))
}

/// Whether a header of this name says who we are.
fn is_secret(header: &str) -> bool {
    ["authorization", "cookie", "token", "key", "secret", "password"]
        .iter()
        .any(|word| header.contains(word))
}
