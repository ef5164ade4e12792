//! Manifests in, manifests wrapped with tidegate out.
//!
//! | file | what it does |
//! | --- | --- |
//! | `target` | which container of which pod, and what is in the way |
//! | `binary` | the init container, the volume, the mount: how the binary gets in |
//! | `wrap` | command, environment, grace |
//! | `variables` | `$(NAME)` in a config file that becomes a variable |
//! | `sidecar` | the container beside, and the hook that calls it |
//! | `ports` | ports that nobody in the pod has |
//! | `probes` | who asks, and what the rollout waits for |
//! | `readiness` | the app's own readiness probe, as a check of tidegate's |
//!
//! Documents without a pod, and those that are wrapped already, are passed on byte for byte. The
//! others are written again: the same keys in the same order with the same values, without their
//! comments.

mod binary;
mod ports;
mod probes;
mod readiness;
mod sidecar;
mod target;
mod variables;
mod wrap;

use super::environment::ConfigMaps;
use super::input::{Document, InputError, Source};
use super::objects::{Object, pod_steps};
use super::wrapped::Mode;
use super::yaml::{Body, Node, emit};

pub use target::TargetError;
use target::{Target, Verdict};

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Options {
    /// Around the program, or beside it.
    pub mode: Mode,
    /// The container's name, where a pod has several.
    pub container: Option<String>,
    /// `NAME` or `KIND/NAME`: only this object.
    pub workload: Option<String>,
    /// The text of a config file, which becomes `TIDEGATE_CONFIG`.
    pub config: Option<String>,
    /// The image that has the binary.
    pub image: String,
    /// The program's command line, where the manifest has none.
    pub command: Vec<String>,
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum InjectError {
    /// The manifests cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// They do not say where or what to wrap.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// `--config` is refused.
    #[error("--config: {0}")]
    Config(String),
}

/// The manifests, and what is to be said about them.
#[derive(Debug, Default)]
pub struct Injected {
    /// All documents.
    pub text: String,
    /// A line each: what was wrapped, what was left as it is, what to know of it.
    pub notes: Vec<String>,
    /// The containers that are wrapped now, or were before.
    pub wrapped: usize,
}

/// Wraps what `options` choose out of `source`.
///
/// # Errors
/// [`InjectError`]: then nothing of it is to be used.
pub fn inject(source: &Source, options: &Options) -> Result<Injected, InjectError> {
    let read = |text| wrap::Config::read(text, options.mode);
    let config = options.config.as_deref().map(read).transpose()?;
    let documents = source.documents()?;
    let mut injected = Injected::default();
    let mut commands_used = 0;
    for document in &documents {
        let Some(node) = &document.node else {
            injected.text.push_str(document.text);
            continue;
        };
        let objects = Object::of(&source.name, document.number, node);
        let maps = ConfigMaps::among(&objects);
        let mut changed = None;
        for object in &objects {
            let target = match target::choose(object, &maps, options)? {
                Verdict::Wrap(target) => target,
                Verdict::Leave(note) => {
                    injected.notes.extend(note);
                    continue;
                }
                Verdict::Wrapped(note) => {
                    injected.notes.push(note);
                    injected.wrapped += 1;
                    continue;
                }
            };
            commands_used += usize::from(target.needs_command);
            if commands_used > 1 {
                return Err(TargetError::SeveralCommands.into());
            }
            let root = changed.get_or_insert_with(|| node.clone());
            let whole = item(root, &object.route);
            one(whole, &target, options, config.as_ref(), &mut injected.notes)?;
            injected.wrapped += 1;
        }
        match changed {
            Some(changed) => again(document, &changed, &mut injected.text),
            None => injected.text.push_str(document.text),
        }
    }
    Ok(injected)
}

/// The object itself, or the item of a List it is.
fn item<'a>(root: &'a mut Node, route: &[usize]) -> &'a mut Node {
    let step = |node: &'a mut Node, index: &usize| &mut node.list_entry("items")[*index];
    route.iter().fold(root, step)
}

fn one(
    object: &mut Node,
    target: &Target,
    options: &Options,
    config: Option<&wrap::Config>,
    notes: &mut Vec<String>,
) -> Result<(), InjectError> {
    let title = &target.title;
    let Some(steps) = pod_steps(object) else {
        return Ok(());
    };
    let grace = wrap::grace(object, steps, config);
    let pod = at(object, steps);
    match options.mode {
        Mode::Wrap => {
            let directory = binary::bring(pod, target.container, &options.image);
            wrap::command(pod, target.container, &directory, &options.command);
            wrap::environment(pod, target, grace, config)?;
            notes.push(format!("{title}: container {} is wrapped", target.name));
            probes::ask_tidegate(object, &probes::Asker::Program(target.container), title, notes);
        }
        Mode::Sidecar => {
            sidecar::beside(pod, target, &options.image, grace, config, notes)?;
            probes::ask_tidegate(object, &probes::Asker::Sidecar, title, notes);
        }
    }
    if config.is_none_or(|config| !config.says("inflight")) {
        notes.push(format!(
            "{title}: calls under way are not measured; name a source under inflight in a --config FILE"
        ));
    }
    Ok(())
}

/// The node along the steps, made where it is not there.
fn at<'a>(node: &'a mut Node, steps: &[&str]) -> &'a mut Node {
    steps
        .iter()
        .fold(node, |node, step| node.entry(step, || Node::map([])))
}

/// The container at `index`; the target was found there.
fn container(pod: &mut Node, index: usize) -> &mut Node {
    &mut pod.list_entry("containers")[index]
}

/// The document's head (its `---` and the comments on top), and the tree.
fn again(document: &Document<'_>, node: &Node, text: &mut String) {
    for line in document.text.split_inclusive('\n') {
        let head = line.trim();
        if !head.is_empty() && !head.starts_with('#') && !line.starts_with('%') && line.trim_end() != "---" {
            break;
        }
        text.push_str(line);
    }
    // A document that begins on the line of its mark.
    if document.text.starts_with("--- ") {
        text.push_str("---\n");
    }
    text.push_str(&emit(node));
}

/// The text of a list of words.
fn words(words: &[String]) -> Vec<Node> {
    words.iter().map(Node::text).collect()
}

/// The names that the items of a list have.
fn names(list: &[Node]) -> impl Iterator<Item = &str> {
    list.iter().filter_map(|item| item.scalar_at("name"))
}

/// `name`, or `name-2`, `name-3`, where it is taken.
fn unused(name: &str, taken: &[&str]) -> String {
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    std::iter::once(name.to_owned())
        .chain(numbered)
        .find(|name| !taken.contains(&name.as_str()))
        .unwrap_or_default()
}

/// Whether a node is a mapping.
fn is_mapping(node: &Node) -> bool {
    matches!(node.body, Body::Mapping(_))
}
