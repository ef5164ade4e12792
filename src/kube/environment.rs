//! What a container's environment is, as far as the manifests say.

use super::objects::Object;
use super::yaml::Node;

/// The variables, and those whose values only the cluster knows.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// Name and value, each name once.
    pub known: Vec<(String, String)>,
    /// Name (or prefix and `*`) and the reason.
    pub unknown: Vec<(String, String)>,
}

/// The ConfigMaps in the same input.
#[derive(Clone, Debug, Default)]
pub struct ConfigMaps<'a>(Vec<Object<'a>>);

impl<'a> ConfigMaps<'a> {
    /// Those among the objects.
    pub fn among(objects: &[Object<'a>]) -> Self {
        let is_one = |object: &&Object<'a>| object.kind() == "ConfigMap";
        Self(objects.iter().filter(is_one).cloned().collect())
    }

    /// The data of one. A namespace that is not written may be any: it comes from `kubectl -n`.
    pub fn data(&self, namespace: &str, name: &str) -> Option<&'a Node> {
        let fits = |object: &&Object<'a>| {
            object.name() == name
                && (object.namespace() == namespace || object.namespace().is_empty() || namespace.is_empty())
        };
        self.0.iter().find(fits).map(|object| object.node)
    }
}

impl Environment {
    /// Of a container, in the order of the kubelet: `envFrom`, then `env`, later wins.
    pub fn of(container: &Node, namespace: &str, maps: &ConfigMaps<'_>) -> Self {
        let mut environment = Self::default();
        for source in container.list_at("envFrom") {
            environment.whole(source, namespace, maps);
        }
        for variable in container.list_at("env") {
            environment.single(variable, namespace, maps);
        }
        environment
    }

    fn whole(&mut self, source: &Node, namespace: &str, maps: &ConfigMaps<'_>) {
        let prefix = source.scalar_at("prefix").unwrap_or("");
        let reference = source.get("configMapRef").or_else(|| source.get("secretRef"));
        let Some(name) = reference.and_then(|reference| reference.scalar_at("name")) else {
            return;
        };
        let map = source
            .get("configMapRef")
            .and_then(|_| maps.data(namespace, name));
        match map {
            Some(map) => {
                for (key, value) in map.get("data").map_or(&[][..], Node::entries) {
                    if let (Some(key), Some(value)) = (key.scalar(), value.scalar()) {
                        self.set(format!("{prefix}{key}"), value.to_owned());
                    }
                }
            }
            None => self.unknown.push((
                format!("{prefix}*"),
                format!("is in {name}, which is not in this input"),
            )),
        }
    }

    fn single(&mut self, variable: &Node, namespace: &str, maps: &ConfigMaps<'_>) {
        let Some(name) = variable.scalar_at("name") else {
            return;
        };
        let Some(from) = variable.get("valueFrom") else {
            let value = variable.scalar_at("value").unwrap_or("");
            if let Some(other) = self.unknown_in(value) {
                let why = format!("holds $({other}), whose value is not in this input");
                return self.forget(name, &why);
            }
            let value = self.expanded(value);
            return self.set(name.to_owned(), value);
        };
        if let Some(value) = from.at(&["fieldRef", "fieldPath"]).and_then(stand_in) {
            return self.set(name.to_owned(), value.to_owned());
        }
        let key = from.get("configMapKeyRef");
        let map = key.and_then(|key| maps.data(namespace, key.scalar_at("name")?));
        match (key, map) {
            (Some(key), Some(map)) => {
                let value = map
                    .get("data")
                    .and_then(|data| data.scalar_at(key.scalar_at("key")?));
                match value {
                    Some(value) => self.set(name.to_owned(), value.to_owned()),
                    None => self.forget(name, "its key is not in the ConfigMap"),
                }
            }
            _ => self.forget(name, "comes from what is not in this input"),
        }
    }

    fn set(&mut self, name: String, value: String) {
        self.known.retain(|(known, _)| *known != name);
        self.unknown.retain(|(unknown, _)| *unknown != name);
        self.known.push((name, value));
    }

    fn forget(&mut self, name: &str, why: &str) {
        self.known.retain(|(known, _)| known != name);
        self.unknown.push((name.to_owned(), why.to_owned()));
    }

    /// `$(NAME)` replaced by what is known; `$$` is `$`, and what is not known stays as it is
    /// (Kubernetes, third_party/forked/golang/expansion).
    pub fn expanded(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            out.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix('$') {
                out.push('$');
                rest = after;
                continue;
            }
            let named = rest.strip_prefix('(').and_then(|inner| inner.split_once(')'));
            let value = named.and_then(|(name, after)| {
                let (_, value) = self.known.iter().find(|(known, _)| known == name)?;
                Some((value, after))
            });
            match value {
                Some((value, after)) => {
                    let in_brackets = out.ends_with('[') && after.starts_with(']');
                    out.push_str(if in_brackets {
                        in_its_brackets(value)
                    } else {
                        value
                    });
                    rest = after;
                }
                None => out.push('$'),
            }
        }
        out + rest
    }

    /// Whether the container may have a variable of this name, as far as the manifests say. Its image may have more.
    pub fn may_have(&self, name: &str) -> bool {
        let known = self.known.iter().any(|(known, _)| known == name);
        known || self.is_unknown(name)
    }

    fn is_unknown(&self, name: &str) -> bool {
        let mut unknown = self.unknown.iter();
        unknown.any(|(unknown, _)| match unknown.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix),
            None => unknown == name,
        })
    }

    /// The first `$(NAME)` in `text` that the cluster replaces by a value we do not know.
    pub fn unknown_in<'t>(&self, text: &'t str) -> Option<&'t str> {
        let text = text.split("$$");
        let references = text.flat_map(|piece| piece.split("$(").skip(1));
        let mut names = references.filter_map(|reference| Some(reference.split_once(')')?.0));
        names.find(|name| {
            let known = self.known.iter().any(|(known, _)| known == name);
            !known && self.is_unknown(name)
        })
    }

    /// The variables of ours, or that may be, whose values are not known.
    pub fn unknown_of_ours(&self) -> Option<&(String, String)> {
        let ours = |name: &str| match name.strip_suffix('*') {
            // With a prefix of their own they can be ours only when it begins like ours.
            Some(prefix) => prefix.starts_with("TIDEGATE_"),
            None => name.starts_with("TIDEGATE_"),
        };
        self.unknown.iter().find(|(name, _)| ours(name))
    }
}

/// For documentation (RFC 5737).
pub const AN_ADDRESS: &str = "192.0.2.1";

/// Who writes brackets around a pod's address has a cluster of IPv6; the address is for documentation too (RFC 3849).
pub fn in_its_brackets(value: &str) -> &str {
    match value {
        AN_ADDRESS => "2001:db8::1",
        value => value,
    }
}

/// A value such as the downward API gives in place of a field (Kubernetes, "Downward API", available fields): whether the
/// settings hold does not hang on which.
fn stand_in(field: &Node) -> Option<&'static str> {
    match field.scalar()? {
        "status.podIP" | "status.podIPs" | "status.hostIP" | "status.hostIPs" => Some(AN_ADDRESS),
        "metadata.name" => Some("pod"),
        "metadata.namespace" => Some("namespace"),
        "metadata.uid" => Some("00000000-0000-0000-0000-000000000000"),
        "spec.nodeName" => Some("node"),
        "spec.serviceAccountName" => Some("account"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kube::yaml::load;

    #[test]
    fn what_holds_an_unknown_value_is_unknown_and_what_the_pod_knows_has_a_value() {
        let container = "
envFrom: [{prefix: S_, secretRef: {name: s}}]
env:
- {name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
- {name: LABEL, valueFrom: {fieldRef: {fieldPath: 'metadata.labels[''a'']'}}}
- {name: A, value: 'http://$(IP):1 http://[$(IP)]:1'}
- {name: B, value: 'a$$(LABEL)$(LABEL)'}
- {name: C, value: '$(B)'}
- {name: D, value: '$(S_X)'}
- {name: E, value: '$$(LABEL) $(LATER)'}
- {name: LATER, value: x}
";
        let container = load(container, 1).expect("YAML").expect("a container");
        let environment = Environment::of(&container, "", &ConfigMaps::default());
        let known = |name: &str| {
            let mut known = environment.known.iter();
            known
                .find(|(known, _)| known == name)
                .map(|(_, value)| value.as_str())
        };
        assert_eq!(known("A"), Some("http://192.0.2.1:1 http://[2001:db8::1]:1"));
        assert_eq!(known("E"), Some("$(LABEL) $(LATER)"));
        for name in ["LABEL", "B", "C", "D"] {
            assert_eq!(known(name), None, "{name}");
        }
    }

    #[test]
    fn references_are_replaced_as_kubernetes_does() {
        let environment = Environment {
            known: vec![("A".into(), "1".into())],
            unknown: Vec::new(),
        };
        for (text, expanded) in [
            ("$(A)", "1"),
            ("x$(A)y$(A)", "x1y1"),
            ("$$(A)", "$(A)"),
            ("$(B)", "$(B)"),
            ("$A $", "$A $"),
            ("$(A", "$(A"),
            ("$$$(A)", "$1"),
        ] {
            assert_eq!(environment.expanded(text), expanded, "{text}");
        }
    }
}
