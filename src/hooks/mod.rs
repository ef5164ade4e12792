//! Hooks: what is called when the instance leaves traffic, and when it comes back.
//!
//! | file | what it does |
//! | --- | --- |
//! | `roster` | all hooks of a run: one round of leaving or coming back at a time |
//! | `attempts` | one hook: its tries, each within its time, the pauses between them |
//! | `deed` | what one try does, whatever kind the hook is |
//! | `outcome` | what has become of a hook, for the log, `status`, the report and `/metrics` |
//! | `needs` | what a hook needs of the container: secrets, certificates, a program |
//! | `http` | a call of a URL and the statuses that are a success |
//! | `exec` | a program, its output in the log, ended with its group when its time is up |
//! | `consul`, `eureka`, `nacos`, `etcd` | a registry's own words for leaving and coming back, over HTTP |
//!
//! ```text
//!  Deregister ─► Roster::leave ─┐            ┌─► attempts ─► deed ─► http, exec, signal, a registry
//!                               ├─► director ┤        │
//!  Register ─► Roster::come_back┘            └─► …    └─► outcomes ─► evidence, status, report
//! ```
//!
//! A round begins only when the one before has no try under way: what comes back late can not undo a
//! leaving. Nothing here renews a registration, so nothing comes back by itself either.

mod attempts;
mod consul;
mod deed;
mod etcd;
mod eureka;
mod exec;
mod http;
mod nacos;
mod needs;
mod outcome;
mod roster;

use std::time::Duration;

pub use consul::{Consul, ConsulMode};
pub use deed::Deed;
pub use etcd::{Etcd, Held};
pub use eureka::{Eureka, EurekaMode};
pub use http::{Expect, HttpCall};
pub use nacos::{Nacos, NacosApi, NacosMode};
pub use outcome::{HookState, Outcome, Summary};
pub use roster::{Reach, Roster};

/// The hooks of a run, in force.
#[derive(Clone, Debug, Default)]
pub struct HookSettings {
    /// When the drain or a hold begins.
    pub on_drain: Vec<Hook>,
    /// When that is undone, beside what the registries of `on_drain` do then.
    pub on_resume: Vec<Hook>,
}

impl HookSettings {
    /// All of them, each with its key.
    pub fn each(&self) -> impl Iterator<Item = (String, &Hook)> {
        let lists = [(Way::Out, &self.on_drain), (Way::Back, &self.on_resume)];
        lists.into_iter().flat_map(|(of, hooks)| {
            let places = hooks.iter().enumerate();
            places.map(move |(index, hook)| (format!("hooks.{}[{index}]", of.key()), hook))
        })
    }

    /// All of them, each with the list it is of, `onDrain` first.
    fn each_of(&self) -> impl Iterator<Item = (Way, &Hook)> {
        let drain = self.on_drain.iter().map(|hook| (Way::Out, hook));
        drain.chain(self.on_resume.iter().map(|hook| (Way::Back, hook)))
    }
}

/// One hook.
#[derive(Clone, Debug)]
pub struct Hook {
    /// Its kind, and what it is about: `consul web-1`. Never a secret.
    pub name: String,
    /// What is done.
    pub deed: Deed,
    /// How long that is tried.
    pub patience: Patience,
}

/// How long a hook is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// A slower try has failed. Above zero.
    pub timeout: Duration,
    /// So many tries after the first.
    pub retries: u32,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(2),
            retries: 2,
        }
    }
}

/// Which way the instance goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// Out of traffic.
    Out,
    /// Back into it.
    Back,
    /// Into it for the first time: what an earlier container of the same name left in a registry is taken away.
    Anew,
}

impl Way {
    /// Its name in logs and metrics: the config's key for it, where there is one.
    pub fn key(self) -> &'static str {
        match self {
            Self::Out => "onDrain",
            Self::Back => "onResume",
            Self::Anew => "start",
        }
    }
}
