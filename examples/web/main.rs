//! A plain HTTP/1.1 server as people write them: it answers, and it dies of SIGTERM with whatever was under way.
//!
//! ```text
//! web --listen 127.0.0.1:8080 [--graceful]
//! ```
//!
//! `GET /?millis=50` is answered after so long. `--graceful` gives it what programs have that care for their own end.

use std::convert::Infallible;
use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;

use clap::Parser;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};

#[derive(Parser)]
struct Options {
    /// Where requests are served.
    #[arg(long, value_name = "ADDR")]
    listen: SocketAddr,
    /// At SIGTERM accept nothing more, let the requests under way finish, and exit with 0.
    #[arg(long)]
    graceful: bool,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    let listener = TcpListener::bind(options.listen).await?;
    println!("web: listening on {}", listener.local_addr()?);
    let ending = GracefulShutdown::new();
    let mut terminate = options
        .graceful
        .then(|| signal(SignalKind::terminate()))
        .transpose()?;
    loop {
        let asked = async {
            match &mut terminate {
                Some(terminate) => terminate.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            Ok((socket, _)) = listener.accept() => serve(socket, &ending),
            _ = asked => break,
        }
    }
    drop(listener);
    ending.shutdown().await;
    Ok(())
}

fn serve(socket: TcpStream, ending: &GracefulShutdown) {
    let connection = http1::Builder::new().serve_connection(TokioIo::new(socket), service_fn(answer));
    let connection = ending.watch(connection);
    tokio::spawn(async move {
        // Who breaks off harms nobody but himself.
        let _ = connection.await;
    });
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let millis = request
        .uri()
        .query()
        .and_then(|query| query.strip_prefix("millis="));
    let millis = millis.and_then(|millis| millis.parse().ok()).unwrap_or(0);
    tokio::time::sleep(Duration::from_millis(millis)).await;
    Ok(Response::new(Full::from("done\n")))
}
