//! Makes queries up and writes what promql-parser reads in them, a JSON object a line:
//! `{"query": …, "postfix": […]}`, where `postfix` is null for what it refuses and `"outside"` for
//! PromQL beyond tidegate's subset.

use promql_parser::label::MatchOp;
use promql_parser::parser::{self, Expr, VectorSelector, token};
use serde_json::json;

/// A generator of our own, so that the queries stay the same.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.roll(from.len())]
    }
}

fn expression(dice: &mut Dice, depth: usize) -> String {
    let blank = dice.pick(&["", "", " ", "  ", "\n", "\t", " # note\n"]);
    let inner = match if depth == 0 { dice.roll(5) } else { dice.roll(13) } {
        0 => dice.pick(&["1", "0", "2.5", ".5", "1.", "1e3", "2E-2", "1e+1", "42", "0.10", "100"]).to_owned(),
        1 | 2 => selector(dice),
        3 | 4 => format!("{}({})", dice.pick(&["sum", "min", "max", "count", "avg", "SUM", "Avg "]), selector(dice)),
        5 => format!("({})", expression(dice, depth - 1)),
        6 => format!("{}{}", dice.pick(&["-", "+", "- ", "--"]), expression(dice, depth - 1)),
        7 => dice.pick(&[
            "rate(a[5m])", "a[5m]", "a offset 5m", "sum by (a) (b)", "sum(b) by (a)", "a or b", "a and b", "a > 1", "a == b", "a % b", "a ^ b",
            "topk(1, a)", "a @ 5", "sum(a - b)", "sum(1)", "a + on(x) b", "a > bool 1", "0x1F", "5m", "inf", "NaN", "count_values(\"x\", a)",
            "sum(sum(a))", "abs(a)", "time()", "\"text\"", "sum()", "a b", "1 2", "()", "{}", "a{}b", "a unless b", "-", "", "sum(a, b)",
            "group(a)", "a:b:c", ":a", "a.b", "9a", "a{b}", "{b}", "a{=\"x\"}", "a{b=\"x\"", "a{b=x}", "a{b==\"x\"}", "a{,}", "a{b=\"x\",,}",
            "a{\"x\"}", "a{__name__=\"x\"}", "{\"a\",\"b\"}", "{\"a\",__name__=\"b\"}", "{a=\"\"}", "{a=~\".*\"}", "{a!~\"x\"}", "{a=~\"(\"}",
            "a{b=~\"x)(y\"}", "a{b=\"\\z\"}", "a{b='\\\"'}", "(a", "a)", "a +", "* a", "a +* b", "a - - b", "a / -b", "-a * -b", "1_000",
        ]).to_owned(),
        _ => {
            let operator = dice.pick(&["+", "-", "*", "/", " + ", " - ", " * ", " / "]);
            format!("{}{operator}{}", expression(dice, depth - 1), expression(dice, depth - 1))
        }
    };
    format!("{blank}{inner}{blank}")
}

fn selector(dice: &mut Dice) -> String {
    let name = dice.pick(&["a", "grpc_server_started_total", "job:rate", "sum", "count", "up", "_x9", "le", "by_x"]);
    let mut parts: Vec<String> = (0..dice.roll(3)).map(|_| matcher(dice)).collect();
    match dice.roll(6) {
        0 => {
            parts.insert(0, format!("\"{}\"", dice.pick(&["http.server.active", "a b", "é", "plain"])));
            format!("{{{}}}", parts.join(","))
        }
        1 => {
            parts.push(format!("__name__{}{}", dice.pick(&["=", "=~", "!="]), dice.pick(&["\"x\"", "'a.*'", "`y`"])));
            format!("{{{}}}", parts.join(", "))
        }
        2 => name.to_owned(),
        _ => format!("{name}{}{{{}{}}}", dice.pick(&["", "", " "]), parts.join(" , "), if parts.is_empty() { "" } else { dice.pick(&["", ",", " "]) }),
    }
}

fn matcher(dice: &mut Dice) -> String {
    let label = dice.pick(&["method", "code", "sum", "by", "\"a.b\"", "le", "offset", "_"]);
    let value = dice.pick(&[
        "\"GET\"", "'it\\'s'", "`raw\\d`", "\"\"", "\"é\"", "\"a\\\\d+\"", "\"tab\\t\\x41\\101\\u00e9\"", "\"x|y\"", "'.+'", "\"\\\"q\\\"\"",
    ]);
    format!("{label}{}{value}", dice.pick(&["=", "!=", "=~", "!~", " = ", " =~ "]))
}

/// The query in postfix order, or None where it leaves the subset.
fn postfix(expr: &Expr, out: &mut Vec<String>) -> Option<()> {
    match expr {
        Expr::NumberLiteral(number) if number.val.is_finite() => out.push(format!("{:?}", number.val)),
        Expr::Paren(inner) => postfix(&inner.expr, out)?,
        Expr::Unary(inner) => {
            postfix(&inner.expr, out)?;
            out.push("negate".into());
        }
        Expr::Binary(binary) if binary.modifier.is_none() => {
            postfix(&binary.lhs, out)?;
            postfix(&binary.rhs, out)?;
            out.push(match binary.op.id() {
                token::T_ADD => "+".into(),
                token::T_SUB => "-".into(),
                token::T_MUL => "*".into(),
                token::T_DIV => "/".into(),
                _ => return None,
            });
        }
        Expr::VectorSelector(selector) => out.push(format!("single {}", canonical(selector)?)),
        Expr::Aggregate(aggregate) if aggregate.modifier.is_none() && aggregate.param.is_none() => {
            let name = match aggregate.op.id() {
                token::T_SUM => "sum",
                token::T_MIN => "min",
                token::T_MAX => "max",
                token::T_COUNT => "count",
                token::T_AVG => "avg",
                _ => return None,
            };
            let mut inner = aggregate.expr.as_ref();
            while let Expr::Paren(paren) = inner {
                inner = paren.expr.as_ref();
            }
            let Expr::VectorSelector(selector) = inner else { return None };
            out.push(format!("{name} {}", canonical(selector)?));
        }
        _ => return None,
    }
    Some(())
}

fn canonical(selector: &VectorSelector) -> Option<String> {
    if selector.offset.is_some() || selector.at.is_some() {
        return None;
    }
    let mut tests: Vec<String> = selector
        .matchers
        .matchers
        .iter()
        .map(|matcher| {
            let operator = match &matcher.op {
                MatchOp::Equal => "=",
                MatchOp::NotEqual => "!=",
                MatchOp::Re(_) => "=~",
                MatchOp::NotRe(_) => "!~",
            };
            format!("{}{operator}{:?}", matcher.name, matcher.value)
        })
        .collect();
    tests.extend(selector.name.as_ref().map(|name| format!("__name__={name:?}")));
    tests.sort();
    Some(tests.join(" "))
}

fn main() {
    let mut dice = Dice(0x7469_6465_6761_7465);
    let mut seen = std::collections::HashSet::new();
    while seen.len() < 1500 {
        let depth = dice.roll(4);
        let query = expression(&mut dice, depth);
        if query.len() > 120 || !seen.insert(query.clone()) {
            continue;
        }
        let reading = match parser::parse(&query) {
            Err(_) => json!(null),
            Ok(expr) => {
                let mut out = Vec::new();
                let inside = postfix(&expr, &mut out).is_some() && out.iter().any(|step| step.contains('='));
                if inside { json!(out) } else { json!("outside") }
            }
        };
        println!("{}", json!({"query": query, "postfix": reading}));
    }
}
