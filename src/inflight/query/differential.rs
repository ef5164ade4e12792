//! The parser against promql-parser's, over queries made up beforehand. See
//! `tests/differential/README.md`.

use serde_json::Value;

use super::Query;
use super::program::{Aggregation, Step};
use super::selector::{Selector, Test};

/// Steps in the words of the recorded file.
fn postfix(query: &Query) -> Vec<String> {
    let word = |step: &Step| match *step {
        Step::Number(number) => format!("{number:?}"),
        Step::Negate => "negate".into(),
        Step::Add => "+".into(),
        Step::Subtract => "-".into(),
        Step::Multiply => "*".into(),
        Step::Divide => "/".into(),
        Step::Read {
            selector,
            aggregation,
        } => {
            let how = match aggregation {
                Aggregation::Single => "single",
                Aggregation::Sum => "sum",
                Aggregation::Min => "min",
                Aggregation::Max => "max",
                Aggregation::Count => "count",
                Aggregation::Avg => "avg",
            };
            format!("{how} {}", canonical(&query.selectors()[selector]))
        }
    };
    query.steps.iter().map(word).collect()
}

fn canonical(selector: &Selector) -> String {
    let name = selector.name.clone().map(Test::Equal);
    let names = name
        .iter()
        .chain(&selector.name_tests)
        .map(|test| ("__name__", test));
    let labels = selector
        .matchers
        .iter()
        .map(|(label, test)| (label.as_str(), test));
    let mut tests: Vec<String> = names
        .chain(labels)
        .map(|(label, test)| match test {
            Test::Equal(value) => format!("{label}={value:?}"),
            Test::NotEqual(value) => format!("{label}!={value:?}"),
            Test::Matches(regex) => format!("{label}=~{:?}", pattern(regex.as_str())),
            Test::NotMatches(regex) => format!("{label}!~{:?}", pattern(regex.as_str())),
        })
        .collect();
    tests.sort();
    tests.join(" ")
}

fn pattern(anchored: &str) -> &str {
    anchored
        .strip_prefix("^(?s:")
        .and_then(|rest| rest.strip_suffix(")$"))
        .expect("anchored")
}

/// Where a minus stands before a number the two differ in nothing but form.
fn folded(steps: &[String]) -> Vec<String> {
    let mut folded: Vec<String> = Vec::new();
    for step in steps {
        let number = folded.last().and_then(|last| last.parse::<f64>().ok());
        match (step.as_str(), number) {
            ("negate", Some(number)) => {
                folded.pop();
                folded.push(format!("{:?}", -number));
            }
            ("negate", None) if folded.last().is_some_and(|last| last == "negate") => {
                folded.pop();
            }
            _ => folded.push(step.clone()),
        }
    }
    folded
}

#[test]
fn queries_are_read_as_promql_parser_reads_them() {
    let recorded = include_str!("../../../tests/differential/promql.jsonl");
    let (mut read, mut refused) = (0, 0);
    for line in recorded.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let source = case["query"].as_str().unwrap();
        match (&case["postfix"], Query::parse(source)) {
            (Value::Array(theirs), Ok(ours)) => {
                let theirs: Vec<_> = theirs
                    .iter()
                    .map(|step| step.as_str().unwrap().to_owned())
                    .collect();
                assert_eq!(folded(&postfix(&ours)), folded(&theirs), "{source}");
                read += 1;
            }
            // Hexadecimals and digits with underscores are outside our subset, and said to be.
            (Value::Array(_), Err(_)) if source.contains("0x") || source.contains("1_0") => refused += 1,
            // A name given twice is refused, as Prometheus does and promql-parser does not.
            (Value::Array(_), Err(error)) if error.to_string().contains("the metric name is given twice") => {
                refused += 1
            }
            (Value::Array(_), Err(error)) => panic!("{source:?}: refused: {error}"),
            // promql-parser unescapes backticks too; Prometheus' lexRawString does not, nor do we.
            (_, Ok(_)) if source.contains("`raw\\d`") => read += 1,
            (theirs, Ok(_)) => panic!("{source:?}: read, and not by the other: {theirs}"),
            (_, Err(_)) => refused += 1,
        }
    }
    assert!(read > 500 && refused > 200, "{read} {refused}");
}
