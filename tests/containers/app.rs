//! busybox's HTTP server. What it answers slowly, it answers when the test says so.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// Where its files are in a container.
pub const WWW: &str = "/www";

/// What the server serves, in a directory to be mounted at [`WWW`].
pub struct Site {
    directory: TempDir,
}

impl Site {
    /// `/` is answered at once, `/cgi-bin/slow` when it is let go.
    pub fn new() -> Self {
        let directory = TempDir::new().expect("a directory");
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).expect("its mode");
        fs::write(directory.path().join("index.html"), "here\n").expect("a file");
        let script = directory.path().join("cgi-bin/slow");
        fs::create_dir(directory.path().join("cgi-bin")).expect("a directory");
        let text = format!(
            "#!/busybox sh\nprintf 'Content-Type: text/plain\\r\\n\\r\\n'\nuntil [ -e {WWW}/go ]; do /busybox sleep 0.05; done\necho done\n"
        );
        fs::write(&script, text).expect("a script");
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("its mode");
        Self { directory }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Lets the slow answers go.
    pub fn let_go(&self) {
        fs::write(self.directory.path().join("go"), "").expect("a file");
    }
}

/// The server's command line.
pub fn server(listen: &str) -> [String; 7] {
    ["/busybox", "httpd", "-f", "-p", listen, "-h", WWW].map(str::to_owned)
}

/// A file that a container's user may write, as the kubelet makes one for termination messages.
pub fn termination_log(directory: &Path) -> PathBuf {
    let file = directory.join("termination-log");
    fs::write(&file, "").expect("a file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).expect("its mode");
    file
}
