//! Where the socket is. Server and client look at the same places in the same order.

use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::unistd::{Uid, geteuid};

/// The variable both sides read; for the server it is the one of `admin.socket`.
pub const VARIABLE: &str = "TIDEGATE_ADMIN_SOCKET";

/// What a socket chosen by us is called.
const NAME: &str = "admin.sock";

/// `admin.socket`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Socket {
    /// The first place that works: `/run/tidegate`, else a directory of our own under `/tmp`.
    #[default]
    Auto,
    /// None.
    Off,
    /// There.
    Path(PathBuf),
}

/// A directory for a socket that is chosen by us, and who else may have a say in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// `/run/tidegate`: ours or root's. A volume may be mounted there, so its mode is not judged.
    Run(PathBuf),
    /// `/tmp/tidegate-UID`: everybody can make it, so it has to be ours and mode 0700.
    Tmp(PathBuf),
}

impl Room {
    /// Those of the user we are, the better one first.
    pub fn all() -> [Self; 2] {
        [Self::run(), Self::tmp(geteuid())]
    }

    fn run() -> Self {
        Self::Run("/run/tidegate".into())
    }

    fn tmp(uid: Uid) -> Self {
        Self::Tmp(format!("/tmp/tidegate-{uid}").into())
    }

    pub fn directory(&self) -> &Path {
        match self {
            Self::Run(path) | Self::Tmp(path) => path,
        }
    }

    pub fn socket(&self) -> PathBuf {
        self.directory().join(NAME)
    }
}

impl Socket {
    /// Reads [`VARIABLE`]'s value. Unset and empty are `auto`.
    ///
    /// # Errors
    /// What is wrong, with its mend.
    pub fn of_variable(value: Option<&OsStr>) -> Result<Self, String> {
        let value = value.unwrap_or_default();
        match value.to_str() {
            Some("" | "auto") => Ok(Self::Auto),
            Some("off" | "false") => Ok(Self::Off),
            _ if Path::new(value).is_absolute() => Ok(Self::Path(value.into())),
            _ => Err(format!(
                "{VARIABLE}: {:?} is neither auto, off nor an absolute path",
                value.to_string_lossy()
            )),
        }
    }

    /// Where a client looks for it, in order. Root may talk to any tidegate, and finds that of the
    /// container's own user, as whom process 1 runs.
    pub fn places(&self) -> Vec<PathBuf> {
        match self {
            Self::Off => Vec::new(),
            Self::Path(path) => vec![path.clone()],
            Self::Auto => {
                let mut places: Vec<_> = Room::all().iter().map(Room::socket).collect();
                if geteuid().is_root()
                    && let Ok(first) = Path::new("/proc/1").metadata()
                    && first.uid() != 0
                {
                    places.push(Room::tmp(Uid::from_raw(first.uid())).socket());
                }
                places
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_says_auto_off_or_where() {
        let read = |text: &str| Socket::of_variable(Some(OsStr::new(text)));
        assert_eq!(Socket::of_variable(None), Ok(Socket::Auto));
        assert_eq!(read(""), Ok(Socket::Auto));
        assert_eq!(read("auto"), Ok(Socket::Auto));
        assert_eq!(read("off"), Ok(Socket::Off));
        assert_eq!(read("/a/b.sock"), Ok(Socket::Path("/a/b.sock".into())));
        assert!(read("b.sock").unwrap_err().contains("b.sock"));
    }

    #[test]
    fn run_comes_before_tmp() {
        let places = Socket::Auto.places();
        assert_eq!(places[0], Path::new("/run/tidegate/admin.sock"));
        assert_eq!(
            places[1],
            PathBuf::from(format!("/tmp/tidegate-{}/admin.sock", geteuid()))
        );
    }
}
