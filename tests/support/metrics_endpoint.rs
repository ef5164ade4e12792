//! A `/metrics` that answers as a test wishes, wrongly as well.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::patience::eventually;

/// What the next polls get.
#[derive(Clone, Debug)]
pub enum Answer {
    /// 200 with this text.
    Text(String),
    /// 200 with these bytes.
    Bytes(Vec<u8>),
    /// This status and a body that would read as zero calls.
    Status(u16),
    /// A redirect to a path that would read as zero calls.
    Redirect,
    /// Nothing, ever; the connection stays open.
    Hang,
    /// The connection is closed without an answer.
    HangUp,
    /// 200 and a body without an end, one that begins with zero calls or one without any line of ours.
    Endless(&'static str),
    /// `103 Early Hints` without an end, and never an answer.
    EndlessHints,
}

/// The endpoint. Dropping it closes it.
pub struct MetricsEndpoint {
    address: SocketAddr,
    shared: Arc<Shared>,
    listening: Option<JoinHandle<()>>,
}

struct Shared {
    answer: Mutex<Answer>,
    polls: Mutex<Vec<Instant>>,
    closed: Mutex<Closed>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Closed {
    No,
    Yes,
}

const ZERO: &str = "calls_in_flight 0\n";

impl Answer {
    /// `count` calls are under way.
    pub fn calls(count: u32) -> Self {
        Self::Text(format!("# TYPE calls_in_flight gauge\ncalls_in_flight {count}\n"))
    }
}

impl MetricsEndpoint {
    /// Starts one that gives `answer`.
    pub fn start(answer: Answer) -> Self {
        let address = super::ports::free();
        let listener = super::ports::listen(address);
        let shared = Arc::new(Shared {
            answer: Mutex::new(answer),
            polls: Mutex::default(),
            closed: Mutex::new(Closed::No),
        });
        let listening = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || shared.listen(&listener)
        });
        Self {
            address,
            shared,
            listening: Some(listening),
        }
    }

    /// Starts one with `count` calls under way.
    pub fn with_calls(count: u32) -> Self {
        Self::start(Answer::calls(count))
    }

    /// Where it is polled.
    pub fn url(&self) -> String {
        format!("http://{}/metrics", self.address)
    }

    /// From now on, polls get `answer`. The moment returned lies before any poll that does.
    pub fn set(&self, answer: Answer) -> Instant {
        let mut current = self.shared.answer.lock().unwrap();
        *current = answer;
        Instant::now()
    }

    /// From now on, `count` calls are under way.
    pub fn set_calls(&self, count: u32) -> Instant {
        self.set(Answer::calls(count))
    }

    /// When it was polled.
    pub fn polls(&self) -> Vec<Instant> {
        self.shared.polls.lock().unwrap().clone()
    }

    /// Waits until it has been polled `count` times after `moment`.
    pub fn wait_for_polls_after(&self, moment: Instant, count: usize) {
        eventually("a poll of the metrics", || {
            (self.polls().iter().filter(|&&poll| poll > moment).count() >= count).then_some(())
        });
    }

    /// Stops listening: from now on, connections are refused.
    pub fn close(&mut self) {
        *self.shared.closed.lock().unwrap() = Closed::Yes;
        // The thread sits in accept; one connection wakes it.
        let _ = TcpStream::connect(self.address);
        if let Some(listening) = self.listening.take() {
            let _ = listening.join();
        }
    }
}

impl Drop for MetricsEndpoint {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    fn listen(self: &Arc<Self>, listener: &TcpListener) {
        for socket in listener.incoming() {
            if self.closed() {
                return;
            }
            let shared = Arc::clone(self);
            if let Ok(socket) = socket {
                std::thread::spawn(move || shared.converse(&socket));
            }
        }
    }

    fn closed(&self) -> bool {
        *self.closed.lock().unwrap() == Closed::Yes
    }

    /// Answers one request after another, until either side has enough.
    fn converse(&self, socket: &TcpStream) {
        let mut lines = BufReader::new(socket).lines();
        while let Some(path) = request(&mut lines) {
            if self.closed() {
                return;
            }
            self.polls.lock().unwrap().push(Instant::now());
            let answer = self.answer.lock().unwrap().clone();
            let answer = if path == "/zero" {
                Answer::Text(ZERO.to_owned())
            } else {
                answer
            };
            if self.give(&answer, socket).is_err() {
                return;
            }
        }
    }

    fn give(&self, answer: &Answer, mut socket: &TcpStream) -> std::io::Result<()> {
        match answer {
            Answer::Text(text) => respond(socket, "200 OK", "", text.as_bytes()),
            Answer::Bytes(bytes) => respond(socket, "200 OK", "", bytes),
            Answer::Status(status) => respond(socket, &format!("{status} As Told"), "", ZERO.as_bytes()),
            Answer::Redirect => respond(socket, "302 Found", "Location: /zero\r\n", ZERO.as_bytes()),
            Answer::HangUp => Err(std::io::ErrorKind::ConnectionAborted.into()),
            Answer::Hang => {
                while !self.closed() && socket.peek(&mut [0]).is_ok_and(|read| read > 0) {
                    std::thread::sleep(Duration::from_millis(20));
                }
                Err(std::io::ErrorKind::ConnectionAborted.into())
            }
            Answer::Endless(first) => {
                write!(
                    socket,
                    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n{first}"
                )?;
                self.write_for_ever(socket, "other_series{label=\"value\"} 1\n")
            }
            Answer::EndlessHints => self.write_for_ever(socket, "HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n"),
        }
    }

    fn write_for_ever(&self, mut socket: &TcpStream, text: &str) -> std::io::Result<()> {
        let filler = text.repeat(2000);
        while !self.closed() {
            socket.write_all(filler.as_bytes())?;
        }
        Err(std::io::ErrorKind::ConnectionAborted.into())
    }
}

/// Reads a request's head and says its path; `None` at the end of the connection.
fn request(lines: &mut impl Iterator<Item = std::io::Result<String>>) -> Option<String> {
    let path = lines.next()?.ok()?.split(' ').nth(1)?.to_owned();
    for line in lines {
        if line.ok()?.is_empty() {
            return Some(path);
        }
    }
    None
}

fn respond(mut socket: &TcpStream, status: &str, headers: &str, body: &[u8]) -> std::io::Result<()> {
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Type: text/plain\r\n{headers}Content-Length: {length}\r\n\r\n");
    socket.write_all(&[head.as_bytes(), body].concat())
}
