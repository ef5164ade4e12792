//! Ports that nobody in the pod has: its containers share them.

use super::super::yaml::Node;
use super::names;

/// `first`, or the next port that no container of the pod lists.
pub fn free(pod: &Node, first: i64) -> i64 {
    let taken: Vec<i64> = listed(pod)
        .filter_map(|port| port.number_at("containerPort"))
        .collect();
    (first..first + 100)
        .find(|port| !taken.contains(port))
        .unwrap_or(first)
}

/// An entry of a container's `ports`, for people and for Services. A port's name is used once in a pod, and has at
/// most 15 letters: where both are taken it has none.
pub fn entry(pod: &Node, wanted: [&'static str; 2], port: i64) -> Node {
    let taken: Vec<&Node> = listed(pod).collect();
    let is_free = |name: &&str| taken.iter().all(|port| port.scalar_at("name") != Some(name));
    let name = wanted
        .into_iter()
        .find(is_free)
        .map(|name| ("name", Node::text(name)));
    Node::map(name.into_iter().chain([("containerPort", Node::bare(port))]))
}

fn listed(pod: &Node) -> impl Iterator<Item = &Node> {
    let containers = ["initContainers", "containers"]
        .into_iter()
        .flat_map(|key| pod.list_at(key));
    containers.flat_map(|container| container.list_at("ports"))
}

/// Names that containers of the pod have.
pub fn container_names(pod: &Node) -> Vec<&str> {
    names(pod.list_at("initContainers"))
        .chain(names(pod.list_at("containers")))
        .collect()
}
