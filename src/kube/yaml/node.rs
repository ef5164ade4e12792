//! The tree, and the ways through it.

/// How a scalar was written, as far as it matters when it is written again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Bare: what it is depends on how it looks.
    Plain,
    /// In quotes of either kind: text.
    Quoted,
    /// `|` or `>`: text of several lines.
    Block,
}

/// What a node holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// A single value.
    Scalar(String, Style),
    /// A list.
    Sequence(Vec<Node>),
    /// Keys and values in the order they were written; each key once.
    Mapping(Vec<(Node, Node)>),
}

/// A value and where it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// What it holds.
    pub body: Body,
    /// `!!str` and the like, as it has to be written again.
    pub tag: Option<String>,
    /// The line in its file, from 1; 0 for what was not read from one.
    pub line: usize,
}

impl Node {
    /// A node that nobody wrote yet.
    pub fn new(body: Body) -> Self {
        Self {
            body,
            tag: None,
            line: 0,
        }
    }

    /// Text that cannot be taken for anything else.
    pub fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        let style = if text.contains('\n') {
            Style::Block
        } else if is_plainly_text(&text) {
            Style::Plain
        } else {
            Style::Quoted
        };
        Self::new(Body::Scalar(text, style))
    }

    /// A number, `true`, `false`: written bare.
    pub fn bare(value: impl ToString) -> Self {
        Self::new(Body::Scalar(value.to_string(), Style::Plain))
    }

    /// A list.
    pub fn list(items: impl IntoIterator<Item = Self>) -> Self {
        Self::new(Body::Sequence(items.into_iter().collect()))
    }

    /// A mapping.
    pub fn map<'a>(entries: impl IntoIterator<Item = (&'a str, Self)>) -> Self {
        let entries = entries.into_iter().map(|(key, value)| (Self::text(key), value));
        Self::new(Body::Mapping(entries.collect()))
    }

    /// The value of a key, unless it is not there or null.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entries()
            .iter()
            .find(|(name, _)| name.scalar() == Some(key))
            .map(|(_, value)| value)
            .filter(|value| !value.is_null())
    }

    /// The value along several keys.
    pub fn at(&self, keys: &[&str]) -> Option<&Self> {
        keys.iter().try_fold(self, |node, key| node.get(key))
    }

    /// The entries of a mapping; none of anything else.
    pub fn entries(&self) -> &[(Self, Self)] {
        match &self.body {
            Body::Mapping(entries) => entries,
            _ => &[],
        }
    }

    /// The items of a list; none of anything else.
    pub fn items(&self) -> &[Self] {
        match &self.body {
            Body::Sequence(items) => items,
            _ => &[],
        }
    }

    /// The items of the list at `key`.
    pub fn list_at(&self, key: &str) -> &[Self] {
        self.get(key).map_or(&[], Self::items)
    }

    /// A single value as it was written, whatever its type.
    pub fn scalar(&self) -> Option<&str> {
        match &self.body {
            Body::Scalar(text, _) => Some(text),
            _ => None,
        }
    }

    /// The single value at `key`.
    pub fn scalar_at(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Self::scalar)
    }

    /// A whole number, written bare.
    pub fn number(&self) -> Option<i64> {
        match &self.body {
            Body::Scalar(text, Style::Plain) => text.parse().ok(),
            _ => None,
        }
    }

    /// The whole number at `key`.
    pub fn number_at(&self, key: &str) -> Option<i64> {
        self.get(key).and_then(Self::number)
    }

    /// Whether `key` is `true`.
    pub fn is_true_at(&self, key: &str) -> bool {
        self.get(key)
            .is_some_and(|node| node.body == Body::Scalar("true".to_owned(), Style::Plain))
    }

    /// Whether nothing was written, or `null`.
    pub fn is_null(&self) -> bool {
        match &self.body {
            Body::Scalar(text, Style::Plain) if self.tag.is_none() => {
                matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL")
            }
            _ => false,
        }
    }

    /// The node at a path like `spec.containers[0].env`, or the nearest above it that is there.
    pub fn nearest(&self, path: &str) -> &Self {
        let mut node = self;
        for step in path.split('.').flat_map(|part| part.split('[')) {
            let next = match step.strip_suffix(']') {
                Some(index) => index
                    .parse()
                    .ok()
                    .and_then(|index: usize| node.items().get(index)),
                None => node.get(step),
            };
            match next {
                Some(next) => node = next,
                None => break,
            }
        }
        node
    }

    /// The value at `key`, made by `new` where there is none.
    pub fn entry(&mut self, key: &str, new: impl FnOnce() -> Self) -> &mut Self {
        if !matches!(self.body, Body::Mapping(_)) {
            self.body = Body::Mapping(Vec::new());
        }
        let Body::Mapping(entries) = &mut self.body else {
            unreachable!("it was just made one")
        };
        let index = match entries.iter().position(|(name, _)| name.scalar() == Some(key)) {
            Some(index) => {
                if entries[index].1.is_null() {
                    entries[index].1 = new();
                }
                index
            }
            None => {
                entries.push((Self::text(key), new()));
                entries.len() - 1
            }
        };
        &mut entries[index].1
    }

    /// The items of the list at `key`, which is made where there is none.
    pub fn list_entry(&mut self, key: &str) -> &mut Vec<Self> {
        let list = self.entry(key, || Self::list([]));
        if !matches!(list.body, Body::Sequence(_)) {
            list.body = Body::Sequence(Vec::new());
        }
        match &mut list.body {
            Body::Sequence(items) => items,
            _ => unreachable!("it was just made one"),
        }
    }

    /// Sets `key`, in its place if it is there.
    pub fn set(&mut self, key: &str, value: Self) {
        *self.entry(key, || Self::bare("null")) = value;
    }

    /// Sets `key` behind `other`, unless it is there already: then in its place.
    pub fn set_behind(&mut self, other: &str, key: &str, value: Self) {
        self.set(key, value);
        if let Body::Mapping(entries) = &mut self.body {
            let place = |name: &str| entries.iter().position(|(known, _)| known.scalar() == Some(name));
            if let (Some(from), Some(to)) = (place(key), place(other)) {
                let entry = entries.remove(from);
                entries.insert(if from > to { to + 1 } else { to }, entry);
            }
        }
    }

    /// Takes `key` out.
    pub fn remove(&mut self, key: &str) -> Option<Self> {
        let Body::Mapping(entries) = &mut self.body else {
            return None;
        };
        let index = entries.iter().position(|(name, _)| name.scalar() == Some(key))?;
        Some(entries.remove(index).1)
    }
}

/// Whether every reader of YAML, 1.1 or 1.2, takes the bare text for text.
fn is_plainly_text(text: &str) -> bool {
    let begins = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '/');
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/-_.+".contains(letter);
    let reserved = [
        "y", "n", "yes", "no", "on", "off", "true", "false", "null", "inf", "nan",
    ];
    begins && text.chars().all(plain) && !reserved.contains(&text.to_ascii_lowercase().as_str())
}
