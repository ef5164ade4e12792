//! The layers, later wins: defaults, config file, `TIDEGATE_CONFIG`, `TIDEGATE_*`, flags.
//!
//! Each layer is parsed by itself, so that an error names it. Mappings are merged key by key, lists
//! and single values are replaced.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use super::document;
use super::entry::{Entry as _, Form, Refusal};
use super::environment::{self, CONFIG, PREFIX, is_service_link};
use super::error::{ConfigError, Origin};
use super::flags::Flag;
use super::nearest;
use super::schema::Config;

/// What a config is made of.
#[derive(Debug, Default)]
pub struct Inputs<E> {
    /// `--config FILE`
    pub file: Option<PathBuf>,
    /// The whole environment; what does not begin with `TIDEGATE_` is passed over.
    pub environment: E,
    /// The flags as they were written, in any order.
    pub flags: Vec<(&'static Flag, OsString)>,
}

/// The layers laid over each other, and where each key was written.
#[derive(Debug, Default)]
pub struct Layers {
    /// All of it.
    pub config: Config,
    documents: Vec<(Origin, Config)>,
    singles: Vec<(Origin, String)>,
}

impl Layers {
    /// Reads every layer.
    ///
    /// # Errors
    /// The first layer's first problem.
    pub fn read<E>(inputs: Inputs<E>) -> Result<Self, ConfigError>
    where
        E: IntoIterator<Item = (OsString, OsString)>,
    {
        let file = match inputs.file {
            Some(path) => Some((document::read(&path)?, path)),
            None => None,
        };
        Self::of(file, inputs.environment, inputs.flags)
    }

    /// The same where the config file's text is known already, such as out of a ConfigMap.
    ///
    /// # Errors
    /// The first layer's first problem.
    pub fn of<E>(
        file: Option<(String, PathBuf)>,
        environment: E,
        flags: Vec<(&'static Flag, OsString)>,
    ) -> Result<Self, ConfigError>
    where
        E: IntoIterator<Item = (OsString, OsString)>,
    {
        let mut layers = Self::default();
        if let Some((text, path)) = file {
            layers.document(Origin::File(path), &text)?;
        }
        let (yaml, variables) = ours(environment);
        if let Some(yaml) = yaml {
            let text = utf8(&Origin::Environment, &yaml)?;
            layers.document(Origin::Environment, text)?;
        }
        // Variables and flags set keys of one config, the flags last, so that `--inflight-query`
        // goes with TIDEGATE_INFLIGHT_URL.
        let mut singles = Config::default();
        layers.variables(&mut singles, variables)?;
        layers.flags(&mut singles, flags)?;
        layers.config.merge(singles);
        Ok(layers)
    }

    /// A config file alone, as `tidegate check` sees it.
    ///
    /// # Errors
    /// Everything that is wrong with the document.
    pub fn of_document(origin: Origin, text: &str) -> Result<Self, Vec<ConfigError>> {
        let config = document::parse_for_problems(&origin, text)?;
        let documents = vec![(origin, config.clone())];
        Ok(Self {
            config,
            documents,
            singles: Vec::new(),
        })
    }

    /// Where the value of a key in force was written; nothing when it is the default.
    pub fn origin_of(&self, path: &str) -> Option<Origin> {
        let single = self
            .singles
            .iter()
            .rev()
            .find(|(_, set)| is_at_or_below(set, path));
        if let Some((origin, _)) = single {
            return Some(origin.clone());
        }
        let steps = steps(path);
        let document = self
            .documents
            .iter()
            .rev()
            .find(|(_, config)| config.holds(&steps));
        document.map(|(origin, _)| origin.clone())
    }

    fn document(&mut self, origin: Origin, text: &str) -> Result<(), ConfigError> {
        let config = document::parse(&origin, text)?;
        self.config.merge(config.clone());
        self.documents.push((origin, config));
        Ok(())
    }

    fn variables(
        &mut self,
        config: &mut Config,
        written: Vec<(OsString, OsString)>,
    ) -> Result<(), ConfigError> {
        for (name, value) in written {
            let name = name.to_string_lossy().into_owned();
            // What Kubernetes injects for Services; none of ours has such a name.
            if is_service_link(name.strip_prefix(PREFIX).unwrap_or(&name)) {
                continue;
            }
            let variable = environment::find(&name).ok_or_else(|| unknown_variable(&name))?;
            let origin = Origin::Variable(name);
            let text = utf8(&origin, &value)?;
            // As with TIDEGATE_CONFIG, an empty one says nothing: a template that had no value.
            if text.is_empty() {
                continue;
            }
            if variable.form == Form::List {
                let why = "a list is not set by one variable; write it in the config file or TIDEGATE_CONFIG";
                return Err(single(origin, Refusal(why.to_owned())));
            }
            if let Some((other, _)) = self.singles.iter().find(|(_, path)| *path == variable.path) {
                let why = format!("sets the same as {other}; keep one of them");
                return Err(single(origin, Refusal(why)));
            }
            self.set(config, origin, &variable.path, text)?;
        }
        Ok(())
    }

    fn flags(
        &mut self,
        config: &mut Config,
        written: Vec<(&'static Flag, OsString)>,
    ) -> Result<(), ConfigError> {
        for (flag, value) in written {
            let origin = Origin::Flag(flag.long);
            let text = utf8(&origin, &value)?;
            if text.is_empty() {
                let why = format!("empty; write --{}={} or leave it out", flag.long, flag.value);
                return Err(single(origin, Refusal(why)));
            }
            self.set(config, origin, flag.path, text)?;
        }
        Ok(())
    }

    fn set(
        &mut self,
        config: &mut Config,
        origin: Origin,
        path: &str,
        text: &str,
    ) -> Result<(), ConfigError> {
        let mut slot = Some(std::mem::take(config));
        let done = Config::assign(&mut slot, &steps(path), text);
        *config = slot.unwrap_or_default();
        done.map_err(|refusal| single(origin.clone(), refusal.of(text)))?;
        self.singles.push((origin, path.to_owned()));
        Ok(())
    }
}

/// `TIDEGATE_CONFIG` and the other variables that begin like ours, out of the environment.
fn ours(
    environment: impl IntoIterator<Item = (OsString, OsString)>,
) -> (Option<OsString>, Vec<(OsString, OsString)>) {
    let mut yaml = None;
    let mut variables = Vec::new();
    for (name, value) in environment {
        if name == CONFIG {
            yaml = Some(value);
        } else if name.as_encoded_bytes().starts_with(PREFIX.as_bytes()) {
            variables.push((name, value));
        }
    }
    // In the order of their names: whose error comes first does not depend on the environment's.
    variables.sort();
    (yaml, variables)
}

/// The refusal of a variable that nobody knows, so that a slip does not pass for a setting.
fn unknown_variable(name: &str) -> ConfigError {
    let known = environment::variables();
    let candidates = known.iter().map(|variable| &variable.name[PREFIX.len()..]);
    let rest = name.strip_prefix(PREFIX).unwrap_or(name);
    let nearest = nearest::suggestion(rest, candidates.chain(["CONFIG"]));
    let nearest = nearest
        .replace("mean ", "mean TIDEGATE_")
        .replace("one is ", "one is TIDEGATE_");
    single(
        Origin::Variable(name.to_owned()),
        Refusal(format!("unknown setting; {nearest}")),
    )
}

fn utf8<'a>(origin: &Origin, value: &'a OsStr) -> Result<&'a str, ConfigError> {
    let not_text = || single(origin.clone(), Refusal("its value is not UTF-8 text".to_owned()));
    value.to_str().ok_or_else(not_text)
}

fn single(origin: Origin, refusal: Refusal) -> ConfigError {
    ConfigError::Refused {
        origin,
        line: None,
        key: None,
        refusal,
    }
}

/// `inflight[0].prometheus.url` in its steps.
fn steps(path: &str) -> Vec<&str> {
    let mut steps = Vec::new();
    for key in path.split('.') {
        match key.find('[') {
            Some(bracket) => steps.extend([&key[..bracket], &key[bracket..]]),
            None => steps.push(key),
        }
    }
    steps
}

/// Whether the key `set` is `path` or lies below it.
fn is_at_or_below(set: &str, path: &str) -> bool {
    set.strip_prefix(path)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}
