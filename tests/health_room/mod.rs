//! A health service on a free port, and the peers that test it.

#![allow(dead_code, clippy::all, missing_docs)]

pub mod tls;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tidegate::health::{Address, Board, Listen, Recovery, Server, Status, bind, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tonic::transport::Channel;

tonic::include_proto!("grpc.health.v1");

pub use health_check_response::ServingStatus;
pub use health_client::HealthClient;

/// Longer than any machine is slow.
pub const PATIENCE: Duration = Duration::from_secs(20);

pub struct Room {
    pub board: Board,
    pub server: Server,
    pub address: SocketAddr,
}

/// A service with the names `a` and `b`, both SERVING.
pub fn serving() -> Room {
    let room = unknown(["a", "b"]);
    room.board.set_every(Status::Serving);
    room
}

pub fn unknown<S: Into<String>>(services: impl IntoIterator<Item = S>) -> Room {
    // Thousands of connections, both ends of them in this process; shells give 1 024 descriptors.
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, most, most).unwrap();
    let board = Board::new(services, Recovery::Automatic);
    let bound = bind(&Listen::Tcp(SocketAddr::from(([127, 0, 0, 1], 0)))).unwrap();
    let server = serve(bound, board.clone(), Arc::new(|| "tidegate_up 1\n".to_owned())).unwrap();
    let Some(Address::Tcp(address)) = server.address().cloned() else {
        panic!("no port")
    };
    Room {
        board,
        server,
        address,
    }
}

impl Room {
    pub async fn client(&self) -> HealthClient<Channel> {
        let endpoint = tonic::transport::Endpoint::from_shared(format!("http://{}", self.address)).unwrap();
        HealthClient::new(endpoint.connect().await.unwrap())
    }

    pub async fn tcp(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// One HTTP/1 exchange on a connection of its own: everything that came back.
    pub async fn http(&self, request: &str) -> String {
        http(self.address, request).await
    }

    pub async fn get(&self, path: &str) -> (u16, String) {
        get(self.address, path).await
    }
}

pub async fn http(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    within(stream.read_to_end(&mut answer)).await.unwrap();
    String::from_utf8(answer).unwrap()
}

pub async fn get(address: SocketAddr, path: &str) -> (u16, String) {
    let answer = http(
        address,
        &format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
    )
    .await;
    let (head, body) = answer.split_once("\r\n\r\n").expect("a whole answer");
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

pub async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future)
        .await
        .expect("it never happened")
}

/// Waits until `done` holds of what it looks at.
pub async fn until(mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < PATIENCE, "it never happened");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

pub fn ask(service: &str) -> HealthCheckRequest {
    HealthCheckRequest {
        service: service.to_owned(),
    }
}

pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const WINDOW_UPDATE: u8 = 8;

#[derive(Debug)]
pub struct Frame {
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

/// An HTTP/2 client that says only what it is told to.
pub struct Raw<S> {
    pub stream: S,
}

impl<S: AsyncWriteExt + Unpin> Raw<S> {
    /// As [`Raw::call`], for a connection that may end.
    pub async fn try_call(
        &mut self,
        stream: u32,
        path: &str,
        service: &str,
        authority: &str,
    ) -> std::io::Result<()> {
        let mut block = vec![0x83, 0x86, 0x44, path.len() as u8];
        block.extend(path.as_bytes());
        block.extend([0x41, authority.len() as u8]);
        block.extend(authority.as_bytes());
        block.extend([0x5f, 16]);
        block.extend(b"application/grpc");
        block.extend(b"\x40\x02te\x08trailers");
        let mut message = vec![0, 0, 0, 0, service.len() as u8 + 2, 0x0a, service.len() as u8];
        message.extend(service.as_bytes());
        let mut frames = frame(HEADERS, 0x4, stream, &block);
        frames.extend(frame(DATA, 0x1, stream, &message));
        self.stream.write_all(&frames).await
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

impl<S: AsyncReadExt + AsyncWriteExt + Unpin> Raw<S> {
    /// Preface and `settings`, unanswered.
    pub async fn open(mut stream: S, settings: &[(u16, u32)]) -> Self {
        stream.write_all(PREFACE).await.unwrap();
        let mut raw = Self { stream };
        let payload: Vec<u8> = settings
            .iter()
            .flat_map(|(id, value)| [id.to_be_bytes().to_vec(), value.to_be_bytes().to_vec()].concat())
            .collect();
        raw.send(SETTINGS, 0, 0, &payload).await;
        raw
    }

    pub async fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        self.stream
            .write_all(&frame(kind, flags, stream, payload))
            .await
            .unwrap();
    }

    /// Calls a method of the health service, or any other path, with a health request.
    pub async fn call(&mut self, stream: u32, path: &str, service: &str, authority: &str) {
        self.try_call(stream, path, service, authority).await.unwrap();
    }

    /// The next frame, or nothing at the connection's end.
    pub async fn next(&mut self) -> Option<Frame> {
        within(async {
            let mut head = [0; 9];
            self.stream.read_exact(&mut head).await.ok()?;
            let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
            self.stream.read_exact(&mut payload).await.ok()?;
            let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
            Some(Frame {
                kind: head[3],
                flags: head[4],
                stream,
                payload,
            })
        })
        .await
    }

    /// The next frame of `kind`, acknowledging nothing on the way.
    pub async fn next_of(&mut self, kind: u8) -> Frame {
        loop {
            let frame = self.next().await.expect("the connection ended first");
            if frame.kind == kind {
                return frame;
            }
        }
    }

    /// The status in the next DATA frame.
    pub async fn status(&mut self) -> ServingStatus {
        let frame = self.next_of(DATA).await;
        // prost leaves out an enum that is zero.
        let number = frame.payload.get(6).copied().unwrap_or(0);
        ServingStatus::try_from(i32::from(number)).unwrap()
    }
}
