//! One line an event, on stderr.
//!
//! Events are `tracing`'s, with fields, so that a line reads as a story and parses as data:
//!
//! ```text
//! 2026-05-04T10:11:12.345Z INFO drain: notify → propagation watchers=3 told=3
//! {"timestamp":"…","level":"info","target":"drain","message":"notify → propagation","watchers":3,"told":3}
//! ```
//!
//! The subscriber is our own because nothing it does may wait: see [`stderr`](super::stderr).

use std::fmt::{self, Write};
use std::sync::OnceLock;
use std::time::SystemTime;

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span;
use tracing::{Event, Level, Metadata, Subscriber};

use super::stderr::{LONGEST_LINE, Stderr, cut};

/// How a line looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// How much is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verbosity {
    /// Warnings and errors.
    Quiet,
    /// One line a transition.
    #[default]
    Normal,
    /// Every poll and probe as well.
    Verbose,
}

/// Starts the log. Called once, at the door; a second call changes nothing.
pub fn start(format: Format, verbosity: Verbosity) {
    let most = match verbosity {
        Verbosity::Quiet => Level::WARN,
        Verbosity::Normal => Level::INFO,
        Verbosity::Verbose => Level::DEBUG,
    };
    let log = Log {
        format,
        most,
        stderr: OnceLock::new(),
    };
    // It fails only where a log was started before, which then goes on.
    let _ = tracing::subscriber::set_global_default(log);
}

struct Log {
    format: Format,
    most: Level,
    /// Looked at when there is something to say, which is after the program was started.
    stderr: OnceLock<Stderr>,
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // Other crates' events speak of their insides, not of the drain.
        metadata.is_event() && *metadata.level() <= self.most && is_ours(metadata.target())
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::from_level(self.most))
    }

    fn event(&self, event: &Event<'_>) {
        let line = match self.format {
            Format::Text => text_line(event),
            Format::Json => json_line(event),
        };
        self.stderr.get_or_init(Stderr::open).write_line(line.as_bytes());
    }

    // Spans are not used.
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

/// Our targets are the names of rooms; other crates' are paths that begin with the crate.
fn is_ours(target: &str) -> bool {
    const ROOMS: [&str; 10] = [
        "drain",
        "child",
        "config",
        "health",
        "inflight",
        "hooks",
        "admin",
        "lifecycle",
        "target",
        "telemetry",
    ];
    ROOMS.contains(&target)
}

fn timestamp() -> impl fmt::Display {
    humantime::format_rfc3339_millis(SystemTime::now())
}

fn text_line(event: &Event<'_>) -> String {
    let metadata = event.metadata();
    let mut line = String::with_capacity(160);
    // Writing to a String cannot fail.
    let _ = write!(
        line,
        "{} {:>5} {}:",
        timestamp(),
        metadata.level(),
        metadata.target()
    );
    let mut text = Text::default();
    event.record(&mut text);
    line.push_str(&text.message);
    line.push_str(&text.fields);
    // What a peer or a user wrote may hold line breaks; a line stays a line.
    let mut line: String = line
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    cut(&mut line);
    line.push('\n');
    line
}

#[derive(Default)]
struct Text {
    message: String,
    fields: String,
}

impl Text {
    fn add(&mut self, field: &Field, value: fmt::Arguments<'_>) {
        let _ = match field.name() {
            "message" => write!(self.message, " {value}"),
            name => write!(self.fields, " {name}={value}"),
        };
    }
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, format_args!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match value.contains(' ') && field.name() != "message" {
            true => self.add(field, format_args!("{value:?}")),
            false => self.add(field, format_args!("{value}")),
        }
    }
}

fn json_line(event: &Event<'_>) -> String {
    let metadata = event.metadata();
    let mut fields = Json(Map::new());
    fields
        .0
        .insert("timestamp".into(), timestamp().to_string().into());
    fields.0.insert(
        "level".into(),
        metadata.level().as_str().to_ascii_lowercase().into(),
    );
    fields.0.insert("target".into(), metadata.target().into());
    event.record(&mut fields);
    let mut line = Value::Object(fields.0).to_string();
    if line.len() >= LONGEST_LINE {
        // A cut object would not parse: say that there was one.
        line = format!(
            r#"{{"timestamp":"{}","level":"warn","target":"telemetry","message":"a log line was too long","bytes":{}}}"#,
            timestamp(),
            line.len()
        );
    }
    line.push('\n');
    line
}

struct Json(Map<String, Value>);

impl Json {
    fn add(&mut self, field: &Field, value: impl Into<Value>) {
        self.0.insert(field.name().to_owned(), value.into());
    }
}

impl Visit for Json {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, format!("{value:?}"));
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, value);
    }
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, value);
    }
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, value);
    }
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, value);
    }
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, value);
    }
}
