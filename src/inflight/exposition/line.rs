//! One sample line of an exposition, read in two steps: its series, then its value.
//!
//! The grammar is the union of what is in use: Prometheus' text format with timestamps, blanks
//! anywhere between tokens, trailing commas and quoted UTF-8 names
//! (<https://prometheus.io/docs/instrumenting/exposition_formats/>), and OpenMetrics with exemplars.

use std::borrow::Cow;

/// A series as a line gives it.
#[derive(Debug, PartialEq)]
pub(super) struct Series<'l> {
    pub name: Cow<'l, str>,
    /// Sorted by label name, no name twice, no empty values: an empty label is an absent one.
    pub labels: Vec<(Cow<'l, str>, Cow<'l, str>)>,
}

/// Why a line is no sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Broken(pub &'static str);

impl Series<'_> {
    /// A label's value, "" when it is absent.
    pub fn value_of(&self, label: &str) -> &str {
        match self.labels.binary_search_by(|(name, _)| name.as_ref().cmp(label)) {
            Ok(at) => &self.labels[at].1,
            Err(_) => "",
        }
    }
}

/// Blanks as the format has them; a carriage return at a line's end goes with them.
pub(super) fn trim(line: &[u8]) -> &[u8] {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r');
    let start = line.iter().position(|byte| !blank(byte)).unwrap_or(line.len());
    let end = line
        .iter()
        .rposition(|byte| !blank(byte))
        .map_or(start, |at| at + 1);
    &line[start..end]
}

/// The unquoted metric name a trimmed line begins with, and what follows it. None when it begins
/// with anything else.
pub(super) fn bare_name(line: &[u8]) -> Option<(&str, &[u8])> {
    if line.first().is_none_or(u8::is_ascii_digit) {
        return None;
    }
    let (name, rest) = line.split_at(name_length(line));
    let name = std::str::from_utf8(name).ok()?;
    (!name.is_empty()).then_some((name, rest))
}

/// The length of the name of unquoted characters that `bytes` begin with.
pub(super) fn name_length(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .position(|&byte| !is_name_byte(byte))
        .unwrap_or(bytes.len())
}

/// Whether a byte may stand in an unquoted metric name.
pub(super) fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b':'
}

/// Reads the series of a trimmed line. Gives it and what follows.
pub(super) fn series(line: &[u8]) -> Result<(Series<'_>, &[u8]), Broken> {
    let Some((name, rest)) = bare_name(line) else {
        return braces(None, line);
    };
    match rest.first() {
        None => Err(Broken("there is no value")),
        Some(b' ' | b'\t') => {
            let after = trim(rest);
            if after.first() == Some(&b'{') {
                return braces(Some(name), after);
            }
            Ok((
                Series {
                    name: Cow::Borrowed(name),
                    labels: Vec::new(),
                },
                after,
            ))
        }
        Some(b'{') => braces(Some(name), rest),
        Some(_) => Err(Broken("the name has a character it may only have in quotes")),
    }
}

/// Reads `{…}`: labels, and the metric name in quotes where it does not stand before the braces.
fn braces<'l>(mut name: Option<&'l str>, line: &'l [u8]) -> Result<(Series<'l>, &'l [u8]), Broken> {
    let mut quoted_name = None;
    let mut labels = Vec::new();
    let Some(mut rest) = line.strip_prefix(b"{") else {
        return Err(Broken("it does not begin with a name"));
    };
    rest = skip_blanks(rest);
    loop {
        match rest.first() {
            None => return Err(Broken("the labels are not closed")),
            Some(b'}') => break,
            Some(b',') if labels.is_empty() && quoted_name.is_none() => {
                // `{,}` is written by some programs that join an empty list.
                rest = skip_blanks(&rest[1..]);
                if rest.first() != Some(&b'}') {
                    return Err(Broken("a label is missing before a comma"));
                }
                continue;
            }
            Some(_) => {}
        }
        let (first, after) = label_name(rest)?;
        let after = skip_blanks(after);
        rest = if let Some(after) = after.strip_prefix(b"=") {
            let (value, after) = quoted(skip_blanks(after))?;
            labels.push((first, value));
            after
        } else if rest.first() == Some(&b'"') && name.is_none() && quoted_name.is_none() {
            if first.is_empty() {
                return Err(Broken("the metric name is empty"));
            }
            quoted_name = Some(first);
            after
        } else {
            return Err(Broken("a label has no value"));
        };
        rest = skip_blanks(rest);
        match rest.first() {
            Some(b',') => rest = skip_blanks(&rest[1..]),
            Some(b'}') => {}
            _ => return Err(Broken("a comma or closing brace is missing between labels")),
        }
    }
    labels.sort_unstable();
    if labels.windows(2).any(|pair| pair[0].0 == pair[1].0) {
        return Err(Broken("a label is there twice"));
    }
    labels.retain(|(_, value)| !value.is_empty());
    let name = quoted_name
        .or_else(|| name.take().map(Cow::Borrowed))
        .ok_or(Broken("there is no metric name"))?;
    Ok((Series { name, labels }, &rest[1..]))
}

fn skip_blanks(bytes: &[u8]) -> &[u8] {
    let start = bytes
        .iter()
        .position(|byte| !matches!(byte, b' ' | b'\t'))
        .unwrap_or(bytes.len());
    &bytes[start..]
}

fn label_name(bytes: &[u8]) -> Result<(Cow<'_, str>, &[u8]), Broken> {
    if bytes.first() == Some(&b'"') {
        return quoted(bytes);
    }
    let (name, rest) = bare_name(bytes).ok_or(Broken("a label name is missing"))?;
    if name.contains(':') {
        return Err(Broken("a label name has a colon"));
    }
    Ok((Cow::Borrowed(name), rest))
}

/// Reads a quoted string: `\\`, `\"` and `\n` are escapes, any other backslash stands for itself.
fn quoted(bytes: &[u8]) -> Result<(Cow<'_, str>, &[u8]), Broken> {
    let Some(body) = bytes.strip_prefix(b"\"") else {
        return Err(Broken("a quote is missing"));
    };
    let text = |bytes| std::str::from_utf8(bytes).map_err(|_| Broken("a label is not UTF-8"));
    let mut unescaped = String::new();
    let mut start = 0;
    let mut at = 0;
    while let Some(found) = memchr::memchr2(b'"', b'\\', &body[at..]) {
        at += found;
        if body[at] == b'"' {
            let tail = text(&body[start..at])?;
            let value = if unescaped.is_empty() {
                Cow::Borrowed(tail)
            } else {
                Cow::Owned(unescaped + tail)
            };
            return Ok((value, &body[at + 1..]));
        }
        let escaped = match body.get(at + 1) {
            Some(b'\\') => "\\",
            Some(b'"') => "\"",
            Some(b'n') => "\n",
            Some(_) => {
                at += 1;
                continue;
            }
            None => break,
        };
        unescaped.push_str(text(&body[start..at])?);
        unescaped.push_str(escaped);
        at += 2;
        start = at;
    }
    Err(Broken("a quote is not closed"))
}

/// Reads what follows the series: the value, and after it at most a timestamp and an exemplar,
/// which are checked and passed over.
pub(super) fn value(rest: &[u8]) -> Result<f64, Broken> {
    let (value, rest) = token(rest);
    if value.is_empty() {
        return Err(Broken("there is no value"));
    }
    let value = number(value).ok_or(Broken("the value is not a number"))?;
    let (timestamp, rest) = token(rest);
    if timestamp.is_empty() || timestamp[0] == b'#' {
        return Ok(value);
    }
    number(timestamp)
        .filter(|time| time.is_finite())
        .ok_or(Broken("the timestamp is not a number"))?;
    let (next, _) = token(rest);
    if next.is_empty() || next[0] == b'#' {
        Ok(value)
    } else {
        Err(Broken("something follows the timestamp"))
    }
}

/// The next run of bytes without blanks, and what follows it.
fn token(bytes: &[u8]) -> (&[u8], &[u8]) {
    let bytes = skip_blanks(bytes);
    let end = bytes
        .iter()
        .position(|byte| matches!(byte, b' ' | b'\t'))
        .unwrap_or(bytes.len());
    bytes.split_at(end)
}

/// A number as Go's `ParseFloat` takes it, which is what writes and reads most expositions: Rust's
/// parser takes the same decimals, `NaN`, `+Inf` and `-Inf`, in any case.
fn number(bytes: &[u8]) -> Option<f64> {
    std::str::from_utf8(bytes).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    type Sample = (String, Vec<(String, String)>, f64);

    fn read(line: &str) -> Result<Sample, Broken> {
        let (series, rest) = series(trim(line.as_bytes()))?;
        let labels = series
            .labels
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect();
        Ok((series.name.to_string(), labels, value(rest)?))
    }

    fn sample(name: &str, labels: &[(&str, &str)], value: f64) -> Result<Sample, Broken> {
        let labels = labels
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        Ok((name.to_owned(), labels, value))
    }

    #[test]
    fn lines_are_read_as_the_world_writes_them() {
        let ab = [("a", "b")];
        for (line, expected) in [
            ("m 1", sample("m", &[], 1.0)),
            ("m\t1\r", sample("m", &[], 1.0)),
            ("  m   1.5e3   1700000000000  ", sample("m", &[], 1500.0)),
            ("m{} 1", sample("m", &[], 1.0)),
            ("m{,} 1", sample("m", &[], 1.0)),
            ("m { , } 1", sample("m", &[], 1.0)),
            (r#"m{a="b"} 1"#, sample("m", &ab, 1.0)),
            (r#"m{a="b"}1"#, sample("m", &ab, 1.0)),
            (r#"m {a="b",} 1"#, sample("m", &ab, 1.0)),
            ("m\t{ a\t= \"b\" , } 1", sample("m", &ab, 1.0)),
            (r#"{"m",a="b"} 1"#, sample("m", &ab, 1.0)),
            (r#"{a="b","m"} 1"#, sample("m", &ab, 1.0)),
            (
                r#"{"my.metric", "a.b"="x"} 1"#,
                sample("my.metric", &[("a.b", "x")], 1.0),
            ),
            (r#"m{a="",b="c"} 1"#, sample("m", &[("b", "c")], 1.0)),
            (r#"m{b="2",a="1"} 1"#, sample("m", &[("a", "1"), ("b", "2")], 1.0)),
            (
                r#"m{a="q\"\\\n\d,}é"} 1"#,
                sample("m", &[("a", "q\"\\\n\\d,}é")], 1.0),
            ),
            (r#"m_total 3 # {trace_id="x"} 0.5"#, sample("m_total", &[], 3.0)),
            (
                r#"m_total 3 1700000000.123 # {trace_id="x"} 0.5 1700000000.1"#,
                sample("m_total", &[], 3.0),
            ),
            ("m +Inf", sample("m", &[], f64::INFINITY)),
            ("m -Inf -5", sample("m", &[], f64::NEG_INFINITY)),
            (":rule:x 0", sample(":rule:x", &[], 0.0)),
        ] {
            assert_eq!(read(line), expected, "{line}");
        }
        assert!(read("m NaN").unwrap().2.is_nan());
    }

    #[test]
    fn broken_lines_are_refused() {
        for line in [
            "m",
            "m{",
            "m{}",
            "m x",
            "m 1 x",
            "m 1 2 3",
            "m{a} 1",
            "m{a=b} 1",
            r#"m{a="b} 1"#,
            r#"m{a="b\"#,
            r#"m{a="b" c="d"} 1"#,
            r#"m{a="b",,} 1"#,
            r#"m{,a="b"} 1"#,
            r#"m{a="b",a="c"} 1"#,
            r#"m{"n"} 1"#,
            r#"{a="b"} 1"#,
            r#"{"m","n"} 1"#,
            r#"{"",a="b"} 1"#,
            "{} 1",
            "{",
            "",
            "9m 1",
            "my.metric 1",
            "<html>",
            r#"{"status":"ok"}"#,
            r#"m{a:b="c"} 1"#,
            "m 0x1p3",
            "m 1_000",
            "m 1 NaN",
            "m=1",
        ] {
            assert!(read(line).is_err(), "{line}");
        }
        assert!(series(b"m{a=\"\xff\"} 1").is_err());
    }
}
