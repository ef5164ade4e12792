//! The rules of `health.app` and `health.checks`: who says what health shows.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use crate::child::Command;
use crate::health::{App, Check, Judges, Listen, Place, Target};

use super::entry::quoted;
use super::error::ConfigError;
use super::rules::Rules;
use super::schema;

/// How long the app's last state holds where nothing is written: longer than a restart of its server.
const DEFAULT_HOLD: Duration = Duration::from_secs(30);

const DEFAULT_INTERVAL: Duration = Duration::from_secs(5);
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(1);
const DEFAULT_FAILURES: u64 = 3;

/// Probes closer together than this are a load on what they probe.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(100);

/// A probe that is given no time always fails.
const SHORTEST_TIMEOUT: Duration = Duration::from_millis(1);

/// More checks than anyone depends on.
const MOST_CHECKS: usize = 100;

/// Letters of a check's name: `/readyz` answers with a line.
const LONGEST_NAME: usize = 100;

impl Rules<'_> {
    /// Who judges, by what was written.
    pub(super) fn judges(
        &self,
        app: Option<schema::App>,
        checks: Vec<schema::Check>,
        listen: &Listen,
    ) -> Result<Judges, ConfigError> {
        const KEY: &str = "health.checks";
        if checks.len() > MOST_CHECKS {
            return Err(self.refused(
                KEY,
                format!("{} checks, and {MOST_CHECKS} are the most", checks.len()),
            ));
        }
        let written = checks.into_iter().enumerate();
        let checks = written
            .map(|(index, check)| self.check(&format!("{KEY}[{index}]"), check))
            .collect::<Result<Vec<_>, _>>()?;
        let names: Vec<_> = checks.iter().map(|check| check.name.clone()).collect();
        self.each_once(KEY, &names, |name| quoted(name))?;
        Ok(Judges {
            app: app.map(|app| self.app(app, listen)).transpose()?,
            checks,
        })
    }

    fn app(&self, app: schema::App, listen: &Listen) -> Result<App, ConfigError> {
        let Some(grpc) = app.grpc else {
            let why = "names no address to follow; write health.app.grpc beside it";
            return Err(self.refused("health.app.holdOnDisconnect", why.to_owned()));
        };
        if is_ours(&grpc, listen) {
            let why = "this is where tidegate itself answers (health.listen); name the app's own port";
            return Err(self.refused("health.app.grpc", why.to_owned()));
        }
        Ok(App {
            grpc,
            hold_on_disconnect: app.hold_on_disconnect.unwrap_or(DEFAULT_HOLD),
        })
    }

    fn check(&self, place: &str, check: schema::Check) -> Result<Check, ConfigError> {
        let key = |key: &str| format!("{place}.{key}");
        let timeout = check.timeout.unwrap_or(DEFAULT_TIMEOUT);
        let mut timeout = self.at_least(SHORTEST_TIMEOUT, &key("timeout"), timeout)?;
        let target = match (check.tcp, check.http, check.grpc, check.exec) {
            (Some(place), ..) => Target::Tcp(place),
            (_, Some(endpoint), ..) => Target::Http(endpoint),
            (_, _, Some(place), _) => Target::Grpc(place),
            (.., exec) => {
                let exec = exec.unwrap_or_default();
                if let Some(written) = exec.timeout {
                    let written = self.at_least(SHORTEST_TIMEOUT, &key("exec.timeout"), written)?;
                    timeout = check.timeout.map_or(written, |timeout| timeout.min(written));
                }
                Target::Exec(self.command(&key("exec.command"), exec.command.unwrap_or_default())?)
            }
        };
        let interval = check.interval.unwrap_or(DEFAULT_INTERVAL);
        Ok(Check {
            name: self.check_name(&key("name"), check.name.unwrap_or_default())?,
            target,
            interval: self.at_least(SHORTEST_INTERVAL, &key("interval"), interval)?,
            timeout,
            failures: self.failures(&key("failures"), check.failures.unwrap_or(DEFAULT_FAILURES))?,
        })
    }

    fn check_name(&self, key: &str, name: String) -> Result<String, ConfigError> {
        let is_a_line = !name.chars().any(char::is_control);
        if is_a_line && !name.trim().is_empty() && name.chars().count() <= LONGEST_NAME {
            return Ok(name);
        }
        let why = format!("{} is no name; write a word or two, like db", quoted(&name));
        Err(self.refused(key, why))
    }

    fn failures(&self, key: &str, failures: u64) -> Result<NonZeroU32, ConfigError> {
        let number = u32::try_from(failures).ok().and_then(NonZeroU32::new);
        number.ok_or_else(|| {
            let why = format!("{failures} in a row is no number of failures; write 1 or more");
            self.refused(key, why)
        })
    }

    /// The program and its arguments; one at least, by the schema.
    pub(super) fn command(&self, key: &str, words: Vec<String>) -> Result<Command, ConfigError> {
        if words.iter().any(|word| word.contains('\0')) {
            return Err(self.refused(key, "holds a NUL, which no program can be given".to_owned()));
        }
        let mut words = words.into_iter().map(Into::into);
        let program = words.next().unwrap_or_default();
        Ok(Command::new(program, words))
    }
}

/// Whether `place` is the health server's own: it would follow itself and stay UNKNOWN.
fn is_ours(place: &Place, listen: &Listen) -> bool {
    match (place, listen) {
        (Place::Unix(theirs), Listen::Unix(ours)) => theirs == ours,
        (Place::Tcp { host, port }, Listen::Tcp(ours)) => {
            let is_loopback = |ip: IpAddr| ip.is_loopback() || ip == ours.ip();
            let is_here = host.parse().is_ok_and(is_loopback) || host == "localhost" || host == "[::1]";
            *port == ours.port() && is_here && (ours.ip().is_unspecified() || ours.ip().is_loopback())
        }
        _ => false,
    }
}
