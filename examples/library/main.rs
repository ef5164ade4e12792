//! A gRPC service as people write them: it serves, it counts its calls, and it dies on SIGTERM with whatever
//! was under way. Nothing in it knows of tidegate; that is the point of wrapping it.
//!
//! ```text
//! library [--listen 127.0.0.1:50051] [--metrics-listen 127.0.0.1:9090] [--health] [--graceful]
//! ```
//!
//! `LIBRARY_LISTEN` and `LIBRARY_METRICS_LISTEN` say the same; a flag wins. Port 0 takes a free one, and the
//! `listening on` lines name it. `--health` and `--graceful` give it what programs have that care for their own end.

mod catalogue;
mod counting;
mod ending;
mod metrics;

use std::error::Error;
use std::net::SocketAddr;

use clap::Parser;
use tokio::net::TcpListener;
use tonic::transport::server::TcpIncoming;

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
    /// Answer grpc.health.v1 where calls are served: SERVING until SIGUSR1, or until the end.
    #[arg(long)]
    health: bool,
    /// At SIGTERM accept nothing more, let the calls under way finish, and exit with 0.
    #[arg(long)]
    graceful: bool,
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

    let address = calls.local_addr()?;
    let counts = Counts::default();
    tokio::spawn(metrics::serve(scrapes, counts.clone()));
    let health = options.health.then(ending::health);
    let (health, service) = health.unzip();
    let server = tonic::transport::Server::builder()
        .add_service(Counted::new(LibraryServer::new(Catalogue::at(address)), counts))
        .add_optional_service(service);
    // An answer is several frames: none of them waits for the acknowledgement of the one before.
    let calls = TcpIncoming::from(calls).with_nodelay(Some(true));
    if options.graceful {
        server
            .serve_with_incoming_shutdown(calls, ending::asked(health))
            .await?;
    } else {
        server.serve_with_incoming(calls).await?;
    }
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
