//! The rules of `hooks`: what is called when the instance leaves traffic and when it comes back.

use std::path::PathBuf;
use std::time::Duration;

use hyper::Method;
use hyper::header::{HeaderName, HeaderValue};

use crate::child::Signal;
use crate::drain::budget::Seconds;
use crate::hooks::{
    Consul, ConsulMode, Deed, Etcd, Eureka, EurekaMode, Expect, Held, Hook, HookSettings, HttpCall, Nacos,
    NacosApi, NacosMode, Patience,
};
use crate::http::Trust;
use crate::secret::Secret;

use super::entry::{Refusal, quoted};
use super::error::ConfigError;
use super::rules::Rules;
use super::schema;
use super::settings::Settings;

/// More hooks than anyone has registries.
const MOST_HOOKS: usize = 32;

/// A try that is given no time always fails.
const SHORTEST_TIMEOUT: Duration = Duration::from_millis(1);

/// More tries than a drain has time for.
const MOST_RETRIES: u64 = 100;

impl Settings {
    /// Hooks by which the instance leaves, and of which a single try may outlast the propagation window.
    pub fn slow_hooks(&self) -> Vec<String> {
        let window = self.plan.propagation.max;
        let slow = self
            .hooks
            .each()
            .take(self.hooks.on_drain.len())
            .filter(|(_, hook)| hook.patience.timeout > window && !matches!(hook.deed, Deed::Signal(_)));
        slow.map(|(key, hook)| {
            format!(
                "{key} ({}) may take {}, longer than the propagation window of {}: calls may stop before the registry \
                 is left; shorten its timeout or lengthen drain.propagation",
                hook.name,
                Seconds(hook.patience.timeout),
                Seconds(window)
            )
        })
        .collect()
    }

    /// Secrets of hooks that everyone who may read the pod reads.
    pub fn plain_secrets(&self) -> Vec<String> {
        let each = self.hooks.each().flat_map(|(key, hook)| {
            let keys = hook.plain_secrets();
            keys.into_iter().map(move |secret| {
                format!(
                    "{key} ({}) has its {secret} in plain text; write {{file: PATH}} or {{env: NAME}}",
                    hook.name
                )
            })
        });
        each.collect()
    }
}

impl Rules<'_> {
    /// The hooks, by what was written.
    pub(super) fn hooks(&self, hooks: schema::Hooks) -> Result<HookSettings, ConfigError> {
        Ok(HookSettings {
            on_drain: self.hooks_of("hooks.onDrain", hooks.on_drain)?,
            on_resume: self.hooks_of("hooks.onResume", hooks.on_resume)?,
        })
    }

    fn hooks_of(&self, key: &str, hooks: Option<Vec<schema::Hook>>) -> Result<Vec<Hook>, ConfigError> {
        let hooks = hooks.unwrap_or_default();
        if hooks.len() > MOST_HOOKS {
            let why = format!("{} hooks, and {MOST_HOOKS} are the most", hooks.len());
            return Err(self.refused(key, why));
        }
        let places = hooks.into_iter().enumerate();
        places
            .map(|(index, hook)| self.hook(&format!("{key}[{index}]"), hook))
            .collect()
    }

    fn hook(&self, place: &str, hook: schema::Hook) -> Result<Hook, ConfigError> {
        // One of them is there, by the schema.
        if let Some(consul) = hook.consul {
            return self.consul(&format!("{place}.consul"), consul);
        }
        if let Some(eureka) = hook.eureka {
            return self.eureka(&format!("{place}.eureka"), eureka);
        }
        if let Some(nacos) = hook.nacos {
            return self.nacos(&format!("{place}.nacos"), nacos);
        }
        if let Some(etcd) = hook.etcd {
            return self.etcd(&format!("{place}.etcd"), etcd);
        }
        if let Some(http) = hook.http {
            return self.http(&format!("{place}.http"), http);
        }
        if let Some(signal) = hook.signal {
            return self.signal(&format!("{place}.signal"), signal);
        }
        self.exec_hook(&format!("{place}.exec"), hook.exec.unwrap_or_default())
    }

    fn consul(&self, place: &str, consul: schema::Consul) -> Result<Hook, ConfigError> {
        let (Some(address), Some(service_id)) = (consul.address, consul.service_id) else {
            return Err(self.says_too_little(place));
        };
        self.named(place, "serviceId", &service_id)?;
        Ok(Hook {
            name: format!("consul {service_id}"),
            patience: self.patience(place, consul.timeout, consul.retries)?,
            deed: Deed::Consul(Consul {
                address: address.0,
                service_id,
                mode: consul.mode.unwrap_or(ConsulMode::Maintenance),
                token: consul.token,
                registration: consul.registration,
                trust: trust(consul.ca),
            }),
        })
    }

    fn eureka(&self, place: &str, eureka: schema::Eureka) -> Result<Hook, ConfigError> {
        let (Some(address), Some(app), Some(instance_id)) = (eureka.address, eureka.app, eureka.instance_id)
        else {
            return Err(self.says_too_little(place));
        };
        self.named(place, "app", &app)?;
        self.named(place, "instanceId", &instance_id)?;
        Ok(Hook {
            name: format!("eureka {app}/{instance_id}"),
            patience: self.patience(place, eureka.timeout, eureka.retries)?,
            deed: Deed::Eureka(Eureka {
                address: address.0,
                app,
                instance_id,
                mode: eureka.mode.unwrap_or(EurekaMode::OutOfService),
                trust: trust(eureka.ca),
            }),
        })
    }

    fn nacos(&self, place: &str, nacos: schema::Nacos) -> Result<Hook, ConfigError> {
        let (Some(address), Some(service_name), Some(ip), Some(port)) =
            (nacos.address, nacos.service_name, nacos.ip, nacos.port)
        else {
            return Err(self.says_too_little(place));
        };
        self.named(place, "serviceName", &service_name)?;
        self.named(place, "ip", &ip)?;
        let placed = [
            ("groupName", nacos.group),
            ("namespaceId", nacos.namespace),
            ("clusterName", nacos.cluster),
        ];
        Ok(Hook {
            name: format!("nacos {service_name} {ip}:{port}"),
            patience: self.patience(place, nacos.timeout, nacos.retries)?,
            deed: Deed::Nacos(Nacos {
                address: address.0,
                service_name,
                ip,
                port,
                place: placed
                    .into_iter()
                    .filter_map(|(name, value)| Some((name, value?)))
                    .collect(),
                ephemeral: nacos.ephemeral.unwrap_or(true),
                mode: nacos.mode.unwrap_or(NacosMode::Disable),
                api: nacos.api.unwrap_or(NacosApi::V2),
                user: nacos.user.zip(nacos.password),
                trust: trust(nacos.ca),
                left: None,
            }),
        })
    }

    fn etcd(&self, place: &str, etcd: schema::Etcd) -> Result<Hook, ConfigError> {
        let (held, name) = match (etcd.key, etcd.lease, etcd.lease_file) {
            (Some(key), ..) => {
                self.named(place, "key", &key)?;
                let name = format!("etcd {key}");
                (Held::Key(key), name)
            }
            (_, Some(lease), _) => {
                if i64::from_str_radix(lease.trim_start_matches("0x"), 16).is_err() {
                    let why = format!("{} is no lease; write its id as etcdctl shows it", quoted(&lease));
                    return Err(self.refused(&format!("{place}.lease"), why));
                }
                let name = format!("etcd lease {lease}");
                (Held::Lease(lease), name)
            }
            (.., file) => {
                let file = file.unwrap_or_default();
                let name = format!("etcd lease of {}", file.display());
                (Held::LeaseFile(file), name)
            }
        };
        let Some(address) = etcd.address else {
            return Err(self.says_too_little(place));
        };
        Ok(Hook {
            name,
            patience: self.patience(place, etcd.timeout, etcd.retries)?,
            deed: Deed::Etcd(Etcd {
                address: address.0,
                held,
                user: etcd.user.zip(etcd.password),
                trust: trust(etcd.ca),
                left: None,
            }),
        })
    }

    fn http(&self, place: &str, http: schema::HttpHook) -> Result<Hook, ConfigError> {
        let Some(url) = http.url else {
            return Err(self.says_too_little(place));
        };
        let method = http.method.as_deref().unwrap_or("PUT");
        // RFC 9110, 9.1: methods are case-sensitive, and those that exist are upper case.
        let method = match Method::from_bytes(method.as_bytes()) {
            Ok(known)
                if known != Method::CONNECT && method.bytes().all(|byte| !byte.is_ascii_lowercase()) =>
            {
                known
            }
            _ => {
                let why = format!("{} is no method; write PUT, POST, GET or DELETE", quoted(method));
                return Err(self.refused(&format!("{place}.method"), why));
            }
        };
        let mut headers = Vec::new();
        for (name, value) in http.headers.unwrap_or_default().0 {
            let key = format!("{place}.headers.{name}");
            let header = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| self.refused(&key, "is no header name".to_owned()))?;
            if let Secret::Plain(text) = &value
                && HeaderValue::from_str(text).is_err()
            {
                return Err(self.refused(
                    &key,
                    "a header's value has letters that HTTP cannot carry".to_owned(),
                ));
            }
            headers.push((header, value));
        }
        Ok(Hook {
            name: format!("http {method} {}", url.0),
            patience: self.patience(place, http.timeout, http.retries)?,
            deed: Deed::Http(HttpCall {
                method,
                endpoint: url.0,
                headers,
                body: http.body.unwrap_or_default(),
                expect: http
                    .expect
                    .filter(|list| !list.is_empty())
                    .map_or(Expect::Success, Expect::These),
                trust: trust(http.ca),
            }),
        })
    }

    fn exec_hook(&self, place: &str, exec: schema::Exec) -> Result<Hook, ConfigError> {
        let words = exec.command.unwrap_or_default();
        let command = self.command(&format!("{place}.command"), words)?;
        Ok(Hook {
            name: format!("exec {}", command.program.to_string_lossy()),
            // Run again it might do again what it has done; a retry of its own is its own.
            patience: Patience {
                retries: 0,
                ..self.patience(place, exec.timeout, None)?
            },
            deed: Deed::Exec(command),
        })
    }

    fn signal(&self, place: &str, signal: Signal) -> Result<Hook, ConfigError> {
        if matches!(signal, Signal::KILL | Signal::STOP) {
            let why = format!("{signal} cannot be caught, so that no program quiesces on it");
            return Err(self.refused(place, why));
        }
        Ok(Hook {
            name: format!("signal {signal}"),
            patience: Patience {
                retries: 0,
                ..Patience::default()
            },
            deed: Deed::Signal(signal),
        })
    }

    fn patience(
        &self,
        place: &str,
        timeout: Option<Duration>,
        retries: Option<u64>,
    ) -> Result<Patience, ConfigError> {
        let default = Patience::default();
        let retries = match retries {
            Some(retries) if retries > MOST_RETRIES => {
                let why = format!("{retries} retries, and {MOST_RETRIES} are the most");
                return Err(self.refused(&format!("{place}.retries"), why));
            }
            retries => retries.and_then(|retries| u32::try_from(retries).ok()),
        };
        let timeout = timeout.unwrap_or(default.timeout);
        Ok(Patience {
            timeout: self.at_least(SHORTEST_TIMEOUT, &format!("{place}.timeout"), timeout)?,
            retries: retries.unwrap_or(default.retries),
        })
    }

    /// A name that stands in a URL and in the log.
    fn named(&self, place: &str, key: &str, name: &str) -> Result<(), ConfigError> {
        if !name.trim().is_empty() && !name.chars().any(char::is_control) && !name.contains("$(") {
            return Ok(());
        }
        let Refusal(why) = Refusal(format!("{} is no name", quoted(name))).of(name);
        Err(self.refused(&format!("{place}.{key}"), why))
    }

    /// What the schema has let through none the less.
    fn says_too_little(&self, place: &str) -> ConfigError {
        self.refused(place, "says too little".to_owned())
    }
}

fn trust(ca: Option<PathBuf>) -> Trust {
    ca.map_or(Trust::System, Trust::File)
}
