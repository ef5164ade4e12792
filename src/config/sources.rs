//! The rules of `inflight`.

use std::ffi::OsString;
use std::time::Duration;

use crate::inflight::{ExecConfig, FileConfig, JsonConfig, PrometheusConfig, SourceConfig, Take, TcpConfig};

use super::error::ConfigError;
use super::rules::Rules;
use super::schema;

impl Rules<'_> {
    pub(super) fn inflight(&self, sources: Vec<schema::Source>) -> Result<Vec<SourceConfig>, ConfigError> {
        let mut settings = Vec::with_capacity(sources.len());
        for (index, source) in sources.into_iter().enumerate() {
            settings.push(self.source(&format!("inflight[{index}]"), source)?);
        }
        Ok(settings)
    }

    /// A source: its shape holds, so that exactly one kind is there with all that it requires.
    fn source(&self, place: &str, source: schema::Source) -> Result<SourceConfig, ConfigError> {
        let absent = |key: &str| self.refused(&format!("{place}.{key}"), "is missing".to_owned());
        if let Some(json) = source.json {
            let (Some(url), Some(path)) = (json.url, json.path) else {
                return Err(absent("json"));
            };
            let take = match json.length {
                Some(true) => Take::Length,
                Some(false) | None => Take::Number,
            };
            return Ok(SourceConfig::Json(JsonConfig::new(url, path, take)));
        }
        if let Some(tcp) = source.tcp {
            return self.tcp(&format!("{place}.tcp"), tcp).map(SourceConfig::Tcp);
        }
        if let Some(exec) = source.exec {
            return self.exec(&format!("{place}.exec"), exec).map(SourceConfig::Exec);
        }
        if let Some(file) = source.file {
            let path = file.path.ok_or_else(|| absent("file"))?;
            return Ok(SourceConfig::File(FileConfig::new(path)));
        }
        if let Some(known) = source.preset {
            let (Some(name), Some(url)) = (known.name, known.url) else {
                return Err(absent("preset"));
            };
            let source = name.source(url);
            return source.map_err(|why| self.refused(&format!("{place}.preset"), why.to_string()));
        }
        let prometheus = source.prometheus.ok_or_else(|| absent("prometheus"))?;
        self.prometheus(&format!("{place}.prometheus"), prometheus)
            .map(SourceConfig::Prometheus)
    }

    fn tcp(&self, place: &str, written: schema::Tcp) -> Result<TcpConfig, ConfigError> {
        let ports = written.ports.unwrap_or_default();
        self.each_once(&format!("{place}.ports"), &ports, u16::to_string)?;
        Ok(TcpConfig {
            ports,
            idle_after: self.at_least(
                Duration::from_millis(1),
                &format!("{place}.idleAfter"),
                written.idle_after.unwrap_or(TcpConfig::IDLE_AFTER),
            )?,
            mode: written.mode.unwrap_or_default(),
            ignore_peers: written.ignore_peers.unwrap_or_default(),
        })
    }

    fn exec(&self, place: &str, written: schema::Exec) -> Result<ExecConfig, ConfigError> {
        let mut words = written
            .command
            .unwrap_or_default()
            .into_iter()
            .map(OsString::from);
        let Some(program) = words.next() else {
            return Err(self.refused(&format!("{place}.command"), "names no program".to_owned()));
        };
        let timeout = self.at_least(
            Duration::from_millis(1),
            &format!("{place}.timeout"),
            written.timeout.unwrap_or(ExecConfig::TIMEOUT),
        )?;
        Ok(ExecConfig::new(program, words, timeout))
    }

    fn prometheus(&self, place: &str, written: schema::Prometheus) -> Result<PrometheusConfig, ConfigError> {
        // In a document both are required; a variable or flag can come without the other.
        let Some(url) = written.url else {
            let why = "needs --inflight-url or TIDEGATE_INFLIGHT_URL beside it";
            return Err(self.refused(&format!("{place}.query"), why.to_owned()));
        };
        let Some(query) = written.query else {
            let why = "needs --inflight-query or TIDEGATE_INFLIGHT_QUERY beside it";
            return Err(self.refused(&format!("{place}.url"), why.to_owned()));
        };
        let absent = written.absent.unwrap_or_default();
        Ok(PrometheusConfig::of(url, query, absent, written.arrivals))
    }
}
