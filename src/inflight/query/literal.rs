//! PromQL's string and number literals.
//!
//! Strings follow Prometheus' `util/strutil.Unquote`: double and single quotes with Go's
//! escapes, where only the quote in use may be escaped, and backticks without escapes.

/// A literal that could not be read: how many bytes into it, and why.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BadLiteral {
    pub offset: usize,
    pub why: String,
}

fn bad<T>(offset: usize, why: impl Into<String>) -> Result<T, BadLiteral> {
    Err(BadLiteral {
        offset,
        why: why.into(),
    })
}

/// Reads the string literal `source` begins with. Gives its value and its length in bytes,
/// quotes included.
pub(super) fn string(source: &str) -> Result<(String, usize), BadLiteral> {
    let mut chars = source.char_indices();
    let Some((_, quote)) = chars.next() else {
        return bad(0, "a string was expected");
    };
    if quote == '`' {
        let Some(length) = source[1..].find('`') else {
            return bad(0, "the string is not closed");
        };
        return Ok((source[1..=length].to_owned(), length + 2));
    }
    // Bytes, because \x and octal escapes write bytes, which must make up UTF-8 in the end.
    let mut value = Vec::new();
    let mut rest = &source[1..];
    loop {
        let offset = source.len() - rest.len();
        let Some(next) = rest.chars().next() else {
            return bad(0, "the string is not closed");
        };
        match next {
            '\n' => return bad(0, "the string is not closed on its line"),
            '\\' => {
                let length = escape(&rest[1..], quote, &mut value).map_err(|why| BadLiteral {
                    offset,
                    why: why.to_owned(),
                })?;
                rest = &rest[1 + length..];
            }
            _ if next == quote => {
                return match String::from_utf8(value) {
                    Ok(value) => Ok((value, offset + 1)),
                    Err(_) => bad(0, "the string is not UTF-8"),
                };
            }
            _ => {
                value.extend_from_slice(&rest.as_bytes()[..next.len_utf8()]);
                rest = &rest[next.len_utf8()..];
            }
        }
    }
}

/// Reads what follows a backslash, adds its bytes to `value` and gives its length.
fn escape(rest: &str, quote: char, value: &mut Vec<u8>) -> Result<usize, &'static str> {
    let Some(letter) = rest.chars().next() else {
        return Err("the string is not closed");
    };
    let plain = match letter {
        'a' => 0x07,
        'b' => 0x08,
        'f' => 0x0c,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 0x0b,
        '\\' => b'\\',
        '\'' | '"' if letter == quote => letter as u8,
        'x' => {
            value.push(digits(rest, 1, 2, 16)? as u8);
            return Ok(3);
        }
        '0'..='7' => {
            let code = digits(rest, 0, 3, 8)?;
            value.push(u8::try_from(code).map_err(|_| "an octal escape goes up to \\377")?);
            return Ok(3);
        }
        'u' | 'U' => {
            let length = if letter == 'u' { 4 } else { 8 };
            let code = digits(rest, 1, length, 16)?;
            let letter = char::from_u32(code).ok_or("the escape is no Unicode character")?;
            value.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
            return Ok(1 + length);
        }
        _ => {
            return Err(
                "unknown escape (in a regular expression a backslash is written twice, or in backticks)",
            );
        }
    };
    value.push(plain);
    Ok(1)
}

fn digits(rest: &str, from: usize, length: usize, radix: u32) -> Result<u32, &'static str> {
    let text = rest.get(from..from + length).ok_or("the escape is too short")?;
    // from_str_radix alone would take a sign.
    if !text.chars().all(|c| c.is_digit(radix)) {
        return Err("the escape has too few digits");
    }
    u32::from_str_radix(text, radix).map_err(|_| "the escape is out of range")
}

/// Reads the number `source` begins with. Gives its value and its length in bytes.
///
/// Decimals with an exponent only: a leading zero would be octal to Prometheus, letters
/// after it a duration, and both are refused rather than misread.
pub(super) fn number(source: &str) -> Result<(f64, usize), BadLiteral> {
    let bytes = source.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut end = 0;
    while digit(end) {
        end += 1;
    }
    let whole = end;
    if bytes.get(end) == Some(&b'.') {
        end += 1;
        while digit(end) {
            end += 1;
        }
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if digit(end + 1 + sign) {
            end += 1 + sign;
            while digit(end) {
                end += 1;
            }
        }
    }
    let tail = source[end..].chars().next();
    if tail.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '.') {
        return bad(
            0,
            "only decimal numbers are supported, without durations, hexadecimals and underscores",
        );
    }
    if end == whole && whole > 1 && bytes[0] == b'0' {
        return bad(
            0,
            "a number with a leading zero is octal in PromQL; write it without",
        );
    }
    match source[..end].parse::<f64>() {
        Ok(value) if value.is_finite() => Ok((value, end)),
        Ok(_) => bad(0, "the number is too large"),
        Err(_) => bad(0, "this is not a number"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(source: &str) -> String {
        string(source).unwrap().0
    }

    #[test]
    fn every_quoting_and_escape_of_promql_is_read() {
        assert_eq!(text(r#""a\a\b\f\n\r\t\v\\\"z""#), "a\x07\x08\x0c\n\r\t\x0b\\\"z");
        assert_eq!(text(r#"'it\'s "fine"'"#), "it's \"fine\"");
        assert_eq!(text(r#""\x41\101\u00e9\U0001F600é""#), "AAé😀é");
        assert_eq!(text(r#""\xc3\xa9""#), "é");
        assert_eq!(text("`a\\d\n\"'`"), "a\\d\n\"'");
        assert_eq!(string("\"ab\" rest"), Ok(("ab".into(), 4)));
        assert_eq!(string("`` x"), Ok((String::new(), 2)));
    }

    #[test]
    fn broken_strings_say_why_and_where() {
        for (source, offset) in [
            (r#""open"#, 0),
            ("`open", 0),
            ("\"two\nlines\"", 0),
            (r#""ab\d""#, 3),
            (r#""\'""#, 1),
            (r#""\x4""#, 1),
            (r#""\x+4""#, 1),
            (r#""\400""#, 1),
            (r#""\ud800""#, 1),
            (r#""\u12é""#, 1),
            (r#""\xff""#, 0),
            (r#""\"#, 1),
        ] {
            assert_eq!(string(source).map_err(|e| e.offset), Err(offset), "{source}");
        }
    }

    #[test]
    fn numbers_are_decimal_and_finite() {
        for (source, value, length) in [
            ("1", 1.0, 1),
            (".5)", 0.5, 2),
            ("1.", 1.0, 2),
            ("2.5e-3 ", 0.0025, 6),
            ("1E+2", 100.0, 4),
            ("0", 0.0, 1),
            ("0.10", 0.1, 4),
        ] {
            assert_eq!(number(source), Ok((value, length)), "{source}");
        }
        for source in ["5m", "0x1F", "010", "1_000", "1e400", "1.2.3", "1e", "1ée"] {
            assert!(number(source).is_err(), "{source}");
        }
    }
}
