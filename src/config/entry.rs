//! How one thing the user wrote is read, laid over an earlier layer, set by a variable and listed:
//! the trait that every key's type has.

use std::fmt;

use serde::de::{MapAccess, SeqAccess};

use super::reading::{At, ValueSeed};

/// The most items any list holds.
pub const MOST_ITEMS: usize = 1000;

/// Why a value is refused, and what to write instead: one clause without the key, which the
/// caller knows. It never holds a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(pub String);

/// A value without parts, as it was written.
#[derive(Clone, Copy, Debug)]
pub enum Scalar<'a> {
    /// Text, or anything from a flag or variable.
    Text(&'a str),
    /// A YAML number, in decimal.
    Number(&'a str),
    /// A YAML `true` or `false`.
    Switch(bool),
}

/// What a key can be given as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One value, so that it has a `TIDEGATE_*` variable too.
    Scalar,
    /// A list or a free mapping: the config file or `TIDEGATE_CONFIG` only.
    List,
}

/// A key of the schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Its whole way, like `drain.quiet` or `inflight[].prometheus.url`.
    pub path: String,
    /// What it takes.
    pub form: Form,
}

/// The type of a key: how it is read, laid over an earlier layer, set by one variable or flag,
/// and listed.
pub trait Entry: Sized {
    /// What belongs here, after "expected": `a duration like 5s`.
    const EXPECTS: &'static str;

    /// Reads a value without parts.
    ///
    /// # Errors
    /// Why not, and what to write.
    fn scalar(written: Scalar<'_>) -> Result<Self, Refusal> {
        Err(Refusal::unexpected(Self::EXPECTS, &written.to_string()))
    }

    /// Reads a mapping.
    ///
    /// # Errors
    /// A marker; the refusal itself is noted in the document.
    fn mapping<'de, A: MapAccess<'de>>(at: &At<'_>, _: A) -> Result<Self, A::Error> {
        Err(at.refuse(Refusal::unexpected(Self::EXPECTS, "a mapping")))
    }

    /// Reads a list.
    ///
    /// # Errors
    /// A marker; the refusal itself is noted in the document.
    fn sequence<'de, A: SeqAccess<'de>>(at: &At<'_>, _: A) -> Result<Self, A::Error> {
        Err(at.refuse(Refusal::unexpected(Self::EXPECTS, "a list")))
    }

    /// Lays a later layer over this one: deep for mappings, else the later one replaces.
    fn merge(&mut self, later: Self) {
        *self = later;
    }

    /// Sets what lies at `steps` below this key from the text of a variable or flag.
    ///
    /// # Errors
    /// Why not, and what to write.
    fn assign(slot: &mut Option<Self>, steps: &[&str], text: &str) -> Result<(), Refusal> {
        match steps {
            [] => {
                *slot = Some(Self::scalar(Scalar::Text(text))?);
                Ok(())
            }
            [step, ..] => Err(Refusal(format!("there is no {step} in it"))),
        }
    }

    /// Whether something was written at `steps` below this key.
    fn holds(&self, steps: &[&str]) -> bool {
        steps.is_empty()
    }

    /// Finds the key at or below `path` whose variable goes on with `rest`; `path` is then its own.
    /// A single variable is found so without the names of all.
    fn find(rest: &str, _path: &mut String) -> Option<Form> {
        rest.is_empty().then_some(Form::Scalar)
    }

    /// Lists the keys at and below `path`.
    fn list(path: &str, keys: &mut Vec<Key>) {
        keys.push(Key {
            path: path.to_owned(),
            form: Form::Scalar,
        });
    }
}

impl Refusal {
    /// The same of what was written, with a word on `$(NAME)` where that is left in it: who wrote it expected a
    /// value there.
    pub fn of(self, written: &str) -> Self {
        if !written.contains("$(") {
            return self;
        }
        Self(format!(
            "{}; the kubelet alone replaces $(…), in the values of a pod's env, by a variable that stands before it there",
            self.0
        ))
    }

    /// "expected this, found that".
    pub fn unexpected(expects: &str, found: &str) -> Self {
        Self(format!("expected {expects}, found {found}"))
    }
}

impl Scalar<'_> {
    /// The text of it: numbers in decimal, switches as `true` and `false`.
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Number(text) => text,
            Self::Switch(true) => "true",
            Self::Switch(false) => "false",
        }
    }
}

impl fmt::Display for Scalar<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(&quoted(text)),
            Self::Number(text) => write!(f, "the number {text}"),
            Self::Switch(_) => f.write_str(self.text()),
        }
    }
}

/// What the user wrote, in quotes, on one line and not endless.
pub fn quoted(text: &str) -> String {
    const MOST: usize = 60;
    let shown: String = text.chars().take(MOST).flat_map(char::escape_debug).collect();
    let more = if text.chars().nth(MOST).is_some() {
        "…"
    } else {
        ""
    };
    format!("\"{shown}{more}\"")
}

/// A list: a later layer replaces it whole.
impl<T: Entry> Entry for Vec<T> {
    const EXPECTS: &'static str = "a list";

    fn sequence<'de, A: SeqAccess<'de>>(at: &At<'_>, mut list: A) -> Result<Self, A::Error> {
        let mut items = Self::new();
        let mut index = 0;
        loop {
            let place = at.item(index);
            match list.next_element_seed(ValueSeed::<T>::new(place))? {
                None => return Ok(items),
                Some(None) if place.is_passed_over() => {}
                Some(None) => return Err(place.refuse(Refusal::unexpected(T::EXPECTS, "nothing"))),
                Some(Some(_)) if index == MOST_ITEMS => {
                    return Err(place.refuse(Refusal(format!("more than {MOST_ITEMS} items"))));
                }
                Some(Some(item)) => items.push(item),
            }
            index += 1;
        }
    }

    fn assign(slot: &mut Option<Self>, steps: &[&str], text: &str) -> Result<(), Refusal> {
        // Only the in-flight flags reach into a list, always for its first item.
        let [_, rest @ ..] = steps else {
            return Err(Refusal(
                "a list is not set by one variable; write it in the config file or TIDEGATE_CONFIG"
                    .to_owned(),
            ));
        };
        let items = slot.get_or_insert_default();
        let mut first = items.pop();
        T::assign(&mut first, rest, text)?;
        items.extend(first);
        Ok(())
    }

    fn holds(&self, steps: &[&str]) -> bool {
        match steps {
            [] => true,
            [step, rest @ ..] => {
                let index = step.trim_matches(['[', ']']).parse::<usize>();
                index.is_ok_and(|index| self.get(index).is_some_and(|item| item.holds(rest)))
            }
        }
    }

    fn find(rest: &str, _path: &mut String) -> Option<Form> {
        rest.is_empty().then_some(Form::List)
    }

    fn list(path: &str, keys: &mut Vec<Key>) {
        keys.push(Key {
            path: path.to_owned(),
            form: Form::List,
        });
        let first = keys.len();
        T::list(&format!("{path}[]"), keys);
        // The item itself is no key of its own.
        if keys.get(first).is_some_and(|key| key.path.ends_with("[]")) {
            keys.remove(first);
        }
    }
}
