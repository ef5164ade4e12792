//! `inflight`: where the calls under way are read.

use std::path::PathBuf;
use std::time::Duration;

use crate::http::Endpoint;
use crate::inflight::query::Query;
use crate::inflight::{Absent, Mode, Path, Peers, Preset};

use super::super::entry::Refusal;
use super::super::section::{Shape, exactly_one, required, section};

section! {
    /// One source: exactly one of its keys is written.
    Source {
        /// A metrics page in Prometheus' text format.
        prometheus: Prometheus = "prometheus",
        /// A number in a JSON document.
        json: Json = "json",
        /// The kernel's socket table.
        tcp: Tcp = "tcp",
        /// A program that prints the number.
        exec: Exec = "exec",
        /// A file that holds the number.
        file: FileSource = "file",
        /// A known program's metrics page.
        preset: Known = "preset",
    }
}

impl Shape for Source {
    fn shape(&self) -> Result<(), Refusal> {
        exactly_one(&[
            ("prometheus", self.prometheus.is_some()),
            ("json", self.json.is_some()),
            ("tcp", self.tcp.is_some()),
            ("exec", self.exec.is_some()),
            ("file", self.file.is_some()),
            ("preset", self.preset.is_some()),
        ])
    }
}

section! {
    /// `prometheus`
    Prometheus {
        /// Where the page is.
        url: Endpoint = "url",
        /// The calls under way, out of the page.
        query: Query = "query",
        /// What a series that is not there means.
        absent: Absent = "absent",
        /// The calls ever begun, out of the same page.
        arrivals: Query = "arrivals",
    }
}

impl Shape for Prometheus {
    fn shape(&self) -> Result<(), Refusal> {
        required("url", &self.url)?;
        required("query", &self.query)
    }
}

section! {
    /// `json`
    Json {
        /// Where the document is.
        url: Endpoint = "url",
        /// A JSONPath to the number.
        path: Path = "path",
        /// Whether it leads to an array whose items are the calls.
        length: bool = "length",
    }
}

impl Shape for Json {
    fn shape(&self) -> Result<(), Refusal> {
        required("url", &self.url)?;
        required("path", &self.path)
    }
}

section! {
    /// `tcp`
    Tcp {
        /// The ports the child serves calls on.
        ports: Vec<u16> = "ports",
        /// A connection is busy until nothing moved for so long.
        idle_after: Duration = "idleAfter",
        /// Which connections count.
        mode: Mode = "mode",
        /// Whose connections never do.
        ignore_peers: Vec<Peers> = "ignorePeers",
    }
}

impl Shape for Tcp {
    fn shape(&self) -> Result<(), Refusal> {
        match &self.ports {
            Some(ports) if ports.is_empty() => Err(Refusal("ports names no port".to_owned())),
            ports => required("ports", ports),
        }
    }
}

section! {
    /// `exec`
    Exec {
        /// The program and its arguments.
        command: Vec<String> = "command",
        /// A slower one is ended.
        timeout: Duration = "timeout",
    }
}

impl Shape for Exec {
    fn shape(&self) -> Result<(), Refusal> {
        match &self.command {
            Some(command) if command.is_empty() => Err(Refusal("command names no program".to_owned())),
            command => required("command", command),
        }
    }
}

section! {
    /// `file`
    FileSource {
        /// Where it is.
        path: PathBuf = "path",
    }
}

impl Shape for FileSource {
    fn shape(&self) -> Result<(), Refusal> {
        required("path", &self.path)
    }
}

section! {
    /// `preset`
    Known {
        /// Whose page it is.
        name: Preset = "name",
        /// Where it is.
        url: Endpoint = "url",
    }
}

impl Shape for Known {
    fn shape(&self) -> Result<(), Refusal> {
        required("name", &self.name)?;
        required("url", &self.url)
    }
}
