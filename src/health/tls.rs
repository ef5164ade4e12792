//! TLS on the health port: the certificate and its key, read again when their files have changed.
//!
//! They are looked at when somebody connects, not by a timer: without connections nothing wakes up. A
//! file that is half written, or no longer fits the other one, changes nothing: what was good goes on.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use thiserror::Error;
use tracing::{info, warn};

/// `health.tls`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// The certificate and those that vouch for it, PEM.
    pub cert: PathBuf,
    /// The certificate's key, PEM.
    pub key: PathBuf,
}

/// Why there is no TLS, as one line with its mend.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read.
    #[error(
        "health.tls.{key}: cannot read {path}: {why}; mount it there, readable for the user tidegate runs as"
    )]
    Unreadable {
        /// `cert` or `key`
        key: &'static str,
        /// The file.
        path: PathBuf,
        /// As the kernel says.
        why: io::Error,
    },
    /// A file has nothing of the kind.
    #[error("health.tls.{key}: no {what} in {path}; write it as PEM (-----BEGIN …)")]
    Empty {
        /// `cert` or `key`
        key: &'static str,
        /// What was looked for.
        what: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// They do not go together, or are of a kind nobody can use.
    #[error("health.tls: {cert} and {key} make no identity: {why}; they must be one certificate and its own key", cert = .tls.cert.display(), key = .tls.key.display())]
    Unusable {
        /// The files.
        tls: Tls,
        /// As rustls says.
        why: rustls::Error,
    },
}

/// What the health port shows of itself.
#[derive(Debug)]
pub(super) struct Identity {
    files: Tls,
    held: Mutex<Held>,
}

#[derive(Debug)]
struct Held {
    seen: Stamps,
    config: Arc<ServerConfig>,
}

/// What tells one state of the files from another.
#[derive(Debug, PartialEq, Eq)]
struct Stamps([Option<Stamp>; 2]);

#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

impl Identity {
    /// # Errors
    /// [`TlsError`] when the files make no identity.
    pub(super) fn read(files: &Tls) -> Result<Self, TlsError> {
        let held = Held {
            seen: Stamps::of(files),
            config: config(files)?,
        };
        Ok(Self {
            files: files.clone(),
            held: Mutex::new(held),
        })
    }

    /// What to show now. Two calls to stat(2), and the files again where they have changed.
    pub(super) fn now(&self) -> Arc<ServerConfig> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let stamps = Stamps::of(&self.files);
        if held.seen != stamps {
            // Said once for each state of the files.
            held.seen = stamps;
            match config(&self.files) {
                Ok(config) => {
                    held.config = config;
                    info!(target: "health", "the certificate has changed: {}", self.files.cert.display());
                }
                Err(error) => warn!(target: "health", "{error}; the certificate read before goes on"),
            }
        }
        Arc::clone(&held.config)
    }
}

impl Stamps {
    fn of(files: &Tls) -> Self {
        Self([&files.cert, &files.key].map(|path| Stamp::of(path)))
    }
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        // Through links: the kubelet changes the files of a Secret by changing a link.
        let found = fs::metadata(path).ok()?;
        Some(Self {
            inode: found.ino(),
            size: found.size(),
            changed: (found.mtime(), found.mtime_nsec()),
        })
    }
}

fn config(files: &Tls) -> Result<Arc<ServerConfig>, TlsError> {
    let (cert, key) = (read("cert", &files.cert)?, read("key", &files.key)?);
    let empty = |key, what, path: &PathBuf| TlsError::Empty {
        key,
        what,
        path: path.clone(),
    };
    let chain: Vec<_> = CertificateDer::pem_slice_iter(&cert)
        .collect::<Result<_, _>>()
        .map_err(|_| empty("cert", "certificate", &files.cert))?;
    if chain.is_empty() {
        return Err(empty("cert", "certificate", &files.cert));
    }
    let key = PrivateKeyDer::from_pem_slice(&key).map_err(|_| empty("key", "private key", &files.key))?;
    let unusable = |why| TlsError::Unusable {
        tls: files.clone(),
        why,
    };
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|config| config.with_no_client_auth().with_single_cert(chain, key))
        .map_err(unusable)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn read(key: &'static str, path: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(path).map_err(|why| TlsError::Unreadable {
        key,
        path: path.to_owned(),
        why,
    })
}
