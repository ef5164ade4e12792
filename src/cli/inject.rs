//! `tidegate inject -f FILE`: manifests in, the same wrapped with tidegate out.

use std::io::Write;

use crate::kube::check::check;
use crate::kube::inject::{InjectError, Options, inject};
use crate::kube::input::{InputError, Source};

use super::args::Inject;

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read.
    #[error("inject: {0}")]
    Input(#[from] InputError),
    /// It cannot be done.
    #[error("inject: {0}")]
    Inject(InjectError),
    /// Nothing there to wrap.
    #[error("inject: nothing to wrap: no pod in these files is what --workload and --container name")]
    Nothing,
}

impl Error {
    /// 2 for what could not be read, else 1.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Input(_) => 2,
            Self::Inject(_) | Self::Nothing => 1,
        }
    }
}

impl From<InjectError> for Error {
    fn from(error: InjectError) -> Self {
        match error {
            InjectError::Input(error) => Self::Input(error),
            other => Self::Inject(other),
        }
    }
}

/// The wrapped manifests of all files, as one stream. What is to be known of them goes to `notes`, and what
/// `tidegate check` still finds in them.
///
/// # Errors
/// [`Error`]: then nothing is written.
pub fn run(asked: &Inject, notes: &mut impl Write) -> Result<String, Error> {
    let options = Options {
        mode: asked.mode,
        container: asked.container.clone(),
        workload: asked.workload.clone(),
        config: match &asked.config {
            Some(path) => Some(Source::read(path)?.text),
            None => None,
        },
        image: asked.image.clone(),
        command: asked.command.clone(),
    };
    let mut text = String::new();
    let mut wrapped = 0;
    let mut said = Vec::new();
    for file in &asked.files {
        let injected = inject(&Source::read(file)?, &options)?;
        if !text.is_empty() && !injected.text.trim_start().starts_with("---") {
            text.push_str("---\n");
        }
        text.push_str(&injected.text);
        if !text.ends_with('\n') {
            text.push('\n');
        }
        wrapped += injected.wrapped;
        said.extend(injected.notes);
    }
    if wrapped == 0 {
        return Err(Error::Nothing);
    }
    let output = Source {
        name: "output".to_owned(),
        text,
    };
    let left = check(std::slice::from_ref(&output), &[]).findings;
    for line in said.into_iter().chain(left.iter().map(ToString::to_string)) {
        // Whoever does not read the notes still gets the manifests.
        let _ = writeln!(notes, "tidegate: inject: {line}");
    }
    Ok(output.text)
}
