//! The termination message: what `kubectl describe pod` shows of a container's end.
//!
//! The kubelet mounts a file at `terminationMessagePath` (`/dev/termination-log` by default)
//! and reads at most 4096 bytes of it per container, 12 KiB over all containers of a pod
//! (Kubernetes, "Determine the Reason for Pod Failure"). A message of 2 KiB or less survives.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde::Serialize;

/// Writes `message` as one JSON object, if the file is there; it is never created, because
/// only the kubelet's mount makes it one.
///
/// # Errors
/// Whatever opening or writing it says; that it is not there is not an error.
pub fn write(path: &Path, message: &impl Serialize) -> io::Result<()> {
    let opened = OpenOptions::new()
        .write(true)
        .truncate(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path);
    let mut file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let mut text = serde_json::to_vec(message)?;
    text.push(b'\n');
    file.write_all(&text)
}
