//! The `TIDEGATE_*` variables: their names come from the schema, one for each key with a single
//! value, and one more for each flag.

use super::entry::{Entry as _, Form};
use super::flags::{FLAGS, Flag};
use super::schema::{self, Config};

/// What every variable of ours begins with.
pub const PREFIX: &str = "TIDEGATE_";

/// The variable that holds the config itself, as YAML.
pub const CONFIG: &str = "TIDEGATE_CONFIG";

/// A variable and the key it sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// `TIDEGATE_DRAIN_QUIET`
    pub name: String,
    /// `drain.quiet`
    pub path: String,
    /// A list's variable only exists to be refused with a reason.
    pub form: Form,
}

/// The name of the variable that sets `path`: `drain.pollInterval` is `TIDEGATE_DRAIN_POLL_INTERVAL`.
pub fn name_of(path: &str) -> String {
    let mut name = String::from(PREFIX);
    for letter in path.chars() {
        match letter {
            '.' => name.push('_'),
            upper if upper.is_ascii_uppercase() => {
                name.push('_');
                name.push(upper);
            }
            lower => name.push(lower.to_ascii_uppercase()),
        }
    }
    name
}

/// The variable of this name. The schema is walked along the name, so that one variable does not
/// cost the names of all: the whole start has a third of a millisecond.
pub fn find(name: &str) -> Option<Variable> {
    if let Some(flag) = FLAGS.iter().find(|flag| flag.variable == name) {
        return Some(of_flag(flag));
    }
    // With the `_` that stands before each key.
    let rest = name.get(PREFIX.len() - 1..)?;
    let mut path = String::new();
    let form = Config::find(rest, &mut path)?;
    Some(Variable {
        name: name.to_owned(),
        path,
        form,
    })
}

/// What follows `_KEY` in `rest`, `key` as [`name_of`] writes it.
pub fn without_key<'a>(rest: &'a str, key: &str) -> Option<&'a str> {
    let mut rest = rest.strip_prefix('_')?;
    for letter in key.chars() {
        if letter.is_ascii_uppercase() {
            rest = rest.strip_prefix('_')?;
        }
        rest = rest.strip_prefix(letter.to_ascii_uppercase())?;
    }
    Some(rest)
}

fn of_flag(flag: &Flag) -> Variable {
    Variable {
        name: flag.variable.to_owned(),
        path: flag.path.to_owned(),
        form: Form::Scalar,
    }
}

/// Every variable: those of the keys, then those of the flags.
pub fn variables() -> Vec<Variable> {
    let keys = schema::keys().into_iter().filter(|key| !key.path.contains("[]"));
    let of_keys = keys.map(|key| Variable {
        name: name_of(&key.path),
        path: key.path,
        form: key.form,
    });
    of_keys.chain(FLAGS.iter().map(of_flag)).collect()
}

/// Whether Kubernetes puts this variable into every pod beside a Service called `tidegate` or
/// `tidegate-…`, unless `enableServiceLinks` is false (kubelet, pkg/kubelet/envvars).
///
/// `name` is without [`PREFIX`]; for the Service `tidegate` itself that is `SERVICE_HOST`, for
/// others `…_SERVICE_HOST`.
pub fn is_service_link(name: &str) -> bool {
    let framed = format!("_{name}");
    if framed.ends_with("_SERVICE_HOST") || framed.ends_with("_SERVICE_PORT") || framed.ends_with("_PORT") {
        return true;
    }
    // A named port: TIDEGATE_SERVICE_PORT_GRPC.
    if framed
        .split_once("_SERVICE_PORT_")
        .is_some_and(|(_, port)| !port.is_empty())
    {
        return true;
    }
    // Docker's old link form: TIDEGATE_PORT_9095_TCP, …_PROTO, …_PORT, …_ADDR.
    let Some((_, port)) = framed.rsplit_once("_PORT_") else {
        return false;
    };
    let mut parts = port.split('_');
    let number = parts.next().is_some_and(|number| number.parse::<u16>().is_ok());
    let protocol = matches!(parts.next(), Some("TCP" | "UDP" | "SCTP"));
    let end = matches!(parts.next(), None | Some("PROTO" | "PORT" | "ADDR"));
    number && protocol && end && parts.next().is_none()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_single_key_and_every_flag_has_its_variable() {
        let names: HashSet<String> = variables().into_iter().map(|variable| variable.name).collect();
        for name in [
            "TIDEGATE_TERMINATION_GRACE_PERIOD_SECONDS",
            "TIDEGATE_MARGIN_PERCENT",
            "TIDEGATE_PRE_STOP_SECONDS",
            "TIDEGATE_CHILD_STOP_TIMEOUT",
            "TIDEGATE_DRAIN_PROPAGATION",
            "TIDEGATE_DRAIN_PROPAGATION_MIN",
            "TIDEGATE_DRAIN_ON_UNKNOWN_PROCEED_AFTER",
            "TIDEGATE_HEALTH_LISTEN",
            "TIDEGATE_TELEMETRY_LOG_FORMAT",
            "TIDEGATE_ADMIN_SOCKET",
            "TIDEGATE_GRACE_PERIOD",
            "TIDEGATE_INFLIGHT_QUERY",
        ] {
            assert!(names.contains(name), "{name}");
        }
        for key in schema::keys() {
            if !key.path.contains("[]") {
                assert!(names.contains(&name_of(&key.path)), "{}", key.path);
            }
        }
    }

    #[test]
    fn every_variable_is_found_by_its_name_and_no_other() {
        for variable in variables() {
            let shorter = &variable.name[..variable.name.len() - 1];
            assert_eq!(find(shorter), None, "{shorter}");
            assert_eq!(find(&format!("{}_", variable.name)), None, "{variable:?}");
            assert_eq!(find(&variable.name), Some(variable));
        }
        for name in [
            "",
            "TIDEGATE",
            "TIDEGATE_",
            "TIDEGATE_DRAIN_",
            "TIDEGATE_DRAINQUIET",
        ] {
            assert_eq!(find(name), None, "{name}");
        }
    }

    #[test]
    fn no_two_variables_share_a_name_and_none_is_a_service_link() {
        let mut seen = HashSet::new();
        for variable in variables() {
            assert_ne!(variable.name, CONFIG);
            assert!(
                !is_service_link(&variable.name[PREFIX.len()..]),
                "{}",
                variable.name
            );
            assert!(seen.insert(variable.name.clone()), "{}", variable.name);
        }
    }

    #[test]
    fn what_kubernetes_injects_is_recognised() {
        for name in [
            "SERVICE_HOST",
            "SERVICE_PORT",
            "SERVICE_PORT_GRPC",
            "PORT",
            "PORT_9095_TCP",
            "PORT_9095_TCP_PROTO",
            "PORT_9095_TCP_PORT",
            "PORT_9095_TCP_ADDR",
            "PORT_53_UDP",
            "PORT_1_SCTP_ADDR",
            "ADMIN_SERVICE_HOST",
            "ADMIN_SERVICE_PORT_HTTP_METRICS",
            "X_Y_PORT",
            "X_PORT_80_TCP_ADDR",
        ] {
            assert!(is_service_link(name), "{name}");
        }
        for name in [
            "DRAIN_QUITE",
            "PORTS",
            "PORT_TCP",
            "PORT_99999_TCP",
            "PORT_80_TCP_NAME",
            "SERVICE_HOSTS",
            "SERVICE_PORT_",
        ] {
            assert!(!is_service_link(name), "{name}");
        }
    }
}
