//! A gRPC service as people write them: it serves, it counts its calls, and it dies on SIGTERM with whatever
//! was under way. Nothing in it knows of tidegate; that is the point of wrapping it.
//!
//! ```text
//! library [--listen 127.0.0.1:50051] [--metrics-listen 127.0.0.1:9090]
//! ```
//!
//! `LIBRARY_LISTEN` and `LIBRARY_METRICS_LISTEN` say the same; a flag wins. Port 0 takes a free one, and the
//! `listening on` lines name it.

mod catalogue;
mod counting;
mod metrics;

use std::error::Error;
use std::net::SocketAddr;

use clap::Parser;
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;

use catalogue::Catalogue;
use catalogue::wire::library_server::LibraryServer;
use counting::{Counted, Counts};

/// A small library catalogue over gRPC, with its metrics on a port of their own.
#[derive(Parser)]
struct Options {
    /// Where calls are served.
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
    /// Where `/metrics` is served.
    #[arg(long, value_name = "ADDR")]
    metrics_listen: Option<SocketAddr>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    let calls = bind(options.listen, "LIBRARY_LISTEN", "127.0.0.1:50051").await?;
    let scrapes = bind(options.metrics_listen, "LIBRARY_METRICS_LISTEN", "127.0.0.1:9090").await?;
    println!("library: listening on {} for calls", calls.local_addr()?);
    println!(
        "library: listening on {} for scrapes of /metrics",
        scrapes.local_addr()?
    );

    let counts = Counts::default();
    tokio::spawn(metrics::serve(scrapes, counts.clone()));
    tonic::transport::Server::builder()
        .add_service(Counted::new(LibraryServer::new(Catalogue), counts))
        .serve_with_incoming(TcpListenerStream::new(calls))
        .await?;
    Ok(())
}

/// Binds what the flag says, or else the variable, or else the default.
async fn bind(
    flag: Option<SocketAddr>,
    variable: &str,
    default: &str,
) -> Result<TcpListener, Box<dyn Error>> {
    let address = match flag {
        Some(address) => address.to_string(),
        None => std::env::var(variable).unwrap_or_else(|_| default.to_owned()),
    };
    TcpListener::bind(&address).await.map_err(|error| {
        format!("cannot listen on {address}: {error}; choose another with {variable}").into()
    })
}
