//! Who descends from us, by `/proc`: for a supervisor that is not PID 1 and so cannot name everyone at once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

type Pid = libc::pid_t;

/// Our living descendants, as they can be signalled.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Descendants {
    /// Process groups in which nobody else is: one kill(2) reaches all of one, however fast it forks.
    pub groups: BTreeSet<Pid>,
    /// Those in groups that they share with others: ours, or our parent's.
    pub others: Vec<Pid>,
}

impl Descendants {
    /// Reads `/proc`; none where it is missing or another namespace's, whose numbers would be strangers'.
    pub fn find() -> Option<Self> {
        Some(Self::among(std::process::id() as Pid, Kin::everyone()?))
    }

    fn among(own: Pid, everyone: Vec<Kin>) -> Self {
        let mut children: BTreeMap<Pid, Vec<&Kin>> = BTreeMap::new();
        for one in &everyone {
            children.entry(one.parent).or_default().push(one);
        }
        let mut found = children.remove(&own).unwrap_or_default();
        let mut seen = 0;
        while let Some(one) = found.get(seen) {
            found.extend(children.remove(&one.pid).unwrap_or_default());
            seen += 1;
        }
        let ours: BTreeSet<Pid> = found.iter().map(|one| one.pid).collect();
        let strangers = everyone.iter().filter(|one| !ours.contains(&one.pid));
        let shared: BTreeSet<Pid> = strangers.map(|one| one.group).collect();
        let (others, alone): (Vec<&Kin>, Vec<&Kin>) =
            found.into_iter().partition(|one| shared.contains(&one.group));
        Self {
            groups: alone.into_iter().map(|one| one.group).collect(),
            others: others.into_iter().map(|one| one.pid).collect(),
        }
    }
}

/// Whether `/proc` is there and of our own PID namespace: another's numbers would be strangers'.
pub(crate) fn is_our_proc() -> bool {
    let own = std::process::id() as Pid;
    let told = fs::read_link("/proc/self");
    told.is_ok_and(|told| told.to_str().and_then(|told| told.parse().ok()) == Some(own))
}

/// A process, its parent and its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kin {
    pub pid: Pid,
    pub parent: Pid,
    pub group: Pid,
}

impl Kin {
    /// Every process of our namespace but kernel threads; none without a `/proc` of ours.
    pub fn everyone() -> Option<Vec<Self>> {
        if !is_our_proc() {
            return None;
        }
        let everyone = fs::read_dir("/proc").ok()?.flatten().filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            // It may have ended since the directory was read.
            Self::in_stat(pid, &fs::read(entry.path().join("stat")).ok()?)
        });
        Some(everyone.collect())
    }

    /// The fourth and fifth field of `/proc/pid/stat`. The second, the program's name, may contain
    /// anything, parentheses and newlines too (proc_pid_stat(5)).
    fn in_stat(pid: Pid, stat: &[u8]) -> Option<Self> {
        let after_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
        let mut fields = std::str::from_utf8(&stat[after_name..])
            .ok()?
            .split_ascii_whitespace()
            .skip(1)
            .map(str::parse);
        let (parent, group) = (fields.next()?.ok()?, fields.next()?.ok()?);
        // Kernel threads have group 0, and kill(0) would be our own group.
        (group > 0).then_some(Self { pid, parent, group })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kin(pid: Pid, parent: Pid, group: Pid) -> Kin {
        Kin { pid, parent, group }
    }

    #[test]
    fn a_parent_is_found_behind_any_name() {
        assert_eq!(Kin::in_stat(12, b"12 (sh) S 7 13 12 0"), Some(kin(12, 7, 13)));
        assert_eq!(Kin::in_stat(12, b"12 (a) S 9 (\n) R 7 12"), Some(kin(12, 7, 12)));
        assert_eq!(Kin::in_stat(12, b"12 (a\xff) Z 1 12"), Some(kin(12, 1, 12)));
        assert_eq!(Kin::in_stat(2, b"2 (kthreadd) S 0 0 0"), None);
        assert_eq!(Kin::in_stat(12, b""), None);
        assert_eq!(Kin::in_stat(12, b"12 (sh) S 7"), None);
    }

    #[test]
    fn descendants_are_named_by_their_group_unless_a_stranger_is_in_it() {
        let everyone = vec![
            kin(1, 0, 1),
            kin(10, 1, 9), // tidegate, in its parent's group
            kin(20, 10, 20),
            kin(21, 20, 20),
            kin(22, 21, 22), // setsid
            kin(23, 20, 9),  // joined our group
            kin(30, 1, 30),
        ];
        let found = Descendants::among(10, everyone);
        assert_eq!(found.groups, BTreeSet::from([20, 22]));
        assert_eq!(found.others, [23]);
    }
}
