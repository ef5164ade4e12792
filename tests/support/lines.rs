//! An output, line by line, each with the moment it came.

use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::PATIENCE;

/// One line, without its end.
#[derive(Clone, Debug)]
pub struct Line {
    /// When it was read: at or after the moment it was written.
    pub at: Instant,
    /// Its text; what is not UTF-8 is replaced.
    pub text: String,
}

/// An output that is read to its end by a thread of its own.
#[derive(Clone)]
pub struct Lines {
    name: &'static str,
    shared: Arc<(Mutex<Seen>, Condvar)>,
}

#[derive(Default)]
struct Seen {
    lines: Vec<Line>,
    ended: bool,
}

impl Line {
    /// The line as a JSON object; `None` when it is not one.
    pub fn json(&self) -> Option<Value> {
        serde_json::from_str(&self.text).ok().filter(Value::is_object)
    }
}

impl Lines {
    /// Reads `output` until it ends.
    pub fn of(name: &'static str, output: impl Read + Send + 'static) -> Self {
        let lines = Self {
            name,
            shared: Arc::default(),
        };
        let shared = Arc::clone(&lines.shared);
        std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            let mut bytes = Vec::new();
            while matches!(output.read_until(b'\n', &mut bytes), Ok(1..)) {
                let text = String::from_utf8_lossy(&bytes).trim_end_matches('\n').to_owned();
                shared.0.lock().unwrap().lines.push(Line {
                    at: Instant::now(),
                    text,
                });
                shared.1.notify_all();
                bytes.clear();
            }
            shared.0.lock().unwrap().ended = true;
            shared.1.notify_all();
        });
        lines
    }

    /// An output that was never opened.
    pub fn none(name: &'static str) -> Self {
        Self::of(name, std::io::empty())
    }

    /// What has been read so far.
    pub fn so_far(&self) -> Vec<Line> {
        self.shared.0.lock().unwrap().lines.clone()
    }

    /// The lines so far that contain `pattern`.
    pub fn with(&self, pattern: &str) -> Vec<Line> {
        self.so_far()
            .into_iter()
            .filter(|line| line.text.contains(pattern))
            .collect()
    }

    /// Waits for the first line that contains `pattern`.
    ///
    /// # Panics
    /// With everything that was read, when it does not come within [`PATIENCE`] or the output ends before.
    pub fn wait_for(&self, pattern: &str) -> Line {
        self.wait_for_nth(pattern, 1)
    }

    /// Waits for the `nth` line (from 1) that contains `pattern`.
    ///
    /// # Panics
    /// As [`Lines::wait_for`].
    pub fn wait_for_nth(&self, pattern: &str, nth: usize) -> Line {
        let found = |read: &Seen| {
            read.lines
                .iter()
                .filter(|line| line.text.contains(pattern))
                .nth(nth - 1)
                .cloned()
        };
        self.wait_until(&format!("line {nth} with {pattern:?}"), |read| found(read))
    }

    /// Waits for the end of the output and says all that was in it.
    ///
    /// # Panics
    /// When it does not end within [`PATIENCE`].
    pub fn to_the_end(&self) -> Vec<Line> {
        self.wait_until("the end", |read| read.ended.then(|| read.lines.clone()))
    }

    fn wait_until<T>(&self, what: &str, look: impl Fn(&Seen) -> Option<T>) -> T {
        let (read, changed) = &*self.shared;
        let until = Instant::now() + PATIENCE;
        let mut read = read.lock().unwrap();
        loop {
            if let Some(found) = look(&read) {
                return found;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left == Duration::ZERO || read.ended {
                let said: Vec<_> = read.lines.iter().map(|line| line.text.as_str()).collect();
                let end = if read.ended { "it ended" } else { "time is up" };
                let (name, said) = (self.name, said.join("\n  "));
                drop(read);
                panic!("{name}: no {what}: {end} after\n  {said}");
            }
            read = changed.wait_timeout(read, left).unwrap().0;
        }
    }
}
