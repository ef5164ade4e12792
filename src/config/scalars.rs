//! The plain values: numbers, switches, text, paths, shares and words out of a few.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use hyper::StatusCode;
use serde::de::MapAccess;

use super::duration;
use super::entry::{Entry, Form, Key, MOST_ITEMS, Refusal, Scalar, quoted};
use super::reading::{At, KeySeed, ValueSeed};
use super::section::{Shape, exactly_one, section};
use crate::secret::Secret;

impl Entry for u64 {
    const EXPECTS: &'static str = "a whole number, 0 or more";

    fn scalar(written: Scalar<'_>) -> Result<Self, Refusal> {
        whole(written, Self::EXPECTS, Self::MAX)
    }
}

impl Entry for StatusCode {
    const EXPECTS: &'static str = "the status of an answer, 200 to 599";

    fn scalar(written: Scalar<'_>) -> Result<Self, Refusal> {
        let code = whole(written, Self::EXPECTS, 599)?;
        let status = u16::try_from(code)
            .ok()
            .and_then(|code| Self::from_u16(code).ok());
        match status {
            Some(status) if !status.is_informational() => Ok(status),
            _ => Err(Refusal::unexpected(Self::EXPECTS, &written.to_string())),
        }
    }
}

impl Entry for u16 {
    const EXPECTS: &'static str = "a port, 1 to 65535";

    fn scalar(written: Scalar<'_>) -> Result<Self, Refusal> {
        match whole(written, Self::EXPECTS, Self::MAX.into())? {
            0 => Err(Refusal::unexpected(Self::EXPECTS, &written.to_string())),
            port => Ok(port as Self),
        }
    }
}

/// An exit code, 0 to 255.
impl Entry for u8 {
    const EXPECTS: &'static str = "an exit code, 0 to 255";

    fn scalar(written: Scalar<'_>) -> Result<Self, Refusal> {
        whole(written, Self::EXPECTS, Self::MAX.into()).map(|code| code as Self)
    }
}

/// A whole number up to `most`.
fn whole(written: Scalar<'_>, expects: &str, most: u64) -> Result<u64, Refusal> {
    let text = match written {
        Scalar::Number(text) | Scalar::Text(text) => text,
        Scalar::Switch(_) => "",
    };
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse::<u64>() {
        Ok(number) if digits && number <= most => Ok(number),
        _ => Err(Refusal::unexpected(expects, &written.to_string())),
    }
}

impl Entry for bool {
    const EXPECTS: &'static str = "true or false";

    fn scalar(written: Scalar<'_>) -> Result<Self, Refusal> {
        match written {
            Scalar::Switch(value) => Ok(value),
            Scalar::Text("true") => Ok(true),
            Scalar::Text("false") => Ok(false),
            other => Err(Refusal::unexpected(Self::EXPECTS, &other.to_string())),
        }
    }
}

impl Entry for String {
    const EXPECTS: &'static str = "text";

    fn scalar(written: Scalar<'_>) -> Result<Self, Refusal> {
        match written {
            Scalar::Text(text) => Ok(text.to_owned()),
            // 1.10 would arrive here as 1.1: what is meant as text has to say so.
            other => Err(Refusal(format!("expected text, found {other}; put it in quotes"))),
        }
    }
}

/// An absolute path: the working directory is the child's affair.
impl Entry for PathBuf {
    const EXPECTS: &'static str = "an absolute path";

    fn scalar(written: Scalar<'_>) -> Result<Self, Refusal> {
        match written {
            Scalar::Text(text) if text.starts_with('/') && !text.contains('\0') => Ok(Self::from(text)),
            other => Err(Refusal::unexpected(Self::EXPECTS, &other.to_string())),
        }
    }
}

/// A share in percent, 0 to 99; `20` and `20%` are the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percent(pub f64);

impl Entry for Percent {
    const EXPECTS: &'static str = "a percentage, 0 to 99";

    fn scalar(written: Scalar<'_>) -> Result<Self, Refusal> {
        let text = match written {
            Scalar::Number(text) => text,
            Scalar::Text(text) => text.strip_suffix('%').unwrap_or(text).trim_end(),
            Scalar::Switch(_) => "",
        };
        match text.parse::<f64>() {
            // NaN fails the comparison.
            Ok(percent) if (0.0..=99.0).contains(&percent) => Ok(Self(percent.abs())),
            _ => Err(Refusal::unexpected(Self::EXPECTS, &written.to_string())),
        }
    }
}

/// Whole seconds, as the pod spec counts them: `30`, and `30s` or `1m30s` as well. At most 30 days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WholeSeconds(pub Duration);

impl Entry for WholeSeconds {
    const EXPECTS: &'static str = "whole seconds like 30, or 30s";

    fn scalar(written: Scalar<'_>) -> Result<Self, Refusal> {
        let refusal = || Refusal::unexpected(Self::EXPECTS, &written.to_string());
        if let Ok(seconds) = whole(written, Self::EXPECTS, u64::MAX) {
            let span = Duration::from_secs(seconds);
            return if span > duration::LONGEST {
                Err(Refusal(format!("{seconds} is longer than 30 days (2592000)")))
            } else {
                Ok(Self(span))
            };
        }
        let Scalar::Text(text) = written else {
            return Err(refusal());
        };
        let span = duration::parse(text).map_err(|why| if text.ends_with('h') { why } else { refusal() })?;
        if span.subsec_nanos() == 0 {
            Ok(Self(span))
        } else {
            Err(refusal())
        }
    }
}

/// Reads an enum of another room by a few words, which are all that its key takes.
macro_rules! words {
    ($name:ident, $expects:literal { $($variant:ident = $word:literal,)* }) => {
        impl $crate::config::entry::Entry for $name {
            const EXPECTS: &'static str = $expects;

            fn scalar(
                written: $crate::config::entry::Scalar<'_>,
            ) -> Result<Self, $crate::config::entry::Refusal> {
                match written {
                    $($crate::config::entry::Scalar::Text($word) => Ok(Self::$variant),)*
                    other => Err($crate::config::entry::Refusal::unexpected(
                        <Self as $crate::config::entry::Entry>::EXPECTS,
                        &other.to_string(),
                    )),
                }
            }
        }
    };
}

pub(crate) use words;

section! {
    /// Where a secret stands, when that is not in the config.
    Elsewhere {
        /// In a file.
        file: PathBuf = "file",
        /// In an environment variable.
        env: String = "env",
    }
}

impl Shape for Elsewhere {
    fn shape(&self) -> Result<(), Refusal> {
        exactly_one(&[("file", self.file.is_some()), ("env", self.env.is_some())])
    }
}

impl Entry for Secret {
    const EXPECTS: &'static str = "a text, {file: PATH} or {env: NAME}";

    fn scalar(written: Scalar<'_>) -> Result<Self, Refusal> {
        Ok(Self::Plain(written.text().to_owned()))
    }

    fn mapping<'de, A: MapAccess<'de>>(at: &At<'_>, map: A) -> Result<Self, A::Error> {
        let elsewhere = Elsewhere::mapping(at, map)?;
        Ok(match (elsewhere.file, elsewhere.env) {
            (Some(file), _) => Self::File(file),
            (None, env) => Self::Env(env.unwrap_or_default()),
        })
    }
}

/// HTTP headers by name. Values may be secrets, so `Debug` shows only the names.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Headers(pub Vec<(String, Secret)>);

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(|(name, _)| name))
            .finish()
    }
}

impl Entry for Headers {
    const EXPECTS: &'static str = "a mapping of header names to text";

    fn mapping<'de, A: MapAccess<'de>>(at: &At<'_>, mut map: A) -> Result<Self, A::Error> {
        let mut headers: Vec<(String, Secret)> = Vec::new();
        while let Some(name) = map.next_key_seed(KeySeed(at))? {
            let place = at.key(&name);
            // RFC 9110, section 5.1: a field name is a token.
            let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
            if name.is_empty() || !name.bytes().all(token) {
                return Err(at.refuse(Refusal(format!("{} is no header name", quoted(&name)))));
            }
            if headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(&name)) {
                return Err(place.refuse(Refusal("written twice; keep one".to_owned())));
            }
            if headers.len() == MOST_ITEMS {
                return Err(place.refuse(Refusal(format!("more than {MOST_ITEMS} headers"))));
            }
            let value = map
                .next_value_seed(ValueSeed::<Secret>::new(place))?
                .unwrap_or_else(|| Secret::Plain(String::new()));
            // RFC 9110, section 5.5: no control characters, line ends above all.
            if let Secret::Plain(text) = &value
                && text.chars().any(|letter| letter.is_control() && letter != '\t')
            {
                return Err(place.refuse(Refusal("a header's value has no control characters".to_owned())));
            }
            headers.push((name.into_owned(), value));
        }
        Ok(Self(headers))
    }

    fn assign(_: &mut Option<Self>, _: &[&str], _: &str) -> Result<(), Refusal> {
        Err(Refusal(
            "a mapping is not set by one variable; write it in the config file".to_owned(),
        ))
    }

    fn list(path: &str, keys: &mut Vec<Key>) {
        keys.push(Key {
            path: path.to_owned(),
            form: Form::List,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text<T: Entry>(text: &str) -> Result<T, Refusal> {
        T::scalar(Scalar::Text(text))
    }

    #[test]
    fn percentages_are_0_to_99() {
        assert_eq!(text("20%"), Ok(Percent(20.0)));
        assert_eq!(text("12.5"), Ok(Percent(12.5)));
        assert_eq!(text("0"), Ok(Percent(0.0)));
        for wrong in ["100", "-1", "99.5", "nan", "inf", "", "%", "20%%", "twenty"] {
            let why = format!("expected a percentage, 0 to 99, found \"{wrong}\"");
            assert_eq!(text::<Percent>(wrong), Err(Refusal(why)));
        }
    }

    #[test]
    fn grace_is_whole_seconds() {
        for good in ["30", "30s", "0m30s", "30000ms"] {
            assert_eq!(text(good), Ok(WholeSeconds(Duration::from_secs(30))), "{good}");
        }
        for wrong in ["1.5s", "1500ms", "-30", "-30s", "", "soon", "30.5"] {
            let why = format!("expected whole seconds like 30, or 30s, found \"{wrong}\"");
            assert_eq!(text::<WholeSeconds>(wrong), Err(Refusal(why)));
        }
        assert_eq!(
            text::<WholeSeconds>("2592001"),
            Err(Refusal("2592001 is longer than 30 days (2592000)".into()))
        );
        assert_eq!(
            text::<WholeSeconds>("800h"),
            Err(Refusal("\"800h\" is longer than 30 days (720h)".into()))
        );
    }

    #[test]
    fn whole_numbers_are_not_negative_and_not_words() {
        assert_eq!(text("18446744073709551615"), Ok(u64::MAX));
        for wrong in ["-1", "1.5", "+1", "1e3", "18446744073709551616", "", "many"] {
            let why = format!("expected a whole number, 0 or more, found \"{wrong}\"");
            assert_eq!(text::<u64>(wrong), Err(Refusal(why)));
        }
        assert_eq!(
            text::<u8>("256"),
            Err(Refusal("expected an exit code, 0 to 255, found \"256\"".into()))
        );
        assert_eq!(
            text::<u16>("0"),
            Err(Refusal("expected a port, 1 to 65535, found \"0\"".into()))
        );
    }

    #[test]
    fn numbers_are_no_text() {
        assert_eq!(
            String::scalar(Scalar::Number("1.1")),
            Err(Refusal(
                "expected text, found the number 1.1; put it in quotes".into()
            ))
        );
    }

    #[test]
    fn header_values_are_not_shown() {
        let headers = Headers(vec![(
            "authorization".into(),
            Secret::Plain("Bearer secret".into()),
        )]);
        assert_eq!(format!("{headers:?}"), "[\"authorization\"]");
    }
}
