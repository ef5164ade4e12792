//! A health service with TLS, and peers that speak it.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tidegate::health::{Board, Listen, Recovery, Status, Tls, bind, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::{Room, within};

/// Made by `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 36500 -subj /CN=NAME
/// -addext basicConstraints=critical,CA:FALSE -addext subjectAltName=DNS:localhost,IP:127.0.0.1`: NAME is `first` or `second`.
pub fn fixture(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/tls")
        .join(name)
}

/// The name `a`, SERVING, behind these files.
pub fn secured(tls: &Tls) -> Room {
    let board = Board::new(["a"], Recovery::Automatic);
    board.set_every(Status::Serving);
    let bound = bind(&Listen::Tcp(([127, 0, 0, 1], 0).into())).unwrap();
    let server = serve(
        bound.secured_by(tls).unwrap(),
        board.clone(),
        Arc::new(String::new),
    )
    .unwrap();
    let Some(tidegate::health::Address::Tcp(address)) = server.address().cloned() else {
        panic!("no port")
    };
    Room {
        board,
        server,
        address,
    }
}

/// A client that believes this certificate alone.
pub fn believing(cert: &str, protocol: &str) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    let pem = std::fs::read(fixture(cert)).unwrap();
    roots.add(CertificateDer::from_pem_slice(&pem).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    TlsConnector::from(Arc::new(config))
}

pub async fn connect(room: &Room, connector: &TlsConnector) -> std::io::Result<TlsStream<TcpStream>> {
    let name = ServerName::try_from("localhost").unwrap();
    within(connector.connect(name, room.tcp().await)).await
}

/// `/readyz` over HTTP/1: the status line.
pub async fn readyz(room: &Room, cert: &str) -> String {
    let mut stream = connect(room, &believing(cert, "http/1.1")).await.unwrap();
    stream
        .write_all(b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        .await
        .unwrap();
    let mut answer = String::new();
    within(stream.read_to_string(&mut answer)).await.unwrap();
    answer.lines().next().unwrap_or("").to_owned()
}
