//! The words of a query, one at a time, so that the first thing wrong is the thing reported.

use super::error::QueryError;
use super::literal;

/// One word of a query.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A metric, label, function or keyword.
    Name(String),
    /// A string literal, unquoted.
    Text(String),
    Number(f64),
    OpenParen,
    CloseParen,
    OpenBrace,
    CloseBrace,
    Comma,
    Plus,
    Minus,
    Times,
    Divide,
    Equal,
    NotEqual,
    Matches,
    NotMatches,
    End,
}

/// A cursor over the words of a query.
pub(super) struct Tokens<'s> {
    source: &'s str,
    /// Where the word that `peek` gives begins, in bytes.
    start: usize,
    /// Where it ends.
    end: usize,
    /// Where the word before it ended.
    last_end: usize,
    current: Token,
}

impl<'s> Tokens<'s> {
    pub fn new(source: &'s str) -> Result<Self, QueryError> {
        let mut tokens = Self {
            source,
            start: 0,
            end: 0,
            last_end: 0,
            current: Token::End,
        };
        tokens.advance()?;
        Ok(tokens)
    }

    /// The word at hand.
    pub fn peek(&self) -> &Token {
        &self.current
    }

    /// Where the word at hand begins, in bytes.
    pub fn offset(&self) -> usize {
        self.start
    }

    /// The query's text from `start` to the end of the last word taken.
    pub fn text_since(&self, start: usize) -> &'s str {
        self.source.get(start..self.last_end).unwrap_or_default()
    }

    /// Takes the word at hand and reads the next.
    pub fn take(&mut self) -> Result<Token, QueryError> {
        let taken = self.current.clone();
        self.advance()?;
        Ok(taken)
    }

    /// Takes the word at hand if it is `wanted`.
    pub fn take_if(&mut self, wanted: &Token) -> Result<bool, QueryError> {
        let there = self.current == *wanted;
        if there {
            self.advance()?;
        }
        Ok(there)
    }

    /// An error at byte `offset`: PromQL, but outside the subset.
    pub fn not_supported(&self, offset: usize, what: impl Into<String>) -> QueryError {
        QueryError::not_supported(self.source, offset, what)
    }

    /// An error at byte `offset`: not PromQL, or no number of calls.
    pub fn malformed(&self, offset: usize, what: impl Into<String>) -> QueryError {
        QueryError::malformed(self.source, offset, what)
    }

    fn advance(&mut self) -> Result<(), QueryError> {
        self.last_end = self.end;
        self.skip_blanks_and_comments();
        let (token, length) = self.read(&self.source[self.start..])?;
        self.current = token;
        self.end = self.start + length;
        Ok(())
    }

    fn skip_blanks_and_comments(&mut self) {
        let mut rest = &self.source[self.end..];
        loop {
            rest = rest.trim_start_matches([' ', '\t', '\n', '\r']);
            if !rest.starts_with('#') {
                break;
            }
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
        }
        self.start = self.source.len() - rest.len();
    }

    fn read(&self, rest: &str) -> Result<(Token, usize), QueryError> {
        let mut chars = rest.chars();
        let Some(first) = chars.next() else {
            return Ok((Token::End, 0));
        };
        let second = chars.next();
        let single = |token| Ok((token, 1));
        match (first, second) {
            ('(', _) => single(Token::OpenParen),
            (')', _) => single(Token::CloseParen),
            ('{', _) => single(Token::OpenBrace),
            ('}', _) => single(Token::CloseBrace),
            (',', _) => single(Token::Comma),
            ('+', _) => single(Token::Plus),
            ('-', _) => single(Token::Minus),
            ('*', _) => single(Token::Times),
            ('/', _) => single(Token::Divide),
            ('=', Some('~')) => Ok((Token::Matches, 2)),
            ('!', Some('~')) => Ok((Token::NotMatches, 2)),
            ('!', Some('=')) => Ok((Token::NotEqual, 2)),
            ('=', Some('=')) | ('<' | '>', _) => Err(self.not_supported(self.start, "a comparison")),
            ('=', _) => single(Token::Equal),
            ('%' | '^', _) => Err(self.not_supported(self.start, format!("the operator `{first}`"))),
            ('[', _) => Err(self.not_supported(self.start, "a range or subquery `[…]`")),
            ('@', _) => Err(self.not_supported(self.start, "the `@` modifier")),
            ('"' | '\'' | '`', _) => self.literal(literal::string(rest).map(|(text, length)| (Token::Text(text), length))),
            _ if first.is_ascii_digit() || (first == '.' && second.is_some_and(|c| c.is_ascii_digit())) => {
                self.literal(literal::number(rest).map(|(number, length)| (Token::Number(number), length)))
            }
            _ if first.is_ascii_alphabetic() || first == '_' || first == ':' => {
                let length = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':')).unwrap_or(rest.len());
                Ok((Token::Name(rest[..length].to_owned()), length))
            }
            _ => Err(self.malformed(
                self.start,
                format!("`{}` is unexpected (a name with other characters than letters, digits, _ and : is written in quotes, in braces)", first.escape_debug()),
            )),
        }
    }

    fn literal(
        &self,
        read: Result<(Token, usize), literal::BadLiteral>,
    ) -> Result<(Token, usize), QueryError> {
        read.map_err(|bad| self.malformed(self.start + bad.offset, bad.why))
    }
}
