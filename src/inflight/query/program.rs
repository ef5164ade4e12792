//! A query as a list of steps, and what it gives for one poll's tallies.
//!
//! Steps in postfix order rather than a tree: nothing recurses, however long a query is.

use super::selector::Selector;
use super::tally::Tally;
use crate::inflight::Unknown;

/// What a selector that matches no series means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Absent {
    /// The number of calls is unknown: a renamed metric must not look like an idle program.
    #[default]
    Unknown,
    /// Nothing is in flight: for programs that create a series with the first call.
    Zero,
}

/// How a selector's series become one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aggregation {
    /// No aggregation: there has to be exactly one series.
    Single,
    Sum,
    Min,
    Max,
    Count,
    Avg,
}

/// One step of a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    Number(f64),
    Read {
        selector: usize,
        aggregation: Aggregation,
    },
    Negate,
    Add,
    Subtract,
    Multiply,
    Divide,
}

/// Where one selector's series stand.
#[derive(Clone, Copy, Debug)]
pub struct Stand<'q> {
    /// The selector.
    pub selector: &'q Selector,
    /// Whether that may fall.
    pub kind: Kind,
    /// Their single value, sum or maximum.
    pub value: f64,
}

/// What is known of how a value moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It only rises.
    Counter,
    /// It may fall.
    Any,
}

/// A query, ready to be evaluated.
#[derive(Clone, Debug)]
pub struct Query {
    pub(super) source: String,
    pub(super) steps: Vec<Step>,
    pub(super) selectors: Vec<Selector>,
}

impl Query {
    /// The query as the user wrote it.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Its selectors, in the order they are written. A poll keeps a [`Tally`] for each.
    pub fn selectors(&self) -> &[Selector] {
        &self.selectors
    }

    /// The query's value, given a tally for each of its selectors.
    ///
    /// # Errors
    ///
    /// Unknown, with the reason, when a selector's series could not be read, when none is there
    /// and `absent` does not make that zero, and when there are several without an aggregation.
    pub fn evaluate(&self, tallies: &[Tally], absent: Absent) -> Result<f64, Unknown> {
        let mut stack: Vec<f64> = Vec::new();
        for step in &self.steps {
            let value = match *step {
                Step::Number(number) => number,
                Step::Read {
                    selector,
                    aggregation,
                } => self.read(selector, aggregation, tallies, absent)?,
                Step::Negate => -pop(&mut stack)?,
                Step::Add => binary(&mut stack, |left, right| left + right)?,
                Step::Subtract => binary(&mut stack, |left, right| left - right)?,
                Step::Multiply => binary(&mut stack, |left, right| left * right)?,
                Step::Divide => binary(&mut stack, |left, right| left / right)?,
            };
            stack.push(value);
        }
        pop(&mut stack)
    }

    /// Where each series, sum or maximum in the query stands, always in the same order, and whether
    /// it is known to be a counter, which only a restart of the program makes smaller: by a name in
    /// `_total`, or because the page declares it. One that is absent stands at 0.
    pub fn stands<'q>(&'q self, tallies: &'q [Tally]) -> impl Iterator<Item = Stand<'q>> + 'q {
        self.steps.iter().filter_map(|step| {
            let Step::Read {
                selector,
                aggregation,
            } = *step
            else {
                return None;
            };
            let (selector, tally) = (self.selectors.get(selector)?, tallies.get(selector)?);
            let value = match aggregation {
                Aggregation::Single | Aggregation::Sum => tally.sum(),
                Aggregation::Max => tally.max(),
                Aggregation::Min | Aggregation::Count | Aggregation::Avg => return None,
            };
            let kind = match selector.is_counter() || tally.is_counter() {
                true => Kind::Counter,
                false => Kind::Any,
            };
            Some(Stand {
                selector,
                kind,
                value,
            })
        })
    }

    fn read(
        &self,
        selector: usize,
        aggregation: Aggregation,
        tallies: &[Tally],
        absent: Absent,
    ) -> Result<f64, Unknown> {
        let (Some(selector), Some(tally)) = (self.selectors.get(selector), tallies.get(selector)) else {
            return Err(Unknown("the query and the poll do not belong together".into()));
        };
        let text = selector.text();
        if let Some(fault) = tally.fault() {
            return Err(Unknown(format!("{fault}, which `{text}` matches")));
        }
        match (tally.count(), absent, aggregation) {
            (0, Absent::Unknown, _) => Err(Unknown(format!("no series matches `{text}`"))),
            (0, Absent::Zero, _) => Ok(0.0),
            (2.., _, Aggregation::Single) => Err(Unknown(format!(
                "`{text}` matches {} series: wrap it in sum(…)",
                tally.count()
            ))),
            (_, _, Aggregation::Single | Aggregation::Sum) => Ok(tally.sum()),
            (_, _, Aggregation::Min) => Ok(tally.min()),
            (_, _, Aggregation::Max) => Ok(tally.max()),
            (_, _, Aggregation::Avg) => Ok(tally.avg()),
            (count, _, Aggregation::Count) => Ok(count as f64),
        }
    }
}

fn pop(stack: &mut Vec<f64>) -> Result<f64, Unknown> {
    // The parser never writes a step without its operands; unknown is the answer all the same.
    stack
        .pop()
        .ok_or_else(|| Unknown("the query is incomplete".into()))
}

fn binary(stack: &mut Vec<f64>, operation: impl Fn(f64, f64) -> f64) -> Result<f64, Unknown> {
    let right = pop(stack)?;
    let left = pop(stack)?;
    Ok(operation(left, right))
}
