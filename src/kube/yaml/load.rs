//! One document, from its text.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, Tag};

use super::node::{Body, Node, Style};

/// Deeper than any manifest, and shallow enough for the functions that walk it.
const DEEPEST: usize = 100;

/// Aliases that repeat aliases grow beyond all bounds; no manifest has so many values.
const MOST_NODES: usize = 500_000;

/// Why a document could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct LoadError {
    /// The line in the file, from 1.
    pub line: usize,
    /// What is wrong there.
    pub why: String,
}

/// Reads the one document in `text`, whose first line is line `first_line` of its file. Nothing
/// in it is `None`.
///
/// # Errors
/// What is no YAML, a key twice, a key that is no word, and what is too deep or too large.
pub fn load(text: &str, first_line: usize) -> Result<Option<Node>, LoadError> {
    let mut loader = Loader {
        before: first_line.saturating_sub(1),
        ..Loader::default()
    };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| loader.scan(&error))?;
        loader.take(event, span)?;
    }
    Ok(loader.root)
}

/// A collection that is not at its end yet.
struct Open {
    node: Node,
    anchor: usize,
    /// A mapping's key that waits for its value.
    key: Option<Node>,
}

#[derive(Default)]
struct Loader {
    before: usize,
    open: Vec<Open>,
    anchors: HashMap<usize, (Node, usize)>,
    nodes: usize,
    root: Option<Node>,
}

impl Loader {
    fn scan(&self, error: &ScanError) -> LoadError {
        self.error(error.marker().line(), format!("not valid YAML: {}", error.info()))
    }

    fn error(&self, line: usize, why: String) -> LoadError {
        LoadError {
            line: self.before + line,
            why,
        }
    }

    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), LoadError> {
        let line = span.start.line();
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let style = match style {
                    ScalarStyle::Plain => Style::Plain,
                    ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => Style::Quoted,
                    ScalarStyle::Literal | ScalarStyle::Folded => Style::Block,
                };
                let node = self.node(Body::Scalar(text.into_owned(), style), tag.as_deref(), line);
                self.remember(anchor, &node);
                self.place(node, line)
            }
            Event::SequenceStart(anchor, tag) => {
                self.begin(Body::Sequence(Vec::new()), anchor, tag.as_deref(), line)
            }
            Event::MappingStart(anchor, tag) => {
                self.begin(Body::Mapping(Vec::new()), anchor, tag.as_deref(), line)
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(open) => {
                    let mut node = open.node;
                    merge(&mut node);
                    self.remember(open.anchor, &node);
                    self.place(node, line)
                }
                None => Ok(()),
            },
            Event::Alias(anchor) => {
                let Some((node, size)) = self.anchors.get(&anchor).cloned() else {
                    return Err(self.error(line, "an alias of what is not there (yet)".to_owned()));
                };
                self.nodes += size;
                self.place(node, line)
            }
            Event::DocumentStart(_) if self.root.is_some() => {
                Err(self.error(line, "more than one document after one ---".to_owned()))
            }
            _ => Ok(()),
        }
    }

    fn node(&self, body: Body, tag: Option<&Tag>, line: usize) -> Node {
        Node {
            body,
            tag: tag.map(written),
            line: self.before + line,
        }
    }

    fn begin(&mut self, body: Body, anchor: usize, tag: Option<&Tag>, line: usize) -> Result<(), LoadError> {
        if self.open.len() == DEEPEST {
            return Err(self.error(
                line,
                format!("deeper than {DEEPEST} levels, which no manifest is"),
            ));
        }
        let node = self.node(body, tag, line);
        self.open.push(Open {
            node,
            anchor,
            key: None,
        });
        Ok(())
    }

    /// Anchors are numbered from 1; 0 is none.
    fn remember(&mut self, anchor: usize, node: &Node) {
        if anchor > 0 {
            self.anchors.insert(anchor, (node.clone(), size(node)));
        }
    }

    fn place(&mut self, node: Node, line: usize) -> Result<(), LoadError> {
        self.nodes += 1;
        if self.nodes > MOST_NODES {
            return Err(self.error(
                line,
                format!("more than {MOST_NODES} values, which no manifest has"),
            ));
        }
        let before = self.before;
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        let refused = |why: String| {
            Err(LoadError {
                line: before + line,
                why,
            })
        };
        match &mut open.node.body {
            Body::Sequence(items) => items.push(node),
            Body::Mapping(entries) => match open.key.take() {
                Some(key) => entries.push((key, node)),
                None => {
                    let Some(name) = node.scalar() else {
                        return refused("a key has to be a word".to_owned());
                    };
                    if entries.iter().any(|(key, _)| key.scalar() == Some(name)) {
                        return refused(format!("the key {} twice; keep one", name.escape_debug()));
                    }
                    open.key = Some(node);
                }
            },
            Body::Scalar(..) => {}
        }
        Ok(())
    }
}

/// `<<: *other`: what the mapping does not say itself it takes from the other (YAML 1.1, which
/// Kubernetes reads).
fn merge(node: &mut Node) {
    let Body::Mapping(entries) = &mut node.body else {
        return;
    };
    let is_merge = |(key, _): &(Node, Node)| key.body == Body::Scalar("<<".to_owned(), Style::Plain);
    let Some(index) = entries.iter().position(is_merge) else {
        return;
    };
    let (_, from) = entries.remove(index);
    let sources = match from.body {
        Body::Sequence(items) => items,
        _ => vec![from],
    };
    for (key, value) in sources.into_iter().flat_map(|source| source.entries().to_vec()) {
        if !entries.iter().any(|(known, _)| known.scalar() == key.scalar()) {
            entries.push((key, value));
        }
    }
}

fn size(node: &Node) -> usize {
    let below: usize = match &node.body {
        Body::Scalar(..) => 0,
        Body::Sequence(items) => items.iter().map(size).sum(),
        Body::Mapping(entries) => entries.iter().map(|(_, value)| 1 + size(value)).sum(),
    };
    1 + below
}

fn written(tag: &Tag) -> String {
    match tag.handle.as_str() {
        "tag:yaml.org,2002:" => format!("!!{}", tag.suffix),
        "!" => format!("!{}", tag.suffix),
        handle => format!("!<{handle}{}>", tag.suffix),
    }
}
