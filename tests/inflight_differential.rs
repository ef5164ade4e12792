//! The scanner against prometheus_client's parsers, over expositions made up beforehand. See
//! tests/differential/README.md.

use std::collections::BTreeMap;

use serde_json::Value;
use tidegate::inflight::Absent;
use tidegate::inflight::exposition::Scanner;
use tidegate::inflight::query::Query;

/// What a query gives for a body.
fn value(source: &str, body: &str) -> Result<f64, String> {
    let query = Query::parse(source).unwrap_or_else(|error| panic!("{source}: {error}"));
    let mut scanner = Scanner::new(query.selectors());
    scanner.feed(body.as_bytes());
    query
        .evaluate(&scanner.finish().tallies, Absent::Unknown)
        .map_err(|unknown| unknown.0)
}

fn same(ours: f64, theirs: f64) -> bool {
    ours == theirs || ours.is_nan() && theirs.is_nan() || (ours - theirs).abs() <= 1e-9 * theirs.abs()
}

fn number(value: &Value) -> f64 {
    value.as_str().unwrap().parse().unwrap()
}

#[test]
fn expositions_are_read_as_prometheus_client_reads_them() {
    let recorded = include_str!("differential/exposition.jsonl");
    let mut series = 0;
    for line in recorded.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let body = case["body"].as_str().unwrap();
        let mut sums: BTreeMap<&str, (f64, usize)> = BTreeMap::new();
        for sample in case["samples"].as_array().unwrap() {
            let (name, labels) = (sample[0].as_str().unwrap(), sample[1].as_object().unwrap());
            let sum = sums.entry(name).or_default();
            *sum = (sum.0 + number(&sample[2]), sum.1 + 1);
            // The series alone: its labels, and the absence of every other label in use.
            let mut matchers = vec![format!("{name:?}")];
            for label in ["method", "code", "le2", "a.b", "é"] {
                let value = labels.get(label).map_or("", |value| value.as_str().unwrap());
                let value = value
                    .replace('\\', "\\\\")
                    .replace('"', "\\\"")
                    .replace('\n', "\\n");
                matchers.push(format!("{label:?}=\"{value}\""));
            }
            let query = format!("{{{}}}", matchers.join(","));
            let ours = value(&query, body).unwrap_or_else(|why| panic!("{query}: {why}\n{body}"));
            assert!(same(ours, number(&sample[2])), "{query}: {ours}\n{body}");
            series += 1;
        }
        for (name, (sum, count)) in sums {
            let query = |aggregation| format!("{aggregation}({{{name:?}}})");
            let ours = value(&query("sum"), body).unwrap_or_else(|why| panic!("{name}: {why}\n{body}"));
            assert!(same(ours, sum), "{name}: {ours} {sum}\n{body}");
            assert_eq!(value(&query("count"), body), Ok(count as f64), "{name}\n{body}");
        }
    }
    assert!(series > 2000, "{series}");
}
