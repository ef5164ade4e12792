//! The init container, the volume, the mount: how the binary gets in.

use super::super::yaml::Node;
use super::target::installed;
use super::{container, names, ports, unused};

/// Where the volume is mounted.
const DIRECTORY: &str = "/tidegate-bin";

/// Room for one binary and the copy that replaces it.
const SIZE: &str = "64Mi";

/// Brings the binary into the pod, unless an init container does already, and mounts it in the
/// container at `index`. Returns the directory it is in there.
pub fn bring(pod: &mut Node, index: usize, image: &str) -> String {
    let volume = installed(pod).unwrap_or_else(|| install(pod, index, image));
    let container = container(pod, index);
    let mounted = container
        .list_at("volumeMounts")
        .iter()
        .find(|mount| mount.scalar_at("name") == Some(&volume))
        .and_then(|mount| mount.scalar_at("mountPath"))
        .map(str::to_owned);
    if let Some(directory) = mounted {
        return directory;
    }
    let taken: Vec<&str> = container
        .list_at("volumeMounts")
        .iter()
        .filter_map(|mount| mount.scalar_at("mountPath"))
        .collect();
    let directory = unused(DIRECTORY, &taken);
    container.list_entry("volumeMounts").push(Node::map([
        ("name", Node::text(volume)),
        ("mountPath", Node::text(directory.clone())),
        ("readOnly", Node::bare(true)),
    ]));
    directory
}

fn install(pod: &mut Node, index: usize, image: &str) -> String {
    let volume = unused("tidegate", &names(pod.list_at("volumes")).collect::<Vec<_>>());
    let name = unused("tidegate", &ports::container_names(pod));
    let init = Node::map([
        ("name", Node::text(name)),
        ("image", Node::text(image)),
        (
            "command",
            Node::list(["/tidegate", "install", DIRECTORY].map(Node::text)),
        ),
        (
            "volumeMounts",
            Node::list([Node::map([
                ("name", Node::text(volume.clone())),
                ("mountPath", Node::text(DIRECTORY)),
            ])]),
        ),
        ("resources", resources()),
        ("securityContext", confined(&pod.list_at("containers")[index])),
    ]);
    // First, so that the order of the others is theirs.
    pod.list_entry("initContainers").insert(0, init);
    pod.list_entry("volumes").push(Node::map([
        ("name", Node::text(volume.clone())),
        ("emptyDir", Node::map([("sizeLimit", Node::text(SIZE))])),
    ]));
    volume
}

/// What a tidegate takes of a node.
pub fn resources() -> Node {
    let requests = [("cpu", Node::text("10m")), ("memory", Node::text("16Mi"))];
    let limits = [("memory", Node::text("64Mi"))];
    Node::map([("requests", Node::map(requests)), ("limits", Node::map(limits))])
}

/// It needs no privilege at all. It is the user that the program's container is, where that says so: a namespace that
/// admits the one then admits the other, and beside the program tidegate may signal it.
pub fn confined(program: &Node) -> Node {
    let dropped = [("drop", Node::list([Node::text("ALL")]))];
    let mut confined = Node::map([
        ("allowPrivilegeEscalation", Node::bare(false)),
        ("readOnlyRootFilesystem", Node::bare(true)),
        ("capabilities", Node::map(dropped)),
    ]);
    for key in ["runAsNonRoot", "runAsUser", "runAsGroup", "seccompProfile"] {
        if let Some(own) = program.at(&["securityContext", key]) {
            confined.set(key, own.clone());
        }
    }
    confined
}
