use super::*;
use proptest::prelude::*;

fn parse(source: &str) -> Query {
    Query::parse(source).unwrap_or_else(|error| panic!("{source}: {error}"))
}

fn tally(values: &[f64]) -> Tally {
    let mut tally = Tally::default();
    values.iter().for_each(|&value| tally.add(value));
    tally
}

/// The value of a query whose selectors match these series, in order.
fn value(source: &str, series: &[&[f64]]) -> Result<f64, String> {
    let query = parse(source);
    let tallies: Vec<_> = series.iter().map(|values| tally(values)).collect();
    assert_eq!(query.selectors().len(), tallies.len(), "{source}");
    query
        .evaluate(&tallies, Absent::Unknown)
        .map_err(|unknown| unknown.0)
}

#[test]
fn arithmetic_has_promqls_precedence() {
    for (source, expected) in [
        ("sum(m) + 2 * 3", 13.0),
        ("(sum(m) + 2) * 3", 27.0),
        ("sum(m) - 2 - 1", 4.0),
        ("sum(m) / 7 * 2", 2.0),
        ("-sum(m) * 2", -14.0),
        ("2 - -sum(m)", 9.0),
        ("- - + sum(m)", 7.0),
        ("1 / -sum(m) * 14", -2.0),
        ("((sum((m))))", 7.0),
        ("SUM(m) # the calls\n - 1e0", 6.0),
        ("avg(m)", 3.5),
        ("min(m) + max (m2)", 3.0 + 9.0),
        ("count(m)*.5", 1.0),
    ] {
        let series: &[&[f64]] = if source.contains("m2") {
            &[&[3.0, 4.0], &[9.0]]
        } else {
            &[&[3.0, 4.0]]
        };
        assert_eq!(value(source, series), Ok(expected), "{source}");
    }
}

#[test]
fn a_lone_selector_must_match_one_series() {
    assert_eq!(value("m", &[&[5.0]]), Ok(5.0));
    assert_eq!(value("m{a='b'} - n", &[&[5.0], &[2.0]]), Ok(3.0));
    let why = value("m{a='b'}", &[&[5.0, 6.0]]).unwrap_err();
    assert_eq!(why, "`m{a='b'}` matches 2 series: wrap it in sum(…)");
}

#[test]
fn absent_is_unknown_unless_it_is_said_to_be_zero() {
    for source in ["m", "sum(m)", "min(m)", "max(m)", "count(m)", "avg(m)"] {
        let query = parse(source);
        let why = query.evaluate(&[Tally::default()], Absent::Unknown).unwrap_err();
        assert_eq!(why.0, "no series matches `m`", "{source}");
        assert_eq!(
            query.evaluate(&[Tally::default()], Absent::Zero),
            Ok(0.0),
            "{source}"
        );
    }
}

#[test]
fn a_spoilt_tally_is_unknown_even_where_absent_is_zero() {
    let mut spoilt = Tally::default();
    spoilt.spoil(|| "the value is not a number at line 3".into());
    let why = parse("count(m)").evaluate(&[spoilt], Absent::Zero).unwrap_err();
    assert_eq!(why.0, "the value is not a number at line 3, which `m` matches");
}

#[test]
fn a_series_that_is_no_number_spoils_every_aggregation_of_values() {
    for source in ["sum(m)", "min(m)", "max(m)", "avg(m)"] {
        assert!(
            value(source, &[&[1.0, f64::NAN, 2.0]]).unwrap().is_nan(),
            "{source}"
        );
    }
    assert_eq!(value("count(m)", &[&[1.0, f64::NAN]]), Ok(2.0));
    assert_eq!(value("sum(m)", &[&[f64::INFINITY, 1.0]]), Ok(f64::INFINITY));
}

#[test]
fn sums_do_not_lose_small_series_beside_large_ones() {
    assert_eq!(value("sum(m)", &[&[1.0, 1e100, 1.0, -1e100]]), Ok(2.0));
}

fn wants(source: &str, name: &str, labels: &[(&str, &str)]) -> bool {
    let query = parse(source);
    let selector = &query.selectors()[0];
    let value_of = |label: &str| {
        labels
            .iter()
            .find(|(name, _)| *name == label)
            .map_or("", |(_, value)| *value)
    };
    selector.wants_name(name) && selector.wants_labels(value_of)
}

#[test]
fn the_four_matchers_match_whole_values() {
    let labels = [("method", "Get"), ("path", "a\nb")];
    for (source, expected) in [
        ("m", true),
        ("n", false),
        (r#"m{method="Get"}"#, true),
        (r#"m{method="Ge"}"#, false),
        (r#"m{method!="Get"}"#, false),
        (r#"m{method!="Put"}"#, true),
        (r#"m{method=~"G.*|P"}"#, true),
        (r#"m{method=~"Ge"}"#, false),
        (r#"m{method=~"et"}"#, false),
        (r#"m{method!~"Ge"}"#, true),
        (r#"m{method=~"(?i)get"}"#, true),
        (r#"m{path=~"a.b"}"#, true),
        (r#"m{other=""}"#, true),
        (r#"m{other!=""}"#, false),
        (r#"m{other=~"x?"}"#, true),
        (r#"m{method="Get", other="",}"#, true),
        (r#"{__name__="m"}"#, true),
        (r#"{__name__=~"m|n", method="Get"}"#, true),
        (r#"{__name__!="m", method="Get"}"#, false),
        (r#"{"m", "method"="Get"}"#, true),
        (r#"{method=~`\w{3}`}"#, true),
        (r#"{"method"=~"\\w+"}"#, true),
    ] {
        assert_eq!(wants(source, "m", &labels), expected, "{source}");
    }
    assert!(wants(r#"{"http.server.active"}"#, "http.server.active", &[]));
}

#[test]
fn a_name_matcher_is_a_name() {
    assert_eq!(
        parse(r#"{__name__="x_total"}"#).selectors()[0].name(),
        Some("x_total")
    );
    assert!(parse(r#"{__name__="x_total"}"#).selectors()[0].is_counter());
    assert_eq!(parse(r#"{__name__=~"x"}"#).selectors()[0].name(), None);
    assert!(parse(r#"{"a.b"}"#).selectors()[0].needs_utf8_names());
    assert!(parse(r#"a{"b.c"="d"}"#).selectors()[0].needs_utf8_names());
    assert!(!parse(r#"{"a_b", c="é"}"#).selectors()[0].needs_utf8_names());
}

#[test]
fn selectors_keep_the_users_words() {
    let query = parse("sum( a { b = \"c\" } )-{ \"d\" }");
    let texts: Vec<_> = query.selectors().iter().map(Selector::text).collect();
    assert_eq!(texts, ["a { b = \"c\" }", "{ \"d\" }"]);
}

#[test]
fn what_is_outside_the_subset_is_refused_with_its_column() {
    for (source, column, problem) in [
        ("rate(m[5m])", 1, "`rate()` is not supported"),
        ("sum(rate(m[5m]))", 5, "`rate()` inside `sum()` is not supported"),
        ("m[5m]", 2, "a range or subquery `[…]` is not supported"),
        ("sum by (a) (m)", 5, "grouping (`sum by`) is not supported"),
        (
            "sum(m) without (a)",
            8,
            "grouping (`sum() without`) is not supported",
        ),
        ("m offset 5", 3, "the `offset` modifier is not supported"),
        ("m @ 5", 3, "the `@` modifier is not supported"),
        ("a or b", 3, "the operator `or` is not supported"),
        ("a and on(x) b", 3, "the operator `and` is not supported"),
        ("a + on(x) b", 5, "matching with `on` is not supported"),
        ("a > 0", 3, "a comparison is not supported"),
        ("a == 0", 3, "a comparison is not supported"),
        ("a != 0", 3, "a comparison is not supported"),
        ("a % 2", 3, "the operator `%` is not supported"),
        ("a ^ 2", 3, "the operator `^` is not supported"),
        ("topk(1, m)", 1, "`topk()` is not supported"),
        ("sum(a - b)", 7, "instead of sum(a - b) write sum(a) - sum(b)"),
        ("sum((a) - b)", 9, ""),
        ("sum(5)", 5, "`sum()` of anything but a selector"),
        ("sum()", 5, "`sum()` needs a selector"),
        ("sum(a, b)", 6, "an operator is expected here"),
        ("sum(a", 6, "a parenthesis is not closed"),
        ("(a", 3, "a parenthesis is not closed"),
        ("a)", 2, "never opened"),
        ("", 1, "ends where"),
        ("a +", 4, "ends where"),
        ("a b", 3, "an operator is expected before `b`"),
        ("5", 1, "reads no metric"),
        ("inf", 1, "never a number of calls"),
        ("a - NaN", 5, "never a number of calls"),
        ("\"m\"", 1, "stands in braces"),
        ("{}", 1, "a selector needs a name"),
        ("{a=~\".*\"}", 1, "a selector needs a name"),
        ("{a}", 3, "one of = != =~ !~"),
        ("m{a=b}", 5, "a value in quotes"),
        ("m{a=\"b\" c=\"d\"}", 9, "`,` or `}`"),
        ("m{,}", 3, "a label name"),
        ("m{a=\"b\",,}", 9, "a label name"),
        ("m{a:b=\"c\"}", 3, "must be in quotes"),
        ("m{__name__=\"n\"}", 3, "given twice"),
        ("m{\"n\"}", 3, "given twice"),
        ("{\"\"}", 2, "empty"),
        ("m{a=~\"(\"}", 6, "regular expression"),
        ("m{a=~\"x)(y\"}", 6, "regular expression"),
        ("m{a=~\"\\p{Greek}\"}", 7, "backslash is written twice"),
        ("m{a=~`\\p{Greek}`}", 6, "regular expression"),
        ("http.server", 5, "in quotes, in braces"),
        ("a + 5m", 5, "only decimal numbers"),
        ("é", 1, "unexpected"),
        ("{é=\"a\"}", 2, "unexpected"),
        ("m{a=\"é\" }  é", 12, "unexpected"),
    ] {
        let error = Query::parse(source).map(|_| ()).expect_err(source);
        let text = error.to_string();
        assert_eq!(
            (error.place.line, error.place.column),
            (1, column),
            "{source}: {text}"
        );
        assert!(
            text.contains(problem) && text.ends_with(SUBSET) && !text.contains('\n'),
            "{source}: {text}"
        );
    }
    let error = Query::parse("sum(a)\n  - rate(b)").unwrap_err();
    assert!(error.to_string().starts_with("line 2, column 5: "), "{error}");
}

#[test]
fn deep_and_long_queries_cannot_exhaust_the_stack() {
    let deep = format!("{}m{}", "(".repeat(100_000), ")".repeat(100_000));
    assert!(Query::parse(&deep).is_err());
    let sums = format!("{}m", "sum(".repeat(100_000));
    assert!(Query::parse(&sums).is_err());
    let long = format!("m{}", "+1".repeat(100_000));
    assert_eq!(value(&long, &[&[0.0]]), Ok(100_000.0));
    assert_eq!(value(&format!("{}m", "-".repeat(100_000)), &[&[1.0]]), Ok(1.0));
}

/// An expression as a tree: the oracle's own, evaluated by recursion.
#[derive(Clone, Debug)]
enum Tree {
    Number(u16),
    Aggregate(&'static str, Vec<f64>),
    Negative(Box<Tree>),
    Binary(Box<Tree>, char, Box<Tree>),
}

impl Tree {
    fn value(&self) -> f64 {
        match self {
            Self::Number(number) => f64::from(*number),
            Self::Aggregate(name, values) => match *name {
                "sum" => values.iter().sum(),
                "min" => values.iter().copied().fold(f64::INFINITY, f64::min),
                "max" => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                "count" => values.len() as f64,
                _ => values.iter().sum::<f64>() / values.len() as f64,
            },
            Self::Negative(inner) => -inner.value(),
            Self::Binary(left, '+', right) => left.value() + right.value(),
            Self::Binary(left, '-', right) => left.value() - right.value(),
            Self::Binary(left, '*', right) => left.value() * right.value(),
            Self::Binary(left, _, right) => left.value() / right.value(),
        }
    }

    /// Only the parentheses that precedence asks for; 1 is `+ -`, 2 `* /`, 3 unary.
    fn write(&self, level: u8, text: &mut String) {
        let own = match self {
            Self::Binary(_, '+' | '-', _) => 1,
            Self::Binary(..) => 2,
            Self::Negative(_) => 3,
            _ => 4,
        };
        if own < level {
            text.push('(');
        }
        match self {
            Self::Number(number) => text.push_str(&number.to_string()),
            Self::Aggregate(name, _) => text.push_str(&format!("{name}(m)")),
            Self::Negative(inner) => {
                text.push('-');
                inner.write(3, text);
            }
            Self::Binary(left, operator, right) => {
                left.write(own, text);
                text.push(' ');
                text.push(*operator);
                right.write(own + 1, text);
            }
        }
        if own < level {
            text.push(')');
        }
    }

    fn series(&self, into: &mut Vec<Tally>) {
        match self {
            Self::Number(_) => {}
            Self::Aggregate(_, values) => into.push(tally(values)),
            Self::Negative(inner) => inner.series(into),
            Self::Binary(left, _, right) => {
                left.series(into);
                right.series(into);
            }
        }
    }
}

fn tree() -> impl Strategy<Value = Tree> {
    let values = proptest::collection::vec((0u16..1000).prop_map(f64::from), 1..5);
    let name = proptest::sample::select(vec!["sum", "min", "max", "count", "avg"]);
    let leaf = prop_oneof![
        (0u16..100).prop_map(Tree::Number),
        (name, values).prop_map(|(name, values)| Tree::Aggregate(name, values)),
    ];
    leaf.prop_recursive(5, 40, 2, |inner| {
        let operator = proptest::sample::select(vec!['+', '-', '*', '/']);
        prop_oneof![
            inner.clone().prop_map(|tree| Tree::Negative(Box::new(tree))),
            (inner.clone(), operator, inner).prop_map(|(left, operator, right)| Tree::Binary(
                Box::new(left),
                operator,
                Box::new(right)
            )),
        ]
    })
}

proptest! {
    #[test]
    fn evaluation_agrees_with_a_naive_oracle(tree in tree()) {
        let (mut text, mut tallies) = (String::from("m * 0 + "), vec![tally(&[1.0])]);
        tree.write(2, &mut text);
        tree.series(&mut tallies);
        let ours = Query::parse(&text).unwrap().evaluate(&tallies, Absent::Unknown).unwrap();
        let theirs = 0.0 + tree.value();
        prop_assert!(ours == theirs || (ours.is_nan() && theirs.is_nan()), "{text}: {ours} {theirs}");
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC{0,40}", words in proptest::collection::vec(
        proptest::sample::select(vec!["sum", "(", ")", "{", "}", "m", "a", "=", "=~", "!~", "!=", "\"x\"", "`y`", ",", "-", "+", "*", "/", "1", " ", "by", "\"", "\\", "#", "\n", "é"]), 0..30,
    )) {
        for source in [text, words.concat()] {
            if let Err(error) = Query::parse(&source) {
                let text = error.to_string();
                prop_assert!(!text.contains('\n'), "{text:?}");
            }
        }
    }
}
