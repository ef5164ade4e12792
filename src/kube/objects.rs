//! The objects in the documents, and the pods in the objects.

use super::yaml::Node;

/// One Kubernetes object, and where it was read.
#[derive(Clone, Debug)]
pub struct Object<'a> {
    /// The input's name.
    pub file: &'a str,
    /// The document in it, from 1.
    pub document: usize,
    /// The document's root, which knows the lines.
    pub root: &'a Node,
    /// The path of the object in it: empty, or `items[2]` in a List.
    pub path: String,
    /// The same as numbers: which of the items, List by List.
    pub route: Vec<usize>,
    /// The object.
    pub node: &'a Node,
}

impl<'a> Object<'a> {
    /// The objects of one document: itself, or the items of a List, and of the Lists in it.
    pub fn of(file: &'a str, document: usize, root: &'a Node) -> Vec<Self> {
        let whole = Self {
            file,
            document,
            root,
            path: String::new(),
            route: Vec::new(),
            node: root,
        };
        whole.flattened()
    }

    /// As deep as a document nests, which its reader bounds.
    fn flattened(self) -> Vec<Self> {
        if !self.kind().ends_with("List") {
            return vec![self];
        }
        let items = self.node.list_at("items").iter().enumerate();
        let items = items.map(|(index, node)| Self {
            path: joined(&self.path, &format!("items[{index}]")),
            route: self.route.iter().copied().chain([index]).collect(),
            node,
            ..self.clone()
        });
        items.flat_map(Self::flattened).collect()
    }

    /// `Deployment`
    pub fn kind(&self) -> &'a str {
        self.node.scalar_at("kind").unwrap_or("")
    }

    /// Its name, or `generateName`.
    pub fn name(&self) -> &'a str {
        let name = |key| self.node.at(&["metadata", key]).and_then(Node::scalar);
        name("name")
            .or_else(|| name("generateName"))
            .unwrap_or("(no name)")
    }

    /// Its namespace, empty where none is written.
    pub fn namespace(&self) -> &'a str {
        self.node
            .at(&["metadata", "namespace"])
            .and_then(Node::scalar)
            .unwrap_or("")
    }

    /// `Deployment/library`
    pub fn title(&self) -> String {
        format!("{}/{}", self.kind(), self.name())
    }

    /// The pod it is, or makes.
    pub fn pod(&self) -> Option<Pod<'a>> {
        let steps = pod_steps(self.node)?;
        let (template, spec) = match steps.split_last() {
            Some((_, above)) => (self.node.at(above)?, self.node.at(steps)?),
            None => return None,
        };
        Some(Pod {
            object: self.clone(),
            path: joined(&self.path, &steps.join(".")),
            template,
            spec,
        })
    }
}

/// The keys from an object to the spec of its pod; none for kinds that have none, or are not
/// Kubernetes' own.
pub fn pod_steps(object: &Node) -> Option<&'static [&'static str]> {
    let version = object.scalar_at("apiVersion").unwrap_or("");
    let group = version.split_once('/').map_or("", |(group, _)| group);
    Some(match (group, object.scalar_at("kind")?) {
        ("", "Pod") => &["spec"],
        ("", "ReplicationController" | "PodTemplate") | ("apps", _) | ("batch", "Job") => {
            object.at(&["spec", "template", "spec"])?;
            &["spec", "template", "spec"]
        }
        ("batch", "CronJob") => &["spec", "jobTemplate", "spec", "template", "spec"],
        _ => return None,
    })
}

/// A pod, or the template of one.
#[derive(Clone, Debug)]
pub struct Pod<'a> {
    /// Whose it is.
    pub object: Object<'a>,
    /// The path of its spec from the document's root: `spec.template.spec`.
    pub path: String,
    /// What holds the spec, and the pod's own metadata.
    pub template: &'a Node,
    /// `spec`
    pub spec: &'a Node,
}

/// The pod spec's own default, in seconds.
pub const DEFAULT_GRACE: i64 = 30;

impl<'a> Pod<'a> {
    /// `terminationGracePeriodSeconds`, or its default.
    pub fn grace(&self) -> i64 {
        self.spec
            .number_at("terminationGracePeriodSeconds")
            .unwrap_or(DEFAULT_GRACE)
    }

    /// All containers with their paths in the spec, init containers first.
    pub fn containers(&self) -> impl Iterator<Item = (String, &'a Node)> + use<'a> {
        let spec = self.spec;
        ["initContainers", "containers"].into_iter().flat_map(move |key| {
            let items = spec.list_at(key).iter().enumerate();
            items.map(move |(index, node)| (format!("{key}[{index}]"), node))
        })
    }

    /// The volume of this name.
    pub fn volume(&self, name: &str) -> Option<&'a Node> {
        let mut volumes = self.spec.list_at("volumes").iter();
        volumes.find(|volume| volume.scalar_at("name") == Some(name))
    }

    /// The pod's metadata: its template's, or its own.
    pub fn annotations(&self) -> impl Iterator<Item = &'a Node> {
        let of = |node: &'a Node| node.at(&["metadata", "annotations"]);
        of(self.object.node).into_iter().chain(of(self.template))
    }
}

/// `a.b` of `a` and `b`, either of which may be empty.
pub fn joined(above: &str, below: &str) -> String {
    match (above, below) {
        ("", path) | (path, "") => path.to_owned(),
        (above, below) => format!("{above}.{below}"),
    }
}
