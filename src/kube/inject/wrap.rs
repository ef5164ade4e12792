//! Command, environment, grace.

use super::super::objects::DEFAULT_GRACE;
use super::super::rules::{is_unreplaced_shell, sleeps};
use super::super::wrapped::Mode;
use super::super::yaml::{Node, load};
use super::target::Target;
use super::{InjectError, at, container, ports, variables, words};

/// The port of health where none is written.
pub const PORT: i64 = 9095;

/// The text of `--config`, and what it says.
#[derive(Debug)]
pub struct Config {
    text: String,
    node: Node,
    grace: i64,
    /// The port of `lifecycle.listen`.
    pub hook: Option<i64>,
}

impl Config {
    /// Reads it as tidegate will.
    ///
    /// # Errors
    /// [`InjectError::Config`]: as `tidegate check` says it.
    pub fn read(text: &str, mode: Mode) -> Result<Self, InjectError> {
        let settings = variables::read(&variables::plausible(text))?;
        let fit = match mode {
            Mode::Wrap => settings.of_a_wrap(),
            Mode::Sidecar => settings.of_a_sidecar(),
        };
        let settings = fit.map_err(|error| InjectError::Config(error.to_string()))?;
        let node = load(text, 1).map_err(|error| InjectError::Config(error.to_string()))?;
        Ok(Self {
            text: text.to_owned(),
            node: node.unwrap_or_else(|| Node::map([])),
            grace: i64::try_from(settings.plan.grace.0.as_secs()).unwrap_or(DEFAULT_GRACE),
            hook: settings.lifecycle.listen.map(|listen| i64::from(listen.port())),
        })
    }

    /// Whether it says anything of a key.
    pub fn says(&self, key: &str) -> bool {
        self.node.get(key).is_some()
    }

    pub fn says_below(&self, keys: &[&str]) -> bool {
        self.node.at(keys).is_some()
    }

    /// All of it.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Writes the grace period in the pod's spec, where it was a default, or the config has another. Returns it.
pub fn grace(object: &mut Node, steps: &[&str], config: Option<&Config>) -> i64 {
    let key = "terminationGracePeriodSeconds";
    let pod = at(object, steps);
    let written = pod.number_at(key);
    let grace = match config {
        Some(config) if config.says(key) => config.grace,
        _ => written.unwrap_or(DEFAULT_GRACE),
    };
    if written != Some(grace) {
        pod.set(key, Node::bare(grace));
    }
    grace
}

/// `[tidegate, run, --]` in front of the command.
pub fn command(pod: &mut Node, index: usize, directory: &str, given: &[String]) {
    let container = container(pod, index);
    let front = [format!("{directory}/tidegate"), "run".to_owned(), "--".to_owned()];
    let mut command = words(&front);
    command.extend(words(given));
    if container.get("command").is_some() {
        container.list_entry("command").splice(0..0, command);
        return;
    }
    container.set_behind("image", "command", Node::list(command));
}

/// The settings the pod asks for, and those of `--config`.
///
/// # Errors
/// As [`variables::value`].
pub fn environment(
    pod: &mut Node,
    target: &Target,
    grace: i64,
    config: Option<&Config>,
) -> Result<(), InjectError> {
    let port = ports::free(pod, PORT);
    let container = container(pod, target.container);
    let mut own = Vec::new();
    if config.is_none_or(|config| !config.says("terminationGracePeriodSeconds")) {
        own.push(("TIDEGATE_GRACE_PERIOD", Node::text(format!("{grace}s"))));
    }
    let says = |keys: &[&str]| config.is_some_and(|config| config.says_below(keys));
    if port != PORT && !says(&["health", "listen"]) {
        own.push(("TIDEGATE_LISTEN", Node::text(format!("0.0.0.0:{port}"))));
    }
    let hook = container.at(&["lifecycle", "preStop"]).and_then(sleeps);
    if let Some(seconds) = hook.filter(|_| !says(&["preStopSeconds"])) {
        own.push(("TIDEGATE_PRE_STOP_SECONDS", Node::text(seconds.to_string())));
    }
    if is_unreplaced_shell(&child(container)) && !says(&["child", "signalGroup"]) {
        own.push(("TIDEGATE_CHILD_SIGNAL_GROUP", Node::text("true")));
    }
    let message = container.scalar_at("terminationMessagePath");
    if let Some(path) = message.filter(|_| !says(&["telemetry", "terminationLog"])) {
        own.push(("TIDEGATE_TELEMETRY_TERMINATION_LOG", Node::text(path)));
    }
    container.list_entry("env").extend(own.into_iter().map(variable));
    config.map_or(Ok(()), |config| variables::set(container, config.text()))
}

/// An item of a container's `env`.
pub fn variable((name, value): (&str, Node)) -> Node {
    Node::map([("name", Node::text(name)), ("value", value)])
}

/// The child's command line, behind what was put in front of it.
fn child(container: &Node) -> Vec<String> {
    let words = container.list_at("command").iter().skip(3);
    let words = words.chain(container.list_at("args"));
    words.map(|word| word.scalar().unwrap_or("").to_owned()).collect()
}
