//! Which container of which pod, and what is in the way.

use super::super::environment::ConfigMaps;
use super::super::objects::{Object, Pod};
use super::super::volumes::{Place, look};
use super::super::wrapped::{Installer, Mode, Role, find};
use super::super::yaml::Node;
use super::Options;

/// The annotation that names the container `kubectl` takes where none is named.
const DEFAULT_CONTAINER: &str = "kubectl.kubernetes.io/default-container";

/// The container that is to be wrapped.
#[derive(Clone, Debug)]
pub struct Target {
    /// `Deployment/library`
    pub title: String,
    /// Its index in the pod's containers.
    pub container: usize,
    /// Its name.
    pub name: String,
    /// Whether its command comes from `--command`.
    pub needs_command: bool,
}

/// What becomes of an object.
pub enum Verdict {
    /// It is wrapped.
    Wrap(Target),
    /// It was wrapped before.
    Wrapped(String),
    /// It stays as it is; with a note where that may surprise.
    Leave(Option<String>),
}

/// Why it cannot be said what to wrap.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// Several containers and no name.
    #[error("{object}: which container? it has {containers}; write --container NAME")]
    Ambiguous {
        /// `Deployment/library`
        object: String,
        /// Their names.
        containers: String,
    },
    /// No command in the manifest, and none given.
    #[error(
        "{object}: container {container} has no command: in the manifest, and the image's own ENTRYPOINT cannot be known from it; look it up (docker inspect IMAGE shows Entrypoint and Cmd) and write --command 'PROGRAM ARGS'"
    )]
    NoCommand {
        /// `Deployment/library`
        object: String,
        /// Its name.
        container: String,
    },
    /// A command in the manifest, and one given.
    #[error("{object}: container {container} has a command: already; leave --command out")]
    TwoCommands {
        /// `Deployment/library`
        object: String,
        /// Its name.
        container: String,
    },
    /// One `--command` for several programs.
    #[error(
        "--command is one program's, and several containers have no command:; write --workload KIND/NAME, and inject them one by one"
    )]
    SeveralCommands,
    /// A hook where the sidecar's would be.
    #[error(
        "{object}: container {container} has a preStop hook already, and a sidecar is called by that; take it out (its sleep is what the propagation window does), or write --mode wrap"
    )]
    HasHook {
        /// `Deployment/library`
        object: String,
        /// Its name.
        container: String,
    },
    /// Nothing there that could be wrapped.
    #[error("{container}: it is no mapping; write containers as a list of mappings")]
    Malformed {
        /// Its place.
        container: String,
    },
}

/// What is to become of an object.
///
/// # Errors
/// [`TargetError`], with the mend.
pub fn choose(object: &Object<'_>, maps: &ConfigMaps<'_>, options: &Options) -> Result<Verdict, TargetError> {
    let Some(pod) = object.pod() else {
        return Ok(Verdict::Leave(None));
    };
    let title = object.title();
    let chosen = options.workload.as_deref();
    if chosen.is_some_and(|chosen| chosen != object.name() && !chosen.eq_ignore_ascii_case(&title)) {
        return Ok(Verdict::Leave(None));
    }
    let containers = pod.spec.list_at("containers");
    if containers.is_empty() {
        let note = format!("{title}: left as it is, for it has no containers");
        return Ok(Verdict::Leave(Some(note)));
    }
    let Some(index) = index(&pod, containers, options, &title)? else {
        let name = options.container.as_deref().unwrap_or("");
        return Ok(Verdict::Leave(Some(format!(
            "{title}: left as it is, for it has no container {name}"
        ))));
    };
    let node = &containers[index];
    if !super::is_mapping(node) {
        return Err(TargetError::Malformed {
            container: format!("{title}: containers[{index}]"),
        });
    }
    let name = node.scalar_at("name").unwrap_or("").to_owned();
    if let Some(Role::Runs(_)) = find(&pod, format!("containers[{index}]"), node, maps) {
        return Ok(Verdict::Wrapped(format!(
            "{title}: container {name} runs tidegate already and is left as it is"
        )));
    }
    let beside = pod.containers().find(|(place, node)| {
        matches!(find(&pod, place.clone(), node, maps), Some(Role::Runs(wrapped)) if wrapped.mode == Mode::Sidecar)
    });
    if let Some((_, sidecar)) = beside {
        let sidecar = sidecar.scalar_at("name").unwrap_or("");
        return Ok(Verdict::Wrapped(format!(
            "{title}: container {sidecar} is a tidegate sidecar already, and the pod is left as it is"
        )));
    }
    if options.mode == Mode::Sidecar {
        if node.at(&["lifecycle", "preStop"]).is_some() {
            return Err(TargetError::HasHook {
                object: title,
                container: name,
            });
        }
        return Ok(Verdict::Wrap(Target {
            title,
            container: index,
            name,
            needs_command: false,
        }));
    }
    let has_command = !node.list_at("command").is_empty();
    match (has_command, options.command.is_empty()) {
        (true, false) => Err(TargetError::TwoCommands {
            object: title,
            container: name,
        }),
        (false, true) => Err(TargetError::NoCommand {
            object: title,
            container: name,
        }),
        (has_command, _) => Ok(Verdict::Wrap(Target {
            title,
            container: index,
            name,
            needs_command: !has_command,
        })),
    }
}

fn index(
    pod: &Pod<'_>,
    containers: &[Node],
    options: &Options,
    title: &str,
) -> Result<Option<usize>, TargetError> {
    let of = |name: &str| {
        containers
            .iter()
            .position(|container| container.scalar_at("name") == Some(name))
    };
    if let Some(name) = &options.container {
        return Ok(of(name));
    }
    if containers.len() == 1 {
        return Ok(Some(0));
    }
    let annotated = pod
        .annotations()
        .find_map(|annotations| annotations.scalar_at(DEFAULT_CONTAINER));
    match annotated.and_then(of) {
        Some(index) => Ok(Some(index)),
        None => Err(TargetError::Ambiguous {
            object: title.to_owned(),
            containers: super::names(containers).collect::<Vec<_>>().join(", "),
        }),
    }
}

/// The volume that an init container of this pod installs tidegate into already, at its root.
pub fn installed(spec: &Node) -> Option<String> {
    let object = Object {
        file: "",
        document: 0,
        root: spec,
        path: String::new(),
        route: Vec::new(),
        node: spec,
    };
    let pod = Pod {
        object,
        path: String::new(),
        template: spec,
        spec,
    };
    let maps = ConfigMaps::default();
    let installers = pod
        .containers()
        .filter_map(|(place, node)| match find(&pod, place, node, &maps) {
            Some(Role::Installs(Installer { directory, .. })) => Some((node, directory)),
            _ => None,
        });
    let mut volumes = installers.filter_map(|(node, directory)| match look(&pod, node, &directory) {
        Place::Volume(volume, inside) if inside.is_empty() => volume.scalar_at("name").map(str::to_owned),
        _ => None,
    });
    volumes.next()
}
