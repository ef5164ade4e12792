//! The containers that run tidegate, and the settings it has there.

use std::ffi::OsString;
use std::path::Path;

pub use crate::cli::args::Mode;
use crate::cli::args::{self, Asked, Invocation};
use crate::config::{self, ConfigError, Settings};

use super::environment::{ConfigMaps, Environment};
use super::objects::Pod;
use super::shell;
use super::volumes;
use super::yaml::Node;

/// What stands between the kernel and tidegate in a container's command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Front {
    /// Nothing: it is the command.
    Nothing,
    /// Another program, which starts it.
    Program(String),
    /// A shell that stays.
    Shell,
    /// A shell that is replaced by it: `exec tidegate …`.
    ShellGone,
    /// The image's ENTRYPOINT, of which the manifest says nothing.
    Entrypoint,
}

/// Its settings, as far as they are known.
#[derive(Clone, Debug)]
pub enum Known {
    /// All of them, valid.
    Valid(Box<Settings>),
    /// They are refused.
    Refused(ConfigError),
    /// Some are not in this input; why.
    Unknown(String),
}

/// A container that runs tidegate.
#[derive(Clone, Debug)]
pub struct Wrapped<'a> {
    /// The pod it is in.
    pub pod: &'a Pod<'a>,
    /// Its path in the pod's spec: `containers[0]`.
    pub place: String,
    /// The container.
    pub node: &'a Node,
    /// What stands in front of tidegate.
    pub front: Front,
    /// The path tidegate is called by; none when the image calls it.
    pub binary: Option<String>,
    /// The child's command line; empty when it is not known.
    pub child: Vec<String>,
    /// Why tidegate would refuse its command line.
    pub usage: Option<String>,
    /// Whether it is `tidegate sidecar`.
    pub mode: Mode,
    /// Its environment.
    pub environment: Environment,
    /// Its settings.
    pub settings: Known,
}

/// A container that brings the binary: `tidegate install DIR`.
#[derive(Clone, Debug)]
pub struct Installer<'a> {
    /// The container.
    pub node: &'a Node,
    /// Where it copies to.
    pub directory: String,
}

/// What tidegate does in a container.
#[derive(Clone, Debug)]
pub enum Role<'a> {
    /// It runs.
    Runs(Box<Wrapped<'a>>),
    /// It copies itself.
    Installs(Installer<'a>),
}

/// Finds tidegate in the command, the args or the environment of a container.
pub fn find<'a>(pod: &'a Pod<'a>, place: String, node: &'a Node, maps: &ConfigMaps<'_>) -> Option<Role<'a>> {
    let environment = Environment::of(node, pod.object.namespace(), maps);
    let words = |key| {
        let items = node.list_at(key).iter();
        items.map(|word| environment.expanded(word.scalar().unwrap_or("")))
    };
    let command: Vec<String> = words("command").collect();
    let has_command = !command.is_empty();
    let line: Vec<String> = command.into_iter().chain(words("args")).collect();
    let found = match line_of(&line, has_command) {
        Some(found) => found,
        // An init container whose image has tidegate as its ENTRYPOINT.
        None if !has_command && line.first().is_some_and(|word| word == "install") => Found {
            front: Front::Entrypoint,
            binary: Some("tidegate".to_owned()),
            rest: Ok(line),
        },
        // An image with tidegate as its ENTRYPOINT shows only by the settings it is given.
        None if !has_command && environment.known.iter().any(|(name, _)| is_ours(name)) => Found {
            front: Front::Entrypoint,
            binary: None,
            rest: Ok(Vec::new()),
        },
        None => return None,
    };
    let mut wrapped = Wrapped {
        pod,
        place,
        node,
        front: found.front,
        binary: found.binary,
        child: Vec::new(),
        usage: None,
        mode: Mode::Wrap,
        environment,
        settings: Known::Unknown(IN_A_SCRIPT.to_owned()),
    };
    let rest = match found.rest {
        Ok(rest) => rest,
        Err(why) => {
            wrapped.settings = Known::Unknown(why.to_owned());
            return Some(Role::Runs(Box::new(wrapped)));
        }
    };
    if wrapped.front == Front::Entrypoint && wrapped.binary.is_none() {
        wrapped.settings = settings(&wrapped, None, maps);
        return Some(Role::Runs(Box::new(wrapped)));
    }
    if rest.first().is_some_and(|word| word == "sidecar") {
        wrapped.mode = Mode::Sidecar;
    }
    let started_as = wrapped.binary.clone().unwrap_or_default();
    let line = std::iter::once(started_as).chain(rest).map(OsString::from);
    match args::parse(line) {
        Ok(Invocation::Run(run)) => {
            let words = std::iter::once(&run.program).chain(&run.arguments);
            wrapped.child = words.map(|word| word.to_string_lossy().into_owned()).collect();
            wrapped.settings = settings(&wrapped, Some(run.asked), maps);
        }
        Ok(Invocation::Sidecar(asked)) => {
            wrapped.settings = settings(&wrapped, Some(asked), maps);
        }
        Ok(Invocation::Install(install)) => {
            return Some(Role::Installs(Installer {
                node,
                directory: install.directory.to_string_lossy().into_owned(),
            }));
        }
        // Its help, a check in a job: nothing that has to drain.
        Ok(_) => return None,
        Err(error) => {
            wrapped.usage = Some(error.to_string());
            wrapped.settings = Known::Unknown("its command line is not understood".to_owned());
        }
    }
    Some(Role::Runs(Box::new(wrapped)))
}

/// `TIDEGATE_…`, but not what Kubernetes injects for a Service of that name.
fn is_ours(name: &str) -> bool {
    name.strip_prefix(config::environment::PREFIX)
        .is_some_and(|rest| !config::environment::is_service_link(rest))
}

/// Why the settings of a container are not known that starts tidegate in a script.
const IN_A_SCRIPT: &str = "its command line is in a shell's script";

/// tidegate in a command line.
struct Found {
    front: Front,
    binary: Option<String>,
    /// Its arguments, or why its settings cannot be read.
    rest: Result<Vec<String>, &'static str>,
}

fn line_of(line: &[String], has_command: bool) -> Option<Found> {
    if let Some(script) = shell::script(line).filter(|_| has_command) {
        return in_script(script);
    }
    let index = line.iter().position(|word| is_tidegate(word))?;
    let before: Vec<&str> = line[..index].iter().map(String::as_str).collect();
    let front = match before.first() {
        _ if !has_command && index == 0 => Front::Entrypoint,
        Some(first) if !steps_aside(&before) => Front::Program((*first).to_owned()),
        _ => Front::Nothing,
    };
    Some(Found {
        front,
        binary: Some(line[index].clone()),
        rest: with_environment(&before, line[index + 1..].to_vec()),
    })
}

/// tidegate in a shell's script: the command it leads, or else the first that names it.
fn in_script(script: &str) -> Option<Found> {
    let commands = shell::commands(script);
    let mut named = commands.iter().filter_map(|command| {
        let index = command.words.iter().position(|word| is_tidegate(&word.text))?;
        Some((command, index, command.before(index)))
    });
    let first = named.clone().next()?;
    let (command, index, before) = named.find(|(.., before)| steps_aside(before)).unwrap_or(first);
    let front = match before.first() {
        _ if !command.replaces_the_shell() => Front::Shell,
        Some(first) if !steps_aside(&before) => Front::Program((*first).to_owned()),
        _ => Front::ShellGone,
    };
    let words = command.words[index + 1..].iter();
    let is_known = commands.len() == 1 && !words.clone().any(|word| word.is_expanded);
    let rest = if is_known {
        let all: Vec<&str> = command.words[..index]
            .iter()
            .map(|word| word.text.as_str())
            .collect();
        with_environment(&all, words.map(|word| word.text.clone()).collect())
    } else {
        Err(IN_A_SCRIPT)
    };
    Some(Found {
        front,
        binary: Some(command.words[index].text.clone()),
        rest,
    })
}

/// Whether the words in front of a program are commands that become it: `env A=1 nice -n 5`.
fn steps_aside(mut words: &[&str]) -> bool {
    while let Some((name, rest)) = words.split_first() {
        let mut operands = match shell::program(name) {
            "env" | "nice" | "ionice" | "nohup" | "stdbuf" | "setpriv" => 0,
            "chroot" | "gosu" | "su-exec" => 1,
            _ => return false,
        };
        let is_number = |word: &str| word.chars().all(|letter| letter.is_ascii_digit());
        let count = rest.iter().take_while(|word| {
            let is_argument = word.starts_with('-') || word.contains('=') || is_number(word);
            let is_operand = !is_argument && operands > 0;
            operands -= i32::from(is_operand);
            is_argument || is_operand
        });
        words = &rest[count.count()..];
    }
    true
}

/// The arguments, unless the words in front make an environment of their own.
fn with_environment(before: &[&str], rest: Vec<String>) -> Result<Vec<String>, &'static str> {
    let makes_one = before.iter().any(|word| {
        word.starts_with(config::environment::PREFIX)
            || matches!(*word, "-" | "-i" | "--ignore-environment")
            || word.starts_with("-u")
            || word.starts_with("--unset")
    });
    if makes_one {
        return Err("its command line changes its environment");
    }
    Ok(rest)
}

fn is_tidegate(word: &str) -> bool {
    shell::program(word) == "tidegate"
}

fn settings(wrapped: &Wrapped<'_>, asked: Option<Asked>, maps: &ConfigMaps<'_>) -> Known {
    let environment = &wrapped.environment;
    if let Some((name, why)) = environment.unknown_of_ours() {
        return Known::Unknown(format!("{name} {why}"));
    }
    let (file, flags) = asked.map_or_else(Default::default, |asked| (asked.config, asked.flags));
    let file = match file {
        None => None,
        Some(path) => match file_text(wrapped, &path, maps) {
            Ok(text) => Some((text, path)),
            Err(why) => return Known::Unknown(why),
        },
    };
    let variables = environment
        .known
        .iter()
        .map(|(name, value)| (name.into(), value.into()));
    let loaded = config::load_of(file, variables.collect::<Vec<(OsString, OsString)>>(), flags);
    let valid = loaded.and_then(match wrapped.mode {
        Mode::Wrap => Settings::of_a_wrap,
        Mode::Sidecar => Settings::of_a_sidecar,
    });
    match valid {
        Ok(settings) => Known::Valid(Box::new(settings)),
        Err(error) => Known::Refused(error),
    }
}

fn file_text(wrapped: &Wrapped<'_>, path: &Path, maps: &ConfigMaps<'_>) -> Result<String, String> {
    volumes::text(wrapped.pod, wrapped.node, &path.to_string_lossy(), maps)
}

impl Wrapped<'_> {
    /// The settings, when all of them are known and valid.
    pub fn valid(&self) -> Option<&Settings> {
        match &self.settings {
            Known::Valid(settings) => Some(settings),
            Known::Refused(_) | Known::Unknown(_) => None,
        }
    }

    /// The container's name.
    pub fn name(&self) -> &str {
        self.node.scalar_at("name").unwrap_or("(no name)")
    }
}
