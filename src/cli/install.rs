//! `tidegate install DIR`: a copy of this binary in DIR.
//!
//! An init container brings the binary into a volume that the app container mounts. An image
//! made `FROM scratch` has no shell and no `cp`, so the binary copies itself.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The name of the copy.
const NAME: &str = "tidegate";

/// Readable and executable by whichever user the app container runs as.
const MODE: u32 = 0o755;

/// Why there is no copy.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The binary itself cannot be read.
    #[error("install: cannot read this binary at {path}: {why}; run it by its full path")]
    Source {
        /// Where it was looked for.
        path: PathBuf,
        /// As the kernel says.
        why: io::Error,
    },
    /// DIR does not take it.
    #[error(
        "install: cannot write {path}: {why}; DIR has to be a writable directory, like the mount of an emptyDir"
    )]
    Target {
        /// What was being written.
        path: PathBuf,
        /// As the kernel says.
        why: io::Error,
    },
}

/// Copies this binary into `directory`, all of it or nothing, and returns where it is now.
///
/// `started_as` is how it was called, for containers that have no `/proc`.
///
/// # Errors
/// [`InstallError`], one line.
pub fn run(directory: &Path, started_as: &Path) -> Result<PathBuf, InstallError> {
    let source = fs::read_link("/proc/self/exe").unwrap_or_else(|_| started_as.to_owned());
    let mut binary = File::open(&source).map_err(|why| InstallError::Source {
        path: source.clone(),
        why,
    })?;
    let target = directory.join(NAME);
    // Two pods on one host path must not write the same file; rename(2) makes it whole at once.
    let partial = directory.join(format!(".{NAME}.{}", std::process::id()));
    let copied = copy(&mut binary, &partial).and_then(|()| fs::rename(&partial, &target));
    match copied {
        Ok(()) => Ok(target),
        Err(why) => {
            // Whatever of it is there is of no use to anyone.
            let _ = fs::remove_file(&partial);
            Err(InstallError::Target { path: target, why })
        }
    }
}

fn copy(binary: &mut File, to: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(MODE)
        .open(to)?;
    io::copy(binary, &mut file)?;
    // The umask may have taken bits away.
    fs::set_permissions(to, std::os::unix::fs::PermissionsExt::from_mode(MODE))?;
    file.flush()?;
    file.sync_all()
}
