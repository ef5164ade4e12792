//! A registry as a test wants it: strict about what it is asked, and able to fail.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::support::patience::eventually;
use crate::support::ports;

/// What a registry does with a request.
#[derive(Clone, Debug)]
pub enum Turn {
    /// It answers.
    Answer(u16, String),
    /// It answers after a while.
    Late(Duration, u16),
    /// It never answers.
    Hang,
    /// It closes the connection instead.
    Drop,
    /// It answers 200 and goes on talking until the other side has gone.
    Endless,
}

/// 200 without a word.
pub fn fine() -> Turn {
    Turn::Answer(200, String::new())
}

/// A request.
#[derive(Clone, Debug)]
pub struct Asked {
    /// When it was read.
    pub at: Instant,
    /// `PUT /path?query`
    pub line: String,
    /// By names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: String,
}

type Manner = dyn Fn(&Asked, usize) -> Turn + Send + Sync;

/// One that is running, until the test's end.
pub struct Registry {
    address: SocketAddr,
    scheme: &'static str,
    asked: Arc<Mutex<Vec<Asked>>>,
    gone: Arc<AtomicUsize>,
}

impl Registry {
    /// One that answers as `manner` says, given the request and how many there were before it.
    pub fn start(manner: impl Fn(&Asked, usize) -> Turn + Send + Sync + 'static) -> Self {
        Self::serve(("http", ports::listen(ports::free())), manner, |stream| {
            Some(Box::new(stream))
        })
    }

    /// The same over TLS, with the certificate of 127.0.0.1 in `tests/fixtures/tls`.
    pub fn start_secure(manner: impl Fn(&Asked, usize) -> Turn + Send + Sync + 'static) -> Self {
        let fixture = |name: &str| format!("{}/tests/fixtures/tls/{name}", env!("CARGO_MANIFEST_DIR"));
        let chain = CertificateDer::from_pem_file(fixture("first.pem")).expect("a certificate");
        let key = PrivateKeyDer::from_pem_file(fixture("first.key")).expect("a key");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("protocols")
            .with_no_client_auth()
            .with_single_cert(vec![chain], key)
            .expect("a server");
        let config = Arc::new(config);
        // The certificate's own address.
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        Self::serve(("https", listener), manner, move |stream| {
            let connection = ServerConnection::new(Arc::clone(&config)).ok()?;
            Some(Box::new(StreamOwned::new(connection, stream)))
        })
    }

    fn serve(
        (scheme, listener): (&'static str, TcpListener),
        manner: impl Fn(&Asked, usize) -> Turn + Send + Sync + 'static,
        dress: impl Fn(TcpStream) -> Option<Box<dyn Wire>> + Send + 'static,
    ) -> Self {
        let address = listener.local_addr().expect("an address");
        let asked = Arc::new(Mutex::new(Vec::new()));
        let manner: Arc<Manner> = Arc::new(manner);
        let shared = Arc::clone(&asked);
        let gone = Arc::<AtomicUsize>::default();
        let counted = Arc::clone(&gone);
        thread::spawn(move || accept(&listener, &manner, &shared, &counted, dress));
        Self {
            address,
            scheme,
            asked,
            gone,
        }
    }

    /// Where it is.
    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.address)
    }

    /// What it was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("nobody panics").clone()
    }

    /// How many endless answers were not heard to the end.
    pub fn cut_short(&self) -> usize {
        self.gone.load(Ordering::Relaxed)
    }

    /// The first lines of that.
    pub fn lines(&self) -> Vec<String> {
        self.asked().into_iter().map(|asked| asked.line).collect()
    }

    /// Waits until it was asked `count` times.
    pub fn wait_for(&self, count: usize) -> Asked {
        eventually(&format!("{count} requests, now {:?}", self.lines()), || {
            self.asked().get(count - 1).cloned()
        })
    }
}

/// A connection, dressed or not.
pub trait Wire: Read + Write + Send {}
impl<T: Read + Write + Send> Wire for T {}

fn accept(
    listener: &TcpListener,
    manner: &Arc<Manner>,
    asked: &Arc<Mutex<Vec<Asked>>>,
    gone: &Arc<AtomicUsize>,
    dress: impl Fn(TcpStream) -> Option<Box<dyn Wire>>,
) {
    while let Ok((stream, _)) = listener.accept() {
        let Some(mut wire) = dress(stream) else { continue };
        let (manner, asked, gone) = (Arc::clone(manner), Arc::clone(asked), Arc::clone(gone));
        thread::spawn(move || {
            let Some(request) = read(&mut wire) else { return };
            let before = {
                let mut asked = asked.lock().expect("nobody panics");
                asked.push(request.clone());
                asked.len() - 1
            };
            match manner(&request, before) {
                Turn::Answer(code, body) => answer(&mut wire, code, &body),
                Turn::Late(wait, code) => {
                    thread::sleep(wait);
                    answer(&mut wire, code, "");
                }
                // Until the other side gives up.
                Turn::Hang => drop(wire.read(&mut [0])),
                Turn::Drop => {}
                Turn::Endless => {
                    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n";
                    let mut wrote = wire.write_all(head);
                    while wrote.is_ok() {
                        wrote = wire.write_all(&[b'x'; 1024]);
                    }
                    gone.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
    }
}

fn read(wire: &mut Box<dyn Wire>) -> Option<Asked> {
    let mut reader = BufReader::new(wire);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|length| *length > 0)?;
    let at = Instant::now();
    let line = line.trim_end().strip_suffix(" HTTP/1.1")?.to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(':') else {
            break;
        };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers
        .get("content-length")
        .and_then(|length| length.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some(Asked {
        at,
        line,
        headers,
        body: String::from_utf8(body).ok()?,
    })
}

fn answer(wire: &mut Box<dyn Wire>, code: u16, body: &str) {
    let location = if (300..400).contains(&code) {
        "Location: /elsewhere\r\n"
    } else {
        ""
    };
    // The other side may have given up.
    let _ = write!(
        wire,
        "HTTP/1.1 {code} X\r\nContent-Length: {}\r\n{location}Connection: close\r\n\r\n{body}",
        body.len()
    );
    let _ = wire.flush();
}
