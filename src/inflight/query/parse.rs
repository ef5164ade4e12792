//! From the text of a query to its steps.
//!
//! Recursive descent over PromQL's precedence: unary minus, then `*` and `/`, then `+` and `-`,
//! all from the left.

use super::error::QueryError;
use super::program::{Aggregation, Query, Step};
use super::selector::Selector;
use super::selector_parse::selector;
use super::token::{Token, Tokens};

/// How deep parentheses may nest: the parser recurses with them, and its stack is bounded.
const MAX_NESTING: usize = 64;

impl Query {
    /// Reads a query.
    ///
    /// # Errors
    ///
    /// Whatever is not in the subset, with its column and what the subset is.
    pub fn parse(source: &str) -> Result<Self, QueryError> {
        let mut parser = Parser {
            tokens: Tokens::new(source)?,
            steps: Vec::new(),
            selectors: Vec::new(),
            nesting: 0,
        };
        parser.expression()?;
        parser.nothing_follows()?;
        if parser.selectors.is_empty() {
            return Err(parser.tokens.malformed(0, "the query reads no metric"));
        }
        Ok(Self {
            source: source.to_owned(),
            steps: parser.steps,
            selectors: parser.selectors,
        })
    }
}

struct Parser<'s> {
    tokens: Tokens<'s>,
    steps: Vec<Step>,
    selectors: Vec<Selector>,
    nesting: usize,
}

impl Parser<'_> {
    fn expression(&mut self) -> Result<(), QueryError> {
        self.product()?;
        loop {
            let step = match self.tokens.peek() {
                Token::Plus => Step::Add,
                Token::Minus => Step::Subtract,
                _ => return Ok(()),
            };
            self.operator()?;
            self.product()?;
            self.steps.push(step);
        }
    }

    fn product(&mut self) -> Result<(), QueryError> {
        self.unary()?;
        loop {
            let step = match self.tokens.peek() {
                Token::Times => Step::Multiply,
                Token::Divide => Step::Divide,
                _ => return Ok(()),
            };
            self.operator()?;
            self.unary()?;
            self.steps.push(step);
        }
    }

    /// Takes a binary operator and refuses the modifiers PromQL allows after one.
    fn operator(&mut self) -> Result<(), QueryError> {
        self.tokens.take()?;
        if let Token::Name(word) = self.tokens.peek()
            && ["on", "ignoring", "bool", "group_left", "group_right"]
                .contains(&word.to_ascii_lowercase().as_str())
        {
            return Err(self
                .tokens
                .not_supported(self.tokens.offset(), format!("matching with `{word}`")));
        }
        Ok(())
    }

    fn unary(&mut self) -> Result<(), QueryError> {
        let mut negative = false;
        loop {
            match self.tokens.peek() {
                Token::Minus => negative = !negative,
                Token::Plus => {}
                _ => break,
            }
            self.tokens.take()?;
        }
        self.primary()?;
        if negative {
            self.steps.push(Step::Negate);
        }
        Ok(())
    }

    fn primary(&mut self) -> Result<(), QueryError> {
        let offset = self.tokens.offset();
        match self.tokens.peek().clone() {
            Token::Number(number) => {
                self.tokens.take()?;
                self.steps.push(Step::Number(number));
                Ok(())
            }
            Token::OpenParen => {
                self.open()?;
                self.expression()?;
                self.close()
            }
            Token::Name(name) => {
                self.tokens.take()?;
                self.named(&name, offset)
            }
            Token::OpenBrace => {
                let selector = selector(&mut self.tokens, None, offset)?;
                self.read(selector, Aggregation::Single);
                Ok(())
            }
            Token::Text(_) => Err(self.tokens.malformed(
                offset,
                "a string is not a number; a quoted metric name stands in braces: {\"name\"}",
            )),
            Token::End => Err(self
                .tokens
                .malformed(offset, "the query ends where a metric or a number is expected")),
            _ => Err(self
                .tokens
                .malformed(offset, "a metric or a number is expected here")),
        }
    }

    /// What begins with a name: an aggregation, or a selector.
    fn named(&mut self, name: &str, offset: usize) -> Result<(), QueryError> {
        let lower = name.to_ascii_lowercase();
        let aggregation = match lower.as_str() {
            "sum" => Some(Aggregation::Sum),
            "min" => Some(Aggregation::Min),
            "max" => Some(Aggregation::Max),
            "count" => Some(Aggregation::Count),
            "avg" => Some(Aggregation::Avg),
            // To PromQL these are numbers, never metrics.
            "inf" | "nan" => {
                return Err(self
                    .tokens
                    .malformed(offset, format!("`{name}` is never a number of calls")));
            }
            _ => None,
        };
        match (self.tokens.peek(), aggregation) {
            (Token::OpenParen, Some(aggregation)) => self.aggregate(name, aggregation),
            (Token::OpenParen, None) => Err(self.tokens.not_supported(offset, format!("`{name}()`"))),
            (Token::Name(word), _) if is_grouping(word) => Err(self
                .tokens
                .not_supported(self.tokens.offset(), format!("grouping (`{name} {word}`)"))),
            _ => {
                let selector = selector(&mut self.tokens, Some(name), offset)?;
                self.read(selector, Aggregation::Single);
                Ok(())
            }
        }
    }

    fn aggregate(&mut self, name: &str, aggregation: Aggregation) -> Result<(), QueryError> {
        let before = self.nesting;
        while self.tokens.peek() == &Token::OpenParen {
            self.open()?;
        }
        let offset = self.tokens.offset();
        let arithmetic =
            format!("`{name}()` of anything but a selector (instead of sum(a - b) write sum(a) - sum(b))");
        let metric = match self.tokens.peek().clone() {
            Token::OpenBrace => None,
            Token::Name(metric) => {
                self.tokens.take()?;
                if self.tokens.peek() == &Token::OpenParen {
                    return Err(self
                        .tokens
                        .not_supported(offset, format!("`{metric}()` inside `{name}()`")));
                }
                Some(metric)
            }
            Token::End | Token::CloseParen => {
                return Err(self
                    .tokens
                    .malformed(offset, format!("`{name}()` needs a selector")));
            }
            _ => return Err(self.tokens.not_supported(offset, arithmetic)),
        };
        let selector = selector(&mut self.tokens, metric.as_deref(), offset)?;
        self.read(selector, aggregation);
        while self.nesting > before {
            if let Token::Plus | Token::Minus | Token::Times | Token::Divide = self.tokens.peek() {
                return Err(self.tokens.not_supported(self.tokens.offset(), arithmetic));
            }
            self.close()?;
        }
        match self.tokens.peek() {
            Token::Name(word) if is_grouping(word) => Err(self
                .tokens
                .not_supported(self.tokens.offset(), format!("grouping (`{name}() {word}`)"))),
            _ => Ok(()),
        }
    }

    fn open(&mut self) -> Result<(), QueryError> {
        if self.nesting == MAX_NESTING {
            let what = format!("nesting deeper than {MAX_NESTING} parentheses");
            return Err(self.tokens.not_supported(self.tokens.offset(), what));
        }
        self.nesting += 1;
        self.tokens.take()?;
        Ok(())
    }

    fn close(&mut self) -> Result<(), QueryError> {
        let offset = self.tokens.offset();
        if self.tokens.take_if(&Token::CloseParen)? {
            self.nesting -= 1;
            return Ok(());
        }
        match self.tokens.peek() {
            Token::End => Err(self.tokens.malformed(offset, "a parenthesis is not closed")),
            _ => self.unexpected(),
        }
    }

    fn nothing_follows(&self) -> Result<(), QueryError> {
        if self.tokens.peek() == &Token::End {
            Ok(())
        } else {
            self.unexpected()
        }
    }

    /// Names what stands where the expression should go on or end.
    fn unexpected(&self) -> Result<(), QueryError> {
        let offset = self.tokens.offset();
        Err(match self.tokens.peek() {
            Token::Name(word) => match word.to_ascii_lowercase().as_str() {
                "and" | "or" | "unless" | "atan2" => self
                    .tokens
                    .not_supported(offset, format!("the operator `{word}`")),
                "offset" | "smoothed" | "anchored" => self
                    .tokens
                    .not_supported(offset, format!("the `{word}` modifier")),
                "by" | "without" => self.tokens.not_supported(offset, format!("grouping (`{word}`)")),
                _ => self
                    .tokens
                    .malformed(offset, format!("an operator is expected before `{word}`")),
            },
            Token::NotEqual => self.tokens.not_supported(offset, "a comparison"),
            Token::CloseParen => self.tokens.malformed(offset, "this parenthesis was never opened"),
            _ => self.tokens.malformed(offset, "an operator is expected here"),
        })
    }

    fn read(&mut self, selector: Selector, aggregation: Aggregation) {
        self.steps.push(Step::Read {
            selector: self.selectors.len(),
            aggregation,
        });
        self.selectors.push(selector);
    }
}

fn is_grouping(word: &str) -> bool {
    word.eq_ignore_ascii_case("by") || word.eq_ignore_ascii_case("without")
}
