//! A section of the config from one definition: its struct, its keys, how it is read, merged,
//! set by variables and listed. So none of these can drift from another.

use super::entry::{Entry, Form, Refusal};
use super::environment;

/// What has to hold of a section by itself, beyond its keys' types.
pub trait Shape {
    /// # Errors
    /// What is missing or too much.
    fn shape(&self) -> Result<(), Refusal> {
        Ok(())
    }
}

/// A required key of a list item.
pub fn required<T>(key: &str, value: &Option<T>) -> Result<(), Refusal> {
    match value {
        Some(_) => Ok(()),
        None => Err(Refusal(format!("{key} is missing"))),
    }
}

/// Exactly one of these keys is there.
pub fn exactly_one(keys: &[(&str, bool)]) -> Result<(), Refusal> {
    let given: Vec<&str> = keys
        .iter()
        .filter(|(_, there)| *there)
        .map(|(key, _)| *key)
        .collect();
    let known = || keys.iter().map(|(key, _)| *key).collect::<Vec<_>>().join(", ");
    match given[..] {
        [_] => Ok(()),
        [] => Err(Refusal(format!("says nothing; write one of {}", known()))),
        [..] => Err(Refusal(format!(
            "{} in one item; write an item for each",
            given.join(" and ")
        ))),
    }
}

/// Finds the key that a variable's `rest` names at or below `key` of the section at `path`.
pub fn find_below<T: Entry>(rest: &str, path: &mut String, key: &str) -> Option<Form> {
    let rest = environment::without_key(rest, key)?;
    let length = path.len();
    if length > 0 {
        path.push('.');
    }
    path.push_str(key);
    let found = T::find(rest, path);
    if found.is_none() {
        path.truncate(length);
    }
    found
}

/// Defines a section: `field: Type = "key"` for each key, every one optional.
macro_rules! section {
    ($(#[$meta:meta])* $name:ident { $($(#[$note:meta])* $field:ident: $kind:ty = $key:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default)]
        pub struct $name {
            $($(#[$note])* pub $field: Option<$kind>,)*
        }

        impl $name {
            const KEYS: &'static [&'static str] = &[$($key),*];
        }

        impl $crate::config::entry::Entry for $name {
            const EXPECTS: &'static str = "a mapping";

            fn mapping<'de, A: serde::de::MapAccess<'de>>(
                at: &$crate::config::reading::At<'_>,
                mut map: A,
            ) -> Result<Self, A::Error> {
                use $crate::config::reading::{KnownKeySeed, ValueSeed};
                use $crate::config::section::Shape as _;
                let mut section = Self::default();
                let mut seen = 0;
                while let Some(key) = map.next_key_seed(KnownKeySeed { at, keys: Self::KEYS, seen: &mut seen })? {
                    match key {
                        $(Some($key) => section.$field = map.next_value_seed(ValueSeed::new(at.key($key)))?,)*
                        _ => {
                            map.next_value::<serde::de::IgnoredAny>()?;
                        }
                    }
                }
                if !at.is_damaged() {
                    section.shape().map_err(|refusal| at.refuse(refusal))?;
                }
                Ok(section)
            }

            fn merge(&mut self, later: Self) {
                $(match (&mut self.$field, later.$field) {
                    (Some(earlier), Some(later)) => earlier.merge(later),
                    (earlier @ None, later) => *earlier = later,
                    (Some(_), None) => {}
                })*
            }

            fn assign(
                slot: &mut Option<Self>,
                steps: &[&str],
                text: &str,
            ) -> Result<(), $crate::config::entry::Refusal> {
                let section = slot.get_or_insert_default();
                match steps {
                    $([$key, rest @ ..] => $crate::config::entry::Entry::assign(&mut section.$field, rest, text),)*
                    _ => Err($crate::config::entry::Refusal("there is no such key".to_owned())),
                }
            }

            fn holds(&self, steps: &[&str]) -> bool {
                match steps {
                    [] => true,
                    $([$key, rest @ ..] => self.$field.as_ref().is_some_and(|value| value.holds(rest)),)*
                    _ => false,
                }
            }

            fn find(rest: &str, path: &mut String) -> Option<$crate::config::entry::Form> {
                None$(.or_else(|| $crate::config::section::find_below::<$kind>(rest, path, $key)))*
            }

            fn list(path: &str, keys: &mut Vec<$crate::config::entry::Key>) {
                let dot = if path.is_empty() { "" } else { "." };
                $(<$kind as $crate::config::entry::Entry>::list(&format!("{path}{dot}{}", $key), keys);)*
            }
        }
    };
}

pub(crate) use section;
