//! Whose sockets listen on a port: the kernel's table has their inodes (proc_pid_net(5)), and a process's
//! descriptors lead to those (proc_pid_fd(5)).

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;

/// TCP_LISTEN in the kernel's include/net/tcp_states.h, as the table prints it.
const LISTEN: &str = "0A";

/// The inodes of the sockets that listen on these ports in our network namespace, whatever their address.
pub(super) fn sockets_on(ports: &[u16]) -> io::Result<BTreeSet<u64>> {
    let mut inodes = BTreeSet::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let file = match File::open(table) {
            Ok(file) => file,
            // A kernel without IPv6.
            Err(error) if error.kind() == io::ErrorKind::NotFound && table.ends_with('6') => continue,
            Err(error) => return Err(error),
        };
        // The first line is the heading.
        for line in BufReader::new(file).lines().skip(1) {
            inodes.extend(listener(&line?, ports));
        }
    }
    Ok(inodes)
}

/// `sl: local:port remote:port st queues timer retransmits uid timeout inode …`
fn listener(row: &str, ports: &[u16]) -> Option<u64> {
    let mut columns = row.split_ascii_whitespace().skip(1);
    let (_, local) = columns.next()?.rsplit_once(':')?;
    let state = columns.nth(1)?;
    let inode = columns.nth(5)?.parse().ok()?;
    (state == LISTEN && ports.contains(&u16::from_str_radix(local, 16).ok()?)).then_some(inode)
}

/// Whether the process has one of these sockets open.
///
/// # Errors
/// EACCES where we may not look (ptrace(2), access mode checks); ENOENT when it has ended.
pub(super) fn has_one_of(pid: libc::pid_t, sockets: &BTreeSet<u64>) -> io::Result<bool> {
    for descriptor in fs::read_dir(format!("/proc/{pid}/fd"))? {
        match fs::read_link(descriptor?.path()) {
            Ok(link) if inode(link.as_os_str()).is_some_and(|inode| sockets.contains(&inode)) => {
                return Ok(true);
            }
            // Another kind, or closed since.
            _ => {}
        }
    }
    Ok(false)
}

/// `socket:[4711]`
fn inode(link: &OsStr) -> Option<u64> {
    let number = link.as_bytes().strip_prefix(b"socket:[")?.strip_suffix(b"]")?;
    std::str::from_utf8(number).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = "   0: 0100007F:C383 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0 100 0 0 10 0";

    #[test]
    fn only_a_listening_socket_on_the_port_counts() {
        assert_eq!(listener(ROW, &[1, 0xc383]), Some(4711));
        assert_eq!(listener(ROW, &[0xc384]), None);
        assert_eq!(listener(&ROW.replace(" 0A ", " 01 "), &[0xc383]), None);
        assert_eq!(
            listener(&ROW.replace("0100007F", &"0".repeat(32)), &[0xc383]),
            Some(4711)
        );
        assert_eq!(listener("", &[1]), None);
        assert_eq!(inode(OsStr::new("socket:[12]")), Some(12));
        assert_eq!(inode(OsStr::new("pipe:[12]")), None);
    }

    #[test]
    fn a_listener_of_ours_is_found_among_our_descriptors() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let sockets = sockets_on(&[port]).expect("the table");
        assert_eq!(sockets.len(), 1);
        assert!(has_one_of(std::process::id() as libc::pid_t, &sockets).expect("our own"));
        drop(listener);
        assert!(sockets_on(&[port]).expect("the table").is_empty());
    }
}
