//! Files and standard input, and the documents in them.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::yaml::{LoadError, Node, load};

/// The most bytes of one input. It is read whole, so there has to be a most.
const MOST_BYTES: u64 = 32 << 20;

/// One file, or standard input.
#[derive(Clone, Debug)]
pub struct Source {
    /// What it is called in findings.
    pub name: String,
    /// All of it.
    pub text: String,
}

/// Why an input could not be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// Not as a file.
    #[error("{name}: {why}")]
    File {
        /// Which.
        name: String,
        /// What the system said.
        why: String,
    },
    /// Not as YAML.
    #[error("{name}:{}: document {document}: {}", .error.line, .error.why)]
    Yaml {
        /// Which.
        name: String,
        /// The document in it, from 1.
        document: usize,
        /// What is wrong.
        error: LoadError,
    },
}

impl Source {
    /// Reads a file, or standard input when it is called `-`.
    ///
    /// # Errors
    /// [`InputError::File`]: missing, not permitted, a directory, too large, or not UTF-8.
    pub fn read(path: &Path) -> Result<Self, InputError> {
        let name = match path.to_str() {
            Some("-") => "stdin".to_owned(),
            _ => path.to_string_lossy().escape_debug().to_string(),
        };
        match Self::text(path) {
            Ok(text) => Ok(Self { name, text }),
            Err(why) => Err(InputError::File { name, why }),
        }
    }

    fn text(path: &Path) -> Result<String, String> {
        let cannot = |error: io::Error| format!("cannot be read: {error}");
        let mut input: Box<dyn Read> = if path == Path::new("-") {
            Box::new(io::stdin())
        } else {
            let file = File::open(path).map_err(cannot)?;
            if file.metadata().map_err(cannot)?.is_dir() {
                return Err("is a directory; name the file in it".to_owned());
            }
            Box::new(file)
        };
        let mut bytes = Vec::new();
        let input = &mut input;
        input
            .take(MOST_BYTES + 1)
            .read_to_end(&mut bytes)
            .map_err(cannot)?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err("is larger than 32 MiB; give it in parts".to_owned());
        }
        String::from_utf8(bytes).map_err(|_| "is not UTF-8 text".to_owned())
    }

    /// Whether these are manifests, rather than settings of tidegate's own: some document says its
    /// `apiVersion` or `kind`. It is asked of the text, so that manifests that are not valid YAML are
    /// not taken for settings.
    pub fn is_manifests(&self) -> bool {
        let json = self.text.trim_start().starts_with('{');
        self.text.lines().any(|line| {
            let line = if json {
                line.trim_start().trim_start_matches('{').trim_start()
            } else {
                line
            };
            let line = line.trim_start_matches(['"', '\'']);
            ["apiVersion", "kind"].iter().any(|key| {
                let rest = line
                    .strip_prefix(key)
                    .map(|rest| rest.trim_start_matches(['"', '\'']).trim_start());
                rest.is_some_and(|rest| rest.starts_with(':'))
            })
        })
    }

    /// The documents, in their order; those that hold nothing but comments are `None` inside.
    ///
    /// # Errors
    /// [`InputError::Yaml`], the first.
    pub fn documents(&self) -> Result<Vec<Document<'_>>, InputError> {
        let mut documents = Vec::new();
        for (index, piece) in pieces(&self.text).into_iter().enumerate() {
            let node = load(piece.text, piece.first_line).map_err(|error| InputError::Yaml {
                name: self.name.clone(),
                document: index + 1,
                error,
            })?;
            documents.push(Document {
                number: index + 1,
                text: piece.text,
                node,
            });
        }
        Ok(documents)
    }
}

/// One document of an input.
#[derive(Clone, Debug)]
pub struct Document<'a> {
    /// From 1.
    pub number: usize,
    /// As it was written, its `---` included.
    pub text: &'a str,
    /// What it says, unless it says nothing.
    pub node: Option<Node>,
}

struct Piece<'a> {
    text: &'a str,
    first_line: usize,
}

/// `---` at the begin of a line begins a document wherever it stands, in a block of text too
/// (YAML 1.2, 9.1.2).
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut begins = vec![(0, 1)];
    let mut at = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let marks = line
            .strip_prefix("---")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']));
        if marks && says_something(&text[begins[begins.len() - 1].0..at]) {
            begins.push((at, index + 1));
        }
        at += line.len();
    }
    let ends = begins.iter().skip(1).map(|(begin, _)| *begin).chain([text.len()]);
    begins
        .iter()
        .zip(ends)
        .map(|((begin, first_line), end)| Piece {
            text: &text[*begin..end],
            first_line: *first_line,
        })
        .collect()
}

/// Whether there is more than comments and directives (`%YAML 1.2`), which belong to the document
/// behind them.
fn says_something(text: &str) -> bool {
    text.lines()
        .any(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#') && !line.starts_with('%'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source {
            name: "a.yaml".to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn documents_keep_their_lines_and_their_text() {
        let text = "# head\n---\na: 1\n---\n# only a comment\n---\nb: 2\n";
        let source = source(text);
        let documents = source.documents().expect("YAML");
        let texts: String = documents.iter().map(|document| document.text).collect();
        assert_eq!(texts, text);
        let lines: Vec<_> = documents
            .iter()
            .filter_map(|document| document.node.as_ref())
            .map(|node| node.get("b").map_or(0, |b| b.line))
            .collect();
        assert_eq!(lines.last(), Some(&7), "{documents:?}");
    }

    #[test]
    fn what_is_no_yaml_is_said_with_its_document_and_line() {
        let error = source("a: 1\n---\nb: [1\n")
            .documents()
            .expect_err("no YAML")
            .to_string();
        assert!(error.starts_with("a.yaml:"), "{error}");
        assert!(error.contains(": document 2: not valid YAML: "), "{error}");
        let error = source("a: 1\na: 2\n").documents().expect_err("twice").to_string();
        assert_eq!(error, "a.yaml:2: document 1: the key a twice; keep one");
    }

    #[test]
    fn manifests_are_told_from_settings() {
        for text in [
            "kind: Pod\n",
            "# x\napiVersion: v1\n",
            "{\"apiVersion\": \"v1\"}",
            "{\n  \"kind\" : \"List\"}",
            "\"apiVersion\": v1\n",
            "'kind': Pod\n",
        ] {
            assert!(source(text).is_manifests(), "{text}");
        }
        for text in ["", "drain: {quiet: 1s}\n", "kinds: 1\n"] {
            assert!(!source(text).is_manifests(), "{text}");
        }
    }
}
