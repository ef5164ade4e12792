//! One document, as text again: in block style, each scalar as it was written.

use super::node::{Body, Node, Style};

/// Writes a document, with a newline at its end.
pub fn emit(node: &Node) -> String {
    let mut text = String::new();
    match &node.body {
        Body::Scalar(..) => {
            scalar(node, 0, &mut text);
            text.push('\n');
        }
        _ if is_empty(node) => value(node, 0, &mut text),
        _ => collection(node, 0, Begin::Line, &mut text),
    }
    text
}

/// Where a collection's first entry goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Begin {
    /// On a line of its own.
    Line,
    /// Behind the dash that was just written.
    Dash,
}

fn collection(node: &Node, indent: usize, begin: Begin, text: &mut String) {
    let mut begin = begin;
    let mut lead = |text: &mut String| {
        if begin == Begin::Line {
            text.extend(std::iter::repeat_n(' ', indent));
        }
        begin = Begin::Line;
    };
    match &node.body {
        Body::Scalar(..) => {}
        Body::Sequence(items) => {
            for item in items {
                lead(text);
                text.push('-');
                match &item.body {
                    // A mapping or list with a tag begins below its dash.
                    Body::Mapping(_) | Body::Sequence(_) if !is_empty(item) && item.tag.is_none() => {
                        text.push(' ');
                        collection(item, indent + 2, Begin::Dash, text);
                    }
                    _ => value(item, indent + 2, text),
                }
            }
        }
        Body::Mapping(entries) => {
            for (key, item) in entries {
                lead(text);
                scalar(key, indent, text);
                text.push(':');
                value(item, indent + 2, text);
            }
        }
    }
}

/// What comes behind a colon or a dash, up to the end of the line and, for a collection, below.
fn value(node: &Node, indent: usize, text: &mut String) {
    match &node.body {
        Body::Scalar(content, style) => {
            if !content.is_empty() || *style != Style::Plain || node.tag.is_some() {
                text.push(' ');
                scalar(node, indent, text);
            }
            text.push('\n');
        }
        body => {
            if let Some(tag) = &node.tag {
                text.push(' ');
                text.push_str(tag);
            }
            if is_empty(node) {
                text.push_str(if matches!(body, Body::Mapping(_)) {
                    " {}"
                } else {
                    " []"
                });
            }
            text.push('\n');
            collection(node, indent, Begin::Line, text);
        }
    }
}

fn is_empty(node: &Node) -> bool {
    match &node.body {
        Body::Scalar(..) => false,
        Body::Sequence(items) => items.is_empty(),
        Body::Mapping(entries) => entries.is_empty(),
    }
}

fn scalar(node: &Node, indent: usize, text: &mut String) {
    let Body::Scalar(content, style) = &node.body else {
        return;
    };
    if let Some(tag) = &node.tag {
        text.push_str(tag);
        text.push(' ');
    }
    match style {
        Style::Plain if !content.contains('\n') => text.push_str(content),
        Style::Block if fits_a_block(content) && indent > 0 => block(content, indent, text),
        _ => quoted(content, text),
    }
}

/// Whether the text is the same when it is read out of a `|` block again.
fn fits_a_block(content: &str) -> bool {
    let printable = |letter: char| letter == '\n' || letter == '\t' || is_printable(letter);
    content.contains('\n')
        && !content.starts_with([' ', '\t', '\n'])
        && content.chars().all(printable)
        && !content
            .lines()
            .any(|line| !line.is_empty() && line.trim_start().is_empty())
}

fn block(content: &str, indent: usize, text: &mut String) {
    let (body, mark) = match content.strip_suffix('\n') {
        None => (content, "|-"),
        Some(body) if body.ends_with('\n') => (body, "|+"),
        Some(body) => (body, "|"),
    };
    text.push_str(mark);
    for line in body.split('\n') {
        text.push('\n');
        if !line.is_empty() {
            text.extend(std::iter::repeat_n(' ', indent));
            text.push_str(line);
        }
    }
}

fn quoted(content: &str, text: &mut String) {
    let simple = content.chars().all(is_printable);
    if simple && content.contains('"') && !content.contains('\'') {
        text.push('\'');
        text.push_str(content);
        text.push('\'');
        return;
    }
    text.push('"');
    for letter in content.chars() {
        match letter {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            '\r' => text.push_str("\\r"),
            letter if is_printable(letter) => text.push(letter),
            letter => text.push_str(&format!("\\U{:08X}", u32::from(letter))),
        }
    }
    text.push('"');
}

/// YAML 1.2, 5.1, without the line breaks that YAML 1.1 has besides.
fn is_printable(letter: char) -> bool {
    matches!(letter, ' '..='~' | '\u{a0}'..='\u{2027}' | '\u{202a}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}' | '\u{10000}'..)
}

#[cfg(test)]
mod tests {
    use super::super::load;
    use super::*;

    fn again(text: &str) -> String {
        emit(&load(text, 1).expect(text).expect("a document"))
    }

    #[test]
    fn what_is_written_bare_stays_bare_and_what_is_quoted_stays_quoted() {
        let text = "a: 0644\nb: \"0644\"\nc: off\nd: \"off\"\ne: 1e3\nf:\ng: \"\"\nh: ~\ni: '{\"a\": 1}'\n";
        assert_eq!(again(text), text);
    }

    #[test]
    fn blocks_stay_blocks_with_their_ends() {
        let text = "a: |\n  one\n\n    two\nb: |-\n  one\n  two\nc: |+\n  one\n\nd: 1\n";
        assert_eq!(again(text), text);
    }

    #[test]
    fn lists_of_lists_and_the_empty_are_written_so_that_they_read_the_same() {
        let text = "a:\n  - - 1\n    - 2\n  - {}\n  - b: 1\n    c: []\n  -\n";
        assert_eq!(again(text), text);
        assert_eq!(
            again("{a: [1, {b: [x, 'y: z']}], c: {}}"),
            "a:\n  - 1\n  - b:\n      - x\n      - \"y: z\"\nc: {}\n"
        );
    }

    #[test]
    fn aliases_and_merge_keys_are_written_out() {
        let text = "a: &x {p: 1, q: 2}\nb: *x\nc: {<<: *x, q: 3}\n";
        let out = again(text);
        assert_eq!(
            out,
            "a:\n  p: 1\n  q: 2\nb:\n  p: 1\n  q: 2\nc:\n  q: 3\n  p: 1\n"
        );
    }

    #[test]
    fn odd_texts_read_the_same_again() {
        for odd in [
            "\u{7f}x", "a\rb", " x\ny", "x\n \ny", "\n", "tab\tx\n", "'\"", "\u{feff}", "\\",
        ] {
            let node = Node::map([("k", Node::text(odd))]);
            let text = emit(&node);
            let read = load(&text, 1).expect(&text).expect("a document");
            assert_eq!(read.scalar_at("k"), Some(odd), "{text}");
            let value: serde_yaml::Value = serde_yaml::from_str(&text).expect(&text);
            assert_eq!(value["k"].as_str(), Some(odd), "{text}");
        }
    }

    #[test]
    fn aliases_of_aliases_end_and_so_does_depth() {
        let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..12 {
            let last = format!("*a{}", level - 1);
            bomb.push_str(&format!("a{level}: &a{level} [{}]\n", vec![last; 10].join(", ")));
        }
        assert!(
            load(&bomb, 1)
                .expect_err("too large")
                .why
                .contains("which no manifest has")
        );
        let deep = "[".repeat(5000);
        assert!(load(&deep, 1).is_err());
    }
}
