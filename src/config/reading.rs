//! The walk through a YAML document that names the place of whatever it refuses.
//!
//! serde's own derive says "unknown field `x`, expected one of …" without the way there. Here the
//! way is carried along, so that a refusal names its whole key, and the YAML reader adds the line.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::marker::PhantomData;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

use super::entry::{Entry, Refusal, Scalar};
use super::nearest;

/// The most text one document says, in bytes, once its aliases are written out: a small file of
/// anchors must not become gigabytes.
const MOST_TEXT: usize = 4 << 20;

/// A place in a document: the way from its root.
#[derive(Clone, Copy)]
pub struct At<'a> {
    parent: Option<&'a At<'a>>,
    step: Step<'a>,
    notes: &'a Notes,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    Key(&'a str),
    Item(usize),
}

/// What is noted while one document is read.
pub struct Notes {
    refused: RefCell<Option<(String, Refusal)>>,
    passed_over: Vec<String>,
    text_left: Cell<usize>,
}

impl Notes {
    /// Notes for a reading that passes over what lies at these keys, because it was refused before.
    pub fn passing_over(keys: Vec<String>) -> Self {
        Self {
            refused: RefCell::new(None),
            passed_over: keys,
            text_left: Cell::new(MOST_TEXT),
        }
    }

    /// The key that ended the reading and why, when it was one of ours.
    pub fn take(&self) -> Option<(String, Refusal)> {
        self.refused.borrow_mut().take()
    }

    /// The place where a document begins.
    pub fn root(&self) -> At<'_> {
        At {
            parent: None,
            step: Step::Root,
            notes: self,
        }
    }
}

impl At<'_> {
    /// The place of `key` in the mapping here.
    pub fn key<'b>(&'b self, key: &'b str) -> At<'b> {
        At {
            parent: Some(self),
            step: Step::Key(key),
            notes: self.notes,
        }
    }

    /// The place of an item in the list here, counted from 0.
    pub fn item(&self, index: usize) -> At<'_> {
        At {
            parent: Some(self),
            step: Step::Item(index),
            notes: self.notes,
        }
    }

    /// Notes the refusal and this place, and gives the error that ends the reading.
    pub fn refuse<E: Error>(&self, refusal: Refusal) -> E {
        *self.notes.refused.borrow_mut() = Some((self.to_string(), refusal));
        E::custom("refused")
    }

    /// Whether this place was refused in an earlier reading.
    pub fn is_passed_over(&self) -> bool {
        !self.notes.passed_over.is_empty() && self.notes.passed_over.contains(&self.to_string())
    }

    /// Whether something below this place was passed over, so that nothing can be said of the whole.
    pub fn is_damaged(&self) -> bool {
        let whole = self.to_string();
        let below = |key: &String| {
            key.strip_prefix(&whole)
                .is_some_and(|rest| rest.starts_with(['.', '[']))
        };
        !self.notes.passed_over.is_empty() && self.notes.passed_over.iter().any(below)
    }

    /// Counts text read against the document's limit.
    fn count<E: Error>(&self, text: &str) -> Result<(), E> {
        let left = self.notes.text_left.get().checked_sub(text.len() + 16);
        let left = left.ok_or_else(|| {
            self.refuse(Refusal(
                "too much text once aliases are written out; repeat less".to_owned(),
            ))
        })?;
        self.notes.text_left.set(left);
        Ok(())
    }
}

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match self.step {
            Step::Root => Ok(()),
            Step::Item(index) => write!(f, "[{index}]"),
            Step::Key(key) if matches!(self.parent, Some(At { step: Step::Root, .. })) => f.write_str(key),
            Step::Key(key) => write!(f, ".{key}"),
        }
    }
}

/// Reads a value at a place; YAML's `null`, or nothing, is nothing said.
pub struct ValueSeed<'a, T> {
    at: At<'a>,
    kind: PhantomData<T>,
}

impl<'a, T: Entry> ValueSeed<'a, T> {
    /// Reads a `T` at this place.
    pub fn new(at: At<'a>) -> Self {
        Self {
            at,
            kind: PhantomData,
        }
    }
}

impl<'de, T: Entry> DeserializeSeed<'de> for ValueSeed<'_, T> {
    type Value = Option<T>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        if self.at.is_passed_over() {
            return deserializer.deserialize_ignored_any(IgnoredAny).map(|_| None);
        }
        deserializer.deserialize_any(self)
    }
}

impl<T: Entry> ValueSeed<'_, T> {
    fn scalar<E: Error>(&self, written: Scalar<'_>) -> Result<Option<T>, E> {
        self.at.count(written.text())?;
        T::scalar(written)
            .map(Some)
            .map_err(|refusal| self.at.refuse(refusal.of(written.text())))
    }
}

impl<'de, T: Entry> Visitor<'de> for ValueSeed<'_, T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTS)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        self.scalar(Scalar::Switch(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        self.scalar(Scalar::Number(&value.to_string()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
        self.scalar(Scalar::Number(&value.to_string()))
    }

    fn visit_i128<E: Error>(self, value: i128) -> Result<Self::Value, E> {
        self.scalar(Scalar::Number(&value.to_string()))
    }

    fn visit_u128<E: Error>(self, value: u128) -> Result<Self::Value, E> {
        self.scalar(Scalar::Number(&value.to_string()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Self::Value, E> {
        self.scalar(Scalar::Number(&value.to_string()))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
        self.scalar(Scalar::Text(value))
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::mapping(&self.at, map).map(Some)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        T::sequence(&self.at, list).map(Some)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, _: A) -> Result<Self::Value, A::Error> {
        Err(self.at.refuse(Refusal(
            "YAML tags like !this mean nothing here; leave it out".to_owned(),
        )))
    }
}

/// Reads a key of any mapping as text.
pub struct KeySeed<'a>(pub &'a At<'a>);

impl<'de> DeserializeSeed<'de> for KeySeed<'_> {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for KeySeed<'_> {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key, which is a word")
    }

    fn visit_borrowed_str<E: Error>(self, key: &'de str) -> Result<Self::Value, E> {
        self.0.count(key)?;
        Ok(Cow::Borrowed(key))
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Self::Value, E> {
        self.0.count(key)?;
        Ok(Cow::Owned(key.to_owned()))
    }
}

/// Reads a key of a section: one of those it has, and each once.
pub struct KnownKeySeed<'a> {
    /// The section's place.
    pub at: &'a At<'a>,
    /// The keys it has.
    pub keys: &'static [&'static str],
    /// Those already read, one bit each.
    pub seen: &'a mut u64,
}

impl<'de> DeserializeSeed<'de> for KnownKeySeed<'_> {
    /// Which of the keys; nothing when it is passed over.
    type Value = Option<&'static str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for KnownKeySeed<'_> {
    type Value = Option<&'static str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key, which is a word")
    }

    fn visit_str<E: Error>(self, written: &str) -> Result<Self::Value, E> {
        self.at.count(written)?;
        let place = self.at.key(written);
        if place.is_passed_over() {
            return Ok(None);
        }
        let Some(index) = self.keys.iter().position(|key| *key == written) else {
            return Err(place.refuse(nearest::unknown_key(&self.at.to_string(), written, self.keys)));
        };
        let bit = 1 << index;
        if *self.seen & bit != 0 {
            return Err(place.refuse(Refusal("written twice; keep one".to_owned())));
        }
        *self.seen |= bit;
        Ok(Some(self.keys[index]))
    }
}
