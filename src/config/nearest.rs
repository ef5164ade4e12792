//! The nearest known name of a mistyped one.

use super::entry::Refusal;
use super::schema;

/// Names are compared without case and separators, so that `stop_timeout` finds `stopTimeout`.
fn plain(name: &str) -> String {
    name.chars()
        .filter(|letter| letter.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .take(100)
        .collect()
}

/// How many slips lie between two names; a part of a name counts as one.
fn slips(written: &str, name: &str) -> usize {
    let name = plain(name);
    if written.len() >= 4 && name.contains(written) {
        return 1.min(name.len() - written.len());
    }
    strsim::osa_distance(written, &name)
}

/// The candidate with the fewest slips from `written`, and how many those are.
fn closest<'a>(written: &str, candidates: impl Iterator<Item = &'a str>) -> Option<(&'a str, usize)> {
    let written = plain(written);
    candidates
        .map(|candidate| (candidate, slips(&written, candidate)))
        .min_by_key(|(_, slips)| *slips)
}

/// So many slips still are the same word mistyped.
fn is_near(written: &str, slips: usize) -> bool {
    slips <= (plain(written).len() / 3).max(1)
}

/// "did you mean X?", or the nearest known one when it is hardly a slip.
pub fn suggestion<'a>(written: &str, candidates: impl Iterator<Item = &'a str>) -> String {
    match closest(written, candidates) {
        Some((name, slips)) if is_near(written, slips) => format!("did you mean {name}?"),
        Some((name, _)) => format!("the nearest known one is {name}"),
        None => "nothing is known here".to_owned(),
    }
}

/// The refusal of a key that `section` does not have: the nearest there, or a key of that name
/// elsewhere, because a key at the wrong depth is as common as a mistyped one.
pub fn unknown_key(section: &str, written: &str, keys: &[&str]) -> Refusal {
    if written == "<<" {
        return Refusal("merge keys are not supported; anchors and aliases are".to_owned());
    }
    let dot = if section.is_empty() { "" } else { "." };
    if let Some((name, slips)) = closest(written, keys.iter().copied())
        && is_near(written, slips)
    {
        return Refusal(format!("unknown key; did you mean {section}{dot}{name}?"));
    }
    let all = schema::keys();
    let last = |path: &str| {
        path.rsplit('.')
            .next()
            .map_or(0, |last| slips(&plain(written), last))
    };
    if let Some(key) = all.iter().min_by_key(|key| last(&key.path))
        && is_near(written, last(&key.path))
    {
        return Refusal(format!("unknown key; did you mean {}?", key.path));
    }
    let nearest = suggestion(written, keys.iter().copied());
    Refusal(format!(
        "unknown key; {}",
        nearest.replace("one is ", &format!("one is {section}{dot}"))
    ))
}
