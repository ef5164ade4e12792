//! From the text of a selector to its tests: the part of a query between a name and its brace.

use super::error::QueryError;
use super::selector::{Selector, Test, anchored};
use super::token::{Token, Tokens};

/// A selector that begins at `start`, its bare name already taken.
pub(super) fn selector(
    tokens: &mut Tokens<'_>,
    name: Option<&str>,
    start: usize,
) -> Result<Selector, QueryError> {
    let mut parts = SelectorParts {
        name: name.map(str::to_owned),
        name_tests: Vec::new(),
        matchers: Vec::new(),
    };
    if tokens.take_if(&Token::OpenBrace)? {
        while !tokens.take_if(&Token::CloseBrace)? {
            part(tokens, &mut parts)?;
            if !tokens.take_if(&Token::Comma)? && tokens.peek() != &Token::CloseBrace {
                return Err(tokens.malformed(tokens.offset(), "`,` or `}` is expected in a selector"));
            }
        }
    }
    if parts.matches_everything() {
        return Err(tokens.malformed(
            start,
            "a selector needs a name or a matcher that does not match the empty string",
        ));
    }
    let text = tokens.text_since(start).to_owned();
    let SelectorParts {
        mut name,
        mut name_tests,
        matchers,
    } = parts;
    // {__name__="x"} is x: it gets the name, and the scanner its fast way.
    if name.is_none()
        && let Some(at) = name_tests.iter().position(|test| matches!(test, Test::Equal(_)))
        && let Test::Equal(exact) = name_tests.remove(at)
    {
        name = Some(exact);
    }
    Ok(Selector {
        text,
        name,
        name_tests,
        matchers,
    })
}

/// One entry between the braces: a quoted metric name, or a matcher.
fn part(tokens: &mut Tokens<'_>, parts: &mut SelectorParts) -> Result<(), QueryError> {
    let offset = tokens.offset();
    let label = match tokens.take()? {
        Token::Name(label) if !label.contains(':') => label,
        Token::Name(label) => {
            return Err(tokens.malformed(offset, format!("the label name `{label}` must be in quotes")));
        }
        Token::Text(text) if !at_matcher(tokens) => return quoted_name(tokens, text, parts, offset),
        Token::Text(label) => label,
        _ => return Err(tokens.malformed(offset, "a label name is expected here")),
    };
    let operator_offset = tokens.offset();
    let operator = tokens.take()?;
    let value_offset = tokens.offset();
    if !matches!(
        operator,
        Token::Equal | Token::NotEqual | Token::Matches | Token::NotMatches
    ) {
        return Err(tokens.malformed(
            operator_offset,
            "one of = != =~ !~ is expected after a label name",
        ));
    }
    let Token::Text(value) = tokens.take()? else {
        return Err(tokens.malformed(value_offset, "a value in quotes is expected here"));
    };
    let regex = |pattern: &str| anchored(pattern).map_err(|why| tokens.malformed(value_offset, why));
    let test = match operator {
        Token::Equal => Test::Equal(value),
        Token::NotEqual => Test::NotEqual(value),
        Token::Matches => Test::Matches(regex(&value)?),
        _ => Test::NotMatches(regex(&value)?),
    };
    if label != "__name__" {
        parts.matchers.push((label, test));
    } else if parts.name.is_some() {
        return Err(tokens.malformed(offset, "the metric name is given twice"));
    } else {
        parts.name_tests.push(test);
    }
    Ok(())
}

fn at_matcher(tokens: &Tokens<'_>) -> bool {
    matches!(
        tokens.peek(),
        Token::Equal | Token::NotEqual | Token::Matches | Token::NotMatches
    )
}

fn quoted_name(
    tokens: &Tokens<'_>,
    name: String,
    parts: &mut SelectorParts,
    offset: usize,
) -> Result<(), QueryError> {
    if parts.name.is_some() || !parts.name_tests.is_empty() {
        return Err(tokens.malformed(offset, "the metric name is given twice"));
    }
    if name.is_empty() {
        return Err(tokens.malformed(offset, "the metric name is empty"));
    }
    parts.name = Some(name);
    Ok(())
}

struct SelectorParts {
    name: Option<String>,
    name_tests: Vec<Test>,
    matchers: Vec<(String, Test)>,
}

impl SelectorParts {
    fn matches_everything(&self) -> bool {
        self.name.is_none()
            && self.name_tests.iter().all(|test| test.accepts(""))
            && self.matchers.iter().all(|(_, test)| test.accepts(""))
    }
}
