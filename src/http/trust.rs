//! Whose certificates are believed. Nothing of it is touched before the first https call.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::fault::Fault;

/// Whose certificates are believed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// The system's: `SSL_CERT_FILE`, `SSL_CERT_DIR`, or the usual places. An image from scratch has none.
    #[default]
    System,
    /// Those in this PEM file, read at each call: mounted Secrets are rotated.
    File(PathBuf),
}

impl Trust {
    /// Makes a connection secure.
    ///
    /// # Errors
    /// There is nobody to believe, or the other side is not believed.
    pub(super) async fn handshake<S>(&self, host: &str, stream: S) -> Result<TlsStream<S>, Fault>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let broken = |why: &dyn std::fmt::Display| Fault::Tls(why.to_string());
        let roots = self.roots().map_err(Fault::Tls)?;
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|why| broken(&why))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let name = ServerName::try_from(bare.to_owned()).map_err(|why| broken(&why))?;
        let handshake = TlsConnector::from(Arc::new(config)).connect(name, stream);
        handshake.await.map_err(|why| broken(&why))
    }

    fn roots(&self) -> Result<RootCertStore, String> {
        let mut roots = RootCertStore::empty();
        match self {
            Self::System => {
                let found = rustls_native_certs::load_native_certs();
                roots.add_parsable_certificates(found.certs);
                if roots.is_empty() {
                    return Err(
                        "this image has no CA certificates; mount them and name the file as ca".to_owned(),
                    );
                }
            }
            Self::File(path) => {
                let named = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
                // Opened by us, so that a file that is not there is said as the system says it.
                let file = std::fs::File::open(path).map_err(|why: io::Error| named(&why))?;
                for certificate in CertificateDer::pem_reader_iter(file) {
                    let certificate = certificate.map_err(|why| named(&why))?;
                    roots.add(certificate).map_err(|why| named(&why))?;
                }
                if roots.is_empty() {
                    return Err(named(&"holds no certificate in PEM"));
                }
            }
        }
        Ok(roots)
    }
}
