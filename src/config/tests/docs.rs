//! docs/configuration.md is held against the schema: every key has its row, every row its key.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::entry::{Form, Key};
use crate::config::environment::name_of;
use crate::config::flags::FLAGS;
use crate::config::schema;

const DOC: &str = include_str!("../../../docs/configuration.md");

/// The keys, those of `hooks.onResume`'s items left out: they are the same as `hooks.onDrain`'s.
fn keys() -> Vec<Key> {
    let same = |key: &Key| key.path.starts_with("hooks.onResume[]");
    schema::keys().into_iter().filter(|key| !same(key)).collect()
}

/// The rows of the tables of keys: the key, and the other cells.
fn rows() -> BTreeMap<String, Vec<String>> {
    let mut rows = BTreeMap::new();
    for line in DOC.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<String> = line
            .trim_matches('|')
            .split(" | ")
            .map(|cell| cell.trim().to_owned())
            .collect();
        let key = cells[0].trim_matches('`').to_owned();
        assert!(rows.insert(key.clone(), cells).is_none(), "{key} has two rows");
    }
    rows
}

#[test]
fn every_key_has_its_row_and_every_row_its_key() {
    let documented: BTreeSet<String> = rows().into_keys().collect();
    let known: BTreeSet<String> = keys().into_iter().map(|key| key.path).collect();
    let missing: Vec<_> = known.difference(&documented).collect();
    let unknown: Vec<_> = documented.difference(&known).collect();
    assert!(
        missing.is_empty() && unknown.is_empty(),
        "without a row: {missing:?}; without a key: {unknown:?}"
    );
}

#[test]
fn every_row_names_its_variable_its_flag_and_its_version() {
    let rows = rows();
    for key in keys() {
        let row = rows[&key.path].join(" | ");
        if key.form == Form::Scalar && !key.path.contains("[]") {
            assert!(row.contains(&format!("`{}`", name_of(&key.path))), "{row}");
        }
        assert_eq!(rows[&key.path].last().map(String::as_str), Some("0.1"), "{row}");
    }
    for flag in FLAGS {
        let row = rows[&flag.path.replace("[0]", "[]")].join(" | ");
        assert!(row.contains(&format!("`--{}`", flag.long)), "{row}");
        assert!(row.contains(&format!("`{}`", flag.variable)), "{row}");
    }
}
