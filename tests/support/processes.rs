//! What the kernel says of a process (proc(5)), and the end of those a test leaves behind.

use std::collections::HashSet;
use std::fs;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The environment variable that marks all processes of one run; every descendant inherits it.
pub const MARK: &str = "OUTSIDE_IN_RUN";

/// The state letter of a process, `None` when it does not exist.
pub fn state(pid: i32) -> Option<char> {
    stat(pid).map(|(state, _)| state)
}

/// Whether a process is there and not a zombie.
pub fn lives(pid: i32) -> bool {
    state(pid).is_some_and(|state| state != 'Z' && state != 'X')
}

/// The most resident memory a process ever had (VmHWM), in KiB.
pub fn peak_memory_kib(pid: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("the process lives");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .expect("a process has VmHWM");
    line.trim()
        .trim_end_matches(" kB")
        .parse()
        .expect("VmHWM is a number of kB")
}

/// How often the kernel has given a process the processor, or taken it.
pub fn switches(pid: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("the process lives");
    let counts = status.lines().filter(|line| line.contains("ctxt_switches"));
    counts
        .filter_map(|line| line.rsplit('\t').next()?.parse::<u64>().ok())
        .sum()
}

/// Kills everything that carries `mark`, and, while it is still ours, `root` with all that descends from it: a
/// program may write over its environment, as nginx does for its titles.
pub fn end_all(root: Option<i32>, mark: &str) {
    let mut doomed: HashSet<i32> = root.into_iter().flat_map(descendants).chain(root).collect();
    let begun = Instant::now();
    // More than once: what forks while we look is found by its mark the next time.
    while begun.elapsed() < Duration::from_secs(5) {
        doomed.extend(marked(mark));
        doomed.retain(|&pid| lives(pid));
        if doomed.is_empty() {
            return;
        }
        for &pid in &doomed {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The processes whose first environment carries `mark`.
pub fn marked(mark: &str) -> Vec<i32> {
    let wanted = format!("{MARK}={mark}");
    let carries = |pid: &i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment
            .split(|&byte| byte == 0)
            .any(|entry| entry == wanted.as_bytes())
    };
    pids()
        .into_iter()
        .filter(carries)
        .filter(|&pid| lives(pid))
        .collect()
}

fn descendants(root: i32) -> HashSet<i32> {
    let parents: Vec<(i32, i32)> = pids()
        .into_iter()
        .filter_map(|pid| stat(pid).map(|(_, parent)| (pid, parent)))
        .collect();
    let mut found = HashSet::new();
    let mut next = vec![root];
    while let Some(parent) = next.pop() {
        for &(pid, its_parent) in &parents {
            if its_parent == parent && found.insert(pid) {
                next.push(pid);
            }
        }
    }
    found
}

fn pids() -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect()
}

/// State and parent. The command stands in parentheses and may hold anything, so the last one ends it.
fn stat(pid: i32) -> Option<(char, i32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat[stat.rfind(')')? + 1..].split_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}
