//! Durations as people write them: `5s`, `300ms`, `1m30s`, `1.5s`, `2h`.

use std::time::Duration;

use super::entry::{Entry, Refusal, Scalar, quoted};

/// The longest duration any key takes: 30 days. A pod that needs longer to stop is not stopping.
pub const LONGEST: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The units, largest first, in nanoseconds.
const UNITS: [(&str, u64); 4] = [
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
];

impl Entry for Duration {
    const EXPECTS: &'static str = "a duration like 5s";

    fn scalar(written: Scalar<'_>) -> Result<Self, Refusal> {
        match written {
            Scalar::Switch(_) => Err(Refusal::unexpected(Self::EXPECTS, written.text())),
            Scalar::Text(text) | Scalar::Number(text) => parse(text),
        }
    }
}

/// Parses a duration of at most [`LONGEST`]: numbers with the units `h`, `m`, `s` and `ms`, the
/// largest first, each once.
///
/// # Errors
/// A number without unit, a negative one, an unknown unit, and what is too long.
pub fn parse(text: &str) -> Result<Duration, Refusal> {
    if text.is_empty() {
        return Err(Refusal("empty; write a duration like 5s".to_owned()));
    }
    if text.parse::<f64>().is_ok_and(|number| number < 0.0) || text.starts_with('-') {
        return Err(Refusal(format!("{} is negative; write it like 5s", quoted(text))));
    }
    if text.parse::<f64>().is_ok_and(f64::is_finite) {
        return Err(Refusal(format!("{text} has no unit; write {text}s")));
    }
    let mut nanos: u128 = 0;
    let mut rest = text;
    let mut smallest: Option<usize> = None;
    while !rest.is_empty() {
        let (number, unit, after) = first_part(rest);
        let Some(index) = UNITS.iter().position(|(name, _)| *name == unit) else {
            return Err(malformed(text));
        };
        if smallest.is_some_and(|smallest| index <= smallest) {
            return Err(malformed(text));
        }
        smallest = Some(index);
        nanos += in_nanos(number, UNITS[index].1).ok_or_else(|| malformed(text))?;
        rest = after;
    }
    if nanos > LONGEST.as_nanos() {
        return Err(Refusal(format!("{} is longer than 30 days (720h)", quoted(text))));
    }
    // At most LONGEST, which fits.
    Ok(Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
}

fn malformed(text: &str) -> Refusal {
    Refusal(format!(
        "{} is no duration; write it like 5s, 300ms, 1m30s or 2h",
        quoted(text)
    ))
}

/// Splits `1m30s` into `1`, `m` and `30s`.
fn first_part(text: &str) -> (&str, &str, &str) {
    let is_number = |letter: char| letter.is_ascii_digit() || letter == '.';
    let (number, rest) = text.split_at(text.find(|letter| !is_number(letter)).unwrap_or(text.len()));
    let (unit, after) = rest.split_at(rest.find(is_number).unwrap_or(rest.len()));
    (number, unit, after)
}

/// `number`, digits with at most one point between them, times `unit`. What is finer than a
/// nanosecond is dropped.
fn in_nanos(number: &str, unit: u64) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return None;
    }
    // More than 15 digits of any unit are beyond the longest; keep the sum from overflowing.
    let whole: u128 = whole.trim_start_matches('0').get(..16).map_or_else(
        || whole.trim_start_matches('0').parse().unwrap_or(0),
        |_| u128::from(u64::MAX),
    );
    let fraction = &fraction[..fraction.len().min(9)];
    let part = fraction.parse::<u128>().ok()? * u128::from(unit) / 10_u128.pow(fraction.len() as u32);
    Some(whole * u128::from(unit) + part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        parse(text).expect_err(text).0
    }

    #[test]
    fn durations_read_as_people_write_them() {
        for (text, millis) in [
            ("5s", 5000),
            ("300ms", 300),
            ("1m30s", 90_000),
            ("1.5s", 1500),
            ("2h", 7_200_000),
            ("1h2m3s4ms", 3_723_004),
            ("0s", 0),
            ("0.001s", 1),
            ("007s", 7000),
            ("720h", 2_592_000_000),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        assert_eq!(parse("0.5ms"), Ok(Duration::from_micros(500)));
    }

    #[test]
    fn plain_numbers_are_refused_with_their_unit_spelt_out() {
        assert_eq!(refused("5"), "5 has no unit; write 5s");
        assert_eq!(refused("0"), "0 has no unit; write 0s");
        assert_eq!(refused("1.5"), "1.5 has no unit; write 1.5s");
    }

    #[test]
    fn what_is_no_duration_is_refused() {
        assert_eq!(refused(""), "empty; write a duration like 5s");
        assert_eq!(refused("-5s"), "\"-5s\" is negative; write it like 5s");
        assert_eq!(refused("-5"), "\"-5\" is negative; write it like 5s");
        let malformed = "is no duration; write it like 5s, 300ms, 1m30s or 2h";
        for text in [
            "s", "5 s", " 5s", "5sec", "5d", "30s1m", "5s5s", "1..5s", ".5s", "1.s", "5s3", "ınf", "inf",
            "NaN", "٥s",
        ] {
            assert_eq!(refused(text), format!("\"{text}\" {malformed}"));
        }
    }

    #[test]
    fn the_absurdly_long_is_refused_and_nothing_overflows() {
        let nines = "9".repeat(400);
        for text in ["721h", "43201m", &format!("{nines}h"), &format!("{nines}ms")] {
            assert!(refused(text).ends_with("is longer than 30 days (720h)"), "{text}");
        }
        assert_eq!(parse(&format!("1.{nines}s")).map(|span| span.as_secs()), Ok(1));
    }

    #[test]
    fn what_the_log_prints_can_be_written() {
        for millis in [0, 1, 250, 1000, 1500, 90_000] {
            let span = Duration::from_millis(millis);
            assert_eq!(parse(&crate::drain::budget::Seconds(span).to_string()), Ok(span));
        }
    }
}
