//! What lies at a path in a container, as far as the manifests say.

use super::environment::ConfigMaps;
use super::objects::Pod;
use super::yaml::Node;

/// Where a file of a container lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place<'a> {
    /// In no volume: the image brings it.
    Image,
    /// In this volume, at this path from its root.
    Volume(&'a Node, String),
    /// In a mount of a volume that the pod does not have.
    NoVolume(&'a str),
}

/// Where `path` lies.
pub fn look<'a>(pod: &Pod<'a>, container: &'a Node, path: &str) -> Place<'a> {
    let mounts = container.list_at("volumeMounts").iter();
    let below = mounts.filter_map(|mount| {
        let at = mount.scalar_at("mountPath")?.trim_end_matches('/');
        let rest = path.strip_prefix(at)?;
        (rest.is_empty() || rest.starts_with('/')).then_some((at.len(), mount, rest))
    });
    let Some((_, mount, rest)) = below.max_by_key(|(length, ..)| *length) else {
        return Place::Image;
    };
    let name = mount.scalar_at("name").unwrap_or("");
    let sub = mount.scalar_at("subPath").unwrap_or("").trim_matches('/');
    let inside = [sub, rest.trim_start_matches('/')];
    let inside: Vec<&str> = inside.into_iter().filter(|part| !part.is_empty()).collect();
    match pod.volume(name) {
        Some(volume) => Place::Volume(volume, inside.join("/")),
        None => Place::NoVolume(name),
    }
}

/// The text of a file out of a ConfigMap in the same input.
///
/// # Errors
/// Why it is not known.
pub fn text(pod: &Pod<'_>, container: &Node, path: &str, maps: &ConfigMaps<'_>) -> Result<String, String> {
    let (volume, inside) = match look(pod, container, path) {
        Place::Volume(volume, inside) => (volume, inside),
        Place::Image => return Err(format!("{path} is in the image")),
        Place::NoVolume(name) => {
            return Err(format!(
                "{path} is in the volume {name}, which the pod does not have"
            ));
        }
    };
    let projected = volume
        .at(&["projected", "sources"])
        .map_or(&[][..], Node::items)
        .iter()
        .filter_map(|source| source.get("configMap"));
    let mut missing = format!(
        "{path} is in the volume {}",
        volume.scalar_at("name").unwrap_or("")
    );
    for source in volume.get("configMap").into_iter().chain(projected) {
        let name = source.scalar_at("name").unwrap_or("");
        let Some(map) = maps.data(pod.object.namespace(), name) else {
            missing =
                format!("{path} is in the ConfigMap {name}, which is not in this input; check them together");
            continue;
        };
        let items = source.list_at("items").iter();
        let mut items = items.filter(|item| item.scalar_at("path") == Some(&inside));
        let key = match items.next() {
            Some(item) => item.scalar_at("key").unwrap_or(""),
            None if source.get("items").is_some() => continue,
            None => &inside,
        };
        if let Some(text) = map.at(&["data", key]).and_then(Node::scalar) {
            return Ok(text.to_owned());
        }
        missing = format!("the ConfigMap {name} has no {key}");
    }
    Err(missing)
}
