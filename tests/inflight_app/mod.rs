//! A program to be polled: a raw server that does what each request's script says.

#![allow(dead_code)] // Each test file uses its own part.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tidegate::inflight::{Absent, PrometheusConfig, Reading, Sample, SourceConfig, Sources, Unknown};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Enough for any answer that comes at all.
pub const AMPLE: Duration = Duration::from_secs(20);

/// One thing the server does after a request.
#[derive(Clone)]
pub enum Act {
    Send(Vec<u8>),
    Wait(Duration),
    /// Never answer, and keep the connection open.
    Hang,
    Close,
    /// Send this again and again until the other side goes away.
    Flood(Vec<u8>),
}

/// A server on a port of its own, counting what comes.
pub struct App {
    pub address: std::net::SocketAddr,
    connections: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<String>>>,
    gone: Arc<AtomicUsize>,
}

impl App {
    /// Serves `script(n)` for the n-th request, from 0, over all connections.
    pub async fn start(script: impl Fn(usize) -> Vec<Act> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let app = Self {
            address: listener.local_addr().unwrap(),
            connections: Arc::default(),
            requests: Arc::default(),
            gone: Arc::default(),
        };
        let (connections, requests, gone) = (app.connections.clone(), app.requests.clone(), app.gone.clone());
        let script = Arc::new(script);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                connections.fetch_add(1, Ordering::SeqCst);
                let (requests, gone, script) = (requests.clone(), gone.clone(), script.clone());
                tokio::spawn(async move {
                    let _ = connection(stream, &requests, script.as_ref()).await;
                    gone.fetch_add(1, Ordering::SeqCst);
                });
            }
        });
        app
    }

    /// Answers every request with 200 and this body.
    pub async fn with_body(body: &str) -> Self {
        let answer = ok(body);
        Self::start(move |_| vec![Act::Send(answer.clone())]).await
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// Waits until so many connections are over.
    pub async fn wait_gone(&self, count: usize) {
        while self.gone.load(Ordering::SeqCst) < count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub fn url(&self) -> String {
        format!("http://{}/metrics", self.address)
    }

    pub fn sources(&self, query: &str) -> Sources {
        self.sources_with(query, Absent::Unknown, None)
    }

    pub fn sources_with(&self, query: &str, absent: Absent, arrivals: Option<&str>) -> Sources {
        sources(&self.url(), query, absent, arrivals)
    }
}

pub fn sources(url: &str, query: &str, absent: Absent, arrivals: Option<&str>) -> Sources {
    Sources::new(vec![SourceConfig::Prometheus(
        PrometheusConfig::new(url, query, absent, arrivals).unwrap(),
    )])
}

async fn connection(
    mut stream: TcpStream,
    requests: &Mutex<Vec<String>>,
    script: &(impl Fn(usize) -> Vec<Act> + ?Sized),
) -> std::io::Result<()> {
    loop {
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            request.push(stream.read_u8().await?);
        }
        let number = {
            let mut requests = requests.lock().unwrap();
            requests.push(String::from_utf8_lossy(&request).into_owned());
            requests.len() - 1
        };
        for act in script(number) {
            match act {
                Act::Send(bytes) => stream.write_all(&bytes).await?,
                Act::Wait(time) => tokio::time::sleep(time).await,
                Act::Close => return Ok(()),
                // Ends when the other side does.
                Act::Hang => {
                    let mut nothing = [0; 1024];
                    while stream.read(&mut nothing).await? > 0 {}
                    return Ok(());
                }
                Act::Flood(bytes) => loop {
                    stream.write_all(&bytes).await?;
                },
            }
        }
    }
}

/// An answer 200 with a length.
pub fn ok(body: &str) -> Vec<u8> {
    head(
        "200 OK",
        &format!("Content-Type: text/plain\r\nContent-Length: {}\r\n", body.len()),
        body,
    )
}

/// An answer with these headers and this body.
pub fn head(status: &str, headers: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\n{headers}\r\n{body}").into_bytes()
}

pub fn count(sample: &Sample) -> u64 {
    match &sample.reading {
        Reading::Count(count) => *count,
        Reading::Unknown(Unknown(why)) => panic!("unknown: {why}"),
    }
}

pub fn unknown(sample: &Sample) -> &str {
    match &sample.reading {
        Reading::Unknown(Unknown(why)) => why,
        Reading::Count(count) => panic!("a count: {count}"),
    }
}
