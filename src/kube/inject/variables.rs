//! `$(NAME)` in a config file that becomes a variable: the kubelet puts values there.

use crate::config;

use super::super::environment::{AN_ADDRESS, ConfigMaps, Environment, in_its_brackets};
use super::super::yaml::Node;
use super::wrap::variable;
use super::{InjectError, names};

/// What a config may say of its own pod, whether or not the container has the variable yet (Kubernetes, "Downward API",
/// available fields).
const FIELDS: [(&str, &str); 5] = [
    ("POD_IP", "status.podIP"),
    ("HOST_IP", "status.hostIP"),
    ("POD_NAME", "metadata.name"),
    ("POD_NAMESPACE", "metadata.namespace"),
    ("NODE_NAME", "spec.nodeName"),
];

/// The text of a config as the value of the container's next variable. `$(NAME)` stays where the container has that
/// variable, or gets it here, for it is one of [`FIELDS`]; any other `$` is doubled, by which the kubelet leaves it alone.
///
/// # Errors
/// [`InjectError::Config`]: with the values in their places it is refused.
pub fn value(container: &mut Node, text: &str) -> Result<Node, InjectError> {
    for (name, field) in FIELDS {
        let is_there = names(container.list_at("env")).any(|known| known == name);
        if text.contains(&format!("$({name})")) && !is_there {
            let field = Node::map([("fieldPath", Node::text(field))]);
            let from = Node::map([("fieldRef", field)]);
            container
                .list_entry("env")
                .push(Node::map([("name", Node::text(name)), ("valueFrom", from)]));
        }
    }
    let value = escaped(text, &names(container.list_at("env")).collect::<Vec<_>>());
    let environment = Environment::of(container, "", &ConfigMaps::default());
    if environment.unknown_in(&value).is_none() {
        read(&environment.expanded(&value))?;
    }
    Ok(Node::text(value))
}

/// Puts a config into the container's `TIDEGATE_CONFIG`.
///
/// # Errors
/// As [`value`].
pub fn set(container: &mut Node, text: &str) -> Result<(), InjectError> {
    let value = value(container, text)?;
    container
        .list_entry("env")
        .push(variable(("TIDEGATE_CONFIG", value)));
    Ok(())
}

/// The settings of a config file, whose errors call it FILE.
///
/// # Errors
/// [`InjectError::Config`], with the first thing that is wrong.
pub fn read(text: &str) -> Result<config::Settings, InjectError> {
    config::check("FILE".as_ref(), text).map_err(|problems| {
        let first = problems.first().map(ToString::to_string);
        InjectError::Config(first.unwrap_or_default())
    })
}

/// The text with a value that fits wherever one of [`FIELDS`] is, and a name or an address for any other variable.
pub fn plausible(text: &str) -> String {
    let mut pieces = text.split("$(");
    let mut plausible = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        match piece.split_once(')') {
            Some((name, rest)) if is_name(name) => {
                let in_brackets = plausible.ends_with('[') && rest.starts_with(']');
                plausible.push_str(if in_brackets {
                    in_its_brackets(AN_ADDRESS)
                } else {
                    AN_ADDRESS
                });
                plausible.push_str(rest);
            }
            _ => plausible.extend(["$(", piece]),
        }
    }
    plausible
}

fn escaped(text: &str, known: &[&str]) -> String {
    let mut pieces = text.split('$');
    let mut value = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let name = piece.strip_prefix('(').and_then(|piece| piece.split_once(')'));
        let is_reference = name.is_some_and(|(name, _)| known.contains(&name));
        value.push_str(if is_reference { "$" } else { "$$" });
        value.push_str(piece);
    }
    value
}

fn is_name(name: &str) -> bool {
    let letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    !name.is_empty() && name.chars().all(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_references_to_variables_that_are_there_are_left_to_the_kubelet() {
        for (text, value) in [
            ("a$b", "a$$b"),
            ("$(A)", "$(A)"),
            ("$(B) $", "$$(B) $$"),
            ("$$(A)", "$$$(A)"),
            ("$(A", "$$(A"),
            ("$(A)$(A)", "$(A)$(A)"),
        ] {
            assert_eq!(escaped(text, &["A"]), value, "{text}");
        }
    }

    #[test]
    fn what_is_no_reference_is_left_where_values_are_thought_of() {
        for (text, thought) in [
            ("http://$(HOST_IP):1/", "http://192.0.2.1:1/"),
            ("$(a b) $( $(", "$(a b) $( $("),
            ("http://[$(HOST_IP)]:1/", "http://[2001:db8::1]:1/"),
            ("$(A)$(B)", "192.0.2.1192.0.2.1"),
        ] {
            assert_eq!(plausible(text), thought);
        }
    }
}
