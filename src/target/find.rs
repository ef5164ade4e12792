//! Which process it is. Nobody is better than somebody else: where more than one would do, it is none.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use thiserror::Error;

use super::{Clue, listening};
use crate::child::{Kin, Pidfd, is_our_proc};

type Pid = libc::pid_t;

/// A process writes its pid file after it was started; the kernel's own clock for that has whole seconds.
const CLOCKS_DIFFER: Duration = Duration::from_secs(2);

/// The clock ticks of a process's start in `/proc`: USER_HZ, 100 on every architecture we run on (proc_pid_stat(5), time(7)).
const TICKS_A_SECOND: u64 = 100;

/// The kernel follows links and `#!` lines before it says what runs.
const OR_ANOTHER_FILE: &str = ", and name the file itself, not a link to it or a script";

/// Why the program was not found, with the mend.
#[derive(Debug, PartialEq, Eq, Error)]
pub(super) enum NotFound {
    #[error(
        "/proc is missing or another PID namespace's; mount it, and set shareProcessNamespace: true in the pod"
    )]
    NoProc,
    #[error("nobody listens there yet")]
    NobodyListens,
    #[error("no process that can be seen {what}; set shareProcessNamespace: true in the pod{or}")]
    NotSeen { what: String, or: &'static str },
    #[error(
        "{count} processes may not be looked at, and none of the others {what}; run tidegate as the program's user with the same capabilities, or give it CAP_SYS_PTRACE"
    )]
    Hidden { what: String, count: usize },
    #[error(
        "processes {pids} alike {what}, and none of them started the others; name the one by target.pidFile"
    )]
    Several { what: String, pids: String },
    #[error("the file cannot be read: {0}")]
    File(String),
    #[error("the file has no process id but {0:?}")]
    NoPid(String),
    #[error("process {0} was started after the file was written, so the file is of an earlier process")]
    Stale(Pid),
    #[error("process {0} is tidegate's own")]
    Ours(Pid),
    #[error("there is no process {0}")]
    Ended(Pid),
    #[error("the kernel gives no handle on process {pid} (pidfd_open: {why})")]
    NoHandle { pid: Pid, why: String },
}

/// Finds the program and takes hold of it.
pub(super) fn find(clue: &Clue) -> Result<Pidfd, NotFound> {
    let pid = look(clue)?;
    let held = Pidfd::open(pid).map_err(|why| match why.raw_os_error() {
        Some(libc::ESRCH) => NotFound::Ended(pid),
        _ => NotFound::NoHandle {
            pid,
            why: why.to_string(),
        },
    })?;
    // Between the look and the hold it may have ended, and its pid may be another's by now.
    match look(clue)? {
        again if again == pid => Ok(held),
        _ => Err(NotFound::Ended(pid)),
    }
}

fn look(clue: &Clue) -> Result<Pid, NotFound> {
    if !is_our_proc() {
        return Err(NotFound::NoProc);
    }
    match clue {
        Clue::PidFile(file) => in_file(file),
        Clue::Ports(ports) => {
            let sockets = listening::sockets_on(ports).map_err(|_| NotFound::NoProc)?;
            if sockets.is_empty() {
                return Err(NotFound::NobodyListens);
            }
            the_one(format!("listens on {ports:?}"), "", |pid| {
                listening::has_one_of(pid, &sockets)
            })
        }
        Clue::Executable(file) => the_one(format!("runs {}", file.display()), OR_ANOTHER_FILE, |pid| {
            Ok(runs(&fs::read_link(format!("/proc/{pid}/exe"))?, file))
        }),
    }
}

/// The one process that `is_it`, or the one of several that started the others: a server forks its workers with
/// its sockets open.
fn the_one(what: String, or: &'static str, is_it: impl Fn(Pid) -> io::Result<bool>) -> Result<Pid, NotFound> {
    let everyone = Kin::everyone().ok_or(NotFound::NoProc)?;
    let parents: BTreeMap<Pid, Pid> = everyone.iter().map(|one| (one.pid, one.parent)).collect();
    let own = std::process::id() as Pid;
    let mut hidden = 0;
    let mut found = BTreeSet::new();
    for &pid in parents.keys() {
        if pid == own || ancestors(pid, &parents).contains(&own) {
            continue;
        }
        match is_it(pid) {
            Ok(true) => _ = found.insert(pid),
            Err(why) if why.kind() == io::ErrorKind::PermissionDenied => hidden += 1,
            // It has ended since.
            Ok(false) | Err(_) => {}
        }
    }
    let first: Vec<Pid> = found
        .iter()
        .copied()
        .filter(|pid| ancestors(*pid, &parents).is_disjoint(&found))
        .collect();
    match first[..] {
        [one] => Ok(one),
        [] if hidden > 0 => Err(NotFound::Hidden { what, count: hidden }),
        [] => Err(NotFound::NotSeen { what, or }),
        [..] => {
            let pids: Vec<String> = first.iter().map(Pid::to_string).collect();
            Err(NotFound::Several {
                what,
                pids: pids.join(", "),
            })
        }
    }
}

fn ancestors(pid: Pid, parents: &BTreeMap<Pid, Pid>) -> BTreeSet<Pid> {
    let mut found = BTreeSet::new();
    let mut at = pid;
    while let Some(&parent) = parents.get(&at) {
        // Read one after the other, pids may be used again meanwhile, and make a circle.
        if !found.insert(parent) {
            break;
        }
        at = parent;
    }
    found
}

/// Whether the link `/proc/PID/exe` is to `file`: the whole path, or the name where that is all there is.
fn runs(link: &Path, file: &Path) -> bool {
    let link = link.to_string_lossy();
    // Replaced on disk since it was started (proc_pid_exe(5)).
    let link = Path::new(link.strip_suffix(" (deleted)").unwrap_or(&link));
    match file.is_absolute() {
        true => link == file,
        false => link.file_name() == file.file_name(),
    }
}

fn in_file(file: &Path) -> Result<Pid, NotFound> {
    let unread = |why: io::Error| NotFound::File(why.to_string());
    let written = fs::metadata(file)
        .and_then(|file| file.modified())
        .map_err(unread)?;
    let text = read_a_little(file).map_err(unread)?;
    let text = text.trim();
    let pid: Pid = match text.parse() {
        // PID 1 is the namespace's: in a pod that shares one, the pause container.
        Ok(pid) if pid > 1 && !text.starts_with('+') => pid,
        _ => return Err(NotFound::NoPid(text.chars().take(20).collect())),
    };
    let own = std::process::id() as Pid;
    let parents = Kin::everyone().ok_or(NotFound::NoProc)?;
    let parents: BTreeMap<Pid, Pid> = parents.iter().map(|one| (one.pid, one.parent)).collect();
    if pid == own || ancestors(pid, &parents).contains(&own) {
        return Err(NotFound::Ours(pid));
    }
    match started(pid) {
        None => Err(NotFound::Ended(pid)),
        Some(started) if started > written + CLOCKS_DIFFER => Err(NotFound::Stale(pid)),
        Some(_) => Ok(pid),
    }
}

/// No more of it than a pid file has: whoever writes it does not fill our memory, nor keep us waiting with a pipe.
fn read_a_little(file: &Path) -> io::Result<String> {
    use std::io::Read;
    use std::os::unix::fs::OpenOptionsExt;
    let file = fs::OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(file)?;
    let mut bytes = Vec::new();
    file.take(64).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// When the process was started, by the wall clock.
fn started(pid: Pid) -> Option<SystemTime> {
    let stat = fs::read(PathBuf::from(format!("/proc/{pid}/stat"))).ok()?;
    let after_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let fields = std::str::from_utf8(&stat[after_name..]).ok()?;
    // The 22nd field; the third is the first after the name.
    let ticks: u64 = fields.split_ascii_whitespace().nth(22 - 3)?.parse().ok()?;
    let kernel = fs::read_to_string("/proc/stat").ok()?;
    let boot: u64 = kernel
        .lines()
        .find_map(|line| line.strip_prefix("btime "))?
        .parse()
        .ok()?;
    let since_boot = Duration::from_millis(ticks.saturating_mul(1000 / TICKS_A_SECOND));
    UNIX_EPOCH
        .checked_add(Duration::from_secs(boot))?
        .checked_add(since_boot)
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    struct Sleeping(Child);

    impl Sleeping {
        /// A process whose parent is not us, so that it is nobody of ours.
        fn of_another(script: &str) -> (Self, Pid) {
            let mut shell = Command::new("setsid");
            let child = shell
                .args(["-f", "sh", "-c", script])
                .stdout(std::process::Stdio::piped())
                .spawn()
                .expect("setsid");
            let mut child = child;
            let mut line = String::new();
            let out = child.stdout.take().expect("a pipe");
            io::BufRead::read_line(&mut io::BufReader::new(out), &mut line).expect("a line");
            child.wait().expect("setsid ends");
            let pid = line.trim().parse().expect("a pid");
            let ended = Command::new("true").spawn().expect("true");
            (Self(ended), pid)
        }
    }

    impl Drop for Sleeping {
        fn drop(&mut self) {
            let _ = self.0.wait();
        }
    }

    fn end(pid: Pid) {
        if let Ok(held) = Pidfd::open(pid) {
            let _ = held.signal(crate::child::Signal::KILL);
        }
    }

    #[test]
    fn a_pid_file_names_its_process_unless_that_was_started_later() {
        let (_shell, pid) = Sleeping::of_another("echo $$; exec sleep 60");
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::write(file.path(), format!("{pid}\n")).expect("written");
        assert_eq!(in_file(file.path()), Ok(pid));
        let hour_ago = SystemTime::now() - Duration::from_secs(3600);
        file.as_file().set_modified(hour_ago).expect("a time");
        assert_eq!(in_file(file.path()), Err(NotFound::Stale(pid)));
        end(pid);
    }

    #[test]
    fn what_is_no_pid_file_names_nobody() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        for text in ["", "0", "1", "+2", "-1", "no", "1 2", "99999999999999"] {
            fs::write(file.path(), text).expect("written");
            assert!(matches!(in_file(file.path()), Err(NotFound::NoPid(_))), "{text}");
        }
        fs::write(file.path(), std::process::id().to_string()).expect("written");
        assert!(matches!(in_file(file.path()), Err(NotFound::Ours(_))));
        assert!(matches!(in_file(Path::new("/no/such")), Err(NotFound::File(_))));
    }

    #[test]
    fn an_executable_is_its_path_or_its_name() {
        let link = Path::new("/usr/bin/app (deleted)");
        assert!(runs(link, Path::new("/usr/bin/app")));
        assert!(runs(link, Path::new("app")));
        assert!(!runs(link, Path::new("/bin/app")));
        assert!(!runs(link, Path::new("ap")));
    }

    #[test]
    fn a_file_that_nobody_runs_may_be_a_link_or_a_script() {
        let why = look(&Clue::Executable("/no/such/link".into()));
        let why = why.expect_err("nobody runs it").to_string();
        assert!(
            why.ends_with("the file itself, not a link to it or a script"),
            "{why}"
        );
    }

    #[test]
    fn nobody_of_ours_is_ever_meant() {
        let own = std::process::id() as Pid;
        let mut child = Command::new("sleep").arg("60").spawn().expect("sleep");
        for ours in [own, child.id() as Pid] {
            let found = the_one("is ours".to_owned(), "", |pid| Ok(pid == ours));
            assert!(matches!(found, Err(NotFound::NotSeen { .. })), "{found:?}");
        }
        child.kill().expect("it runs");
        child.wait().expect("it ends");
    }

    #[test]
    fn the_one_that_started_the_others_is_meant_and_of_strangers_none() {
        let parents = BTreeMap::from([(1, 0), (10, 1), (11, 10), (12, 11), (20, 1)]);
        assert_eq!(ancestors(12, &parents), BTreeSet::from([0, 1, 10, 11]));
        assert_eq!(
            ancestors(1, &BTreeMap::from([(1, 2), (2, 1)])),
            BTreeSet::from([1, 2])
        );
    }
}
