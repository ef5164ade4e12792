//! "A number and nothing else", as files and programs say it.

use super::Reading;

/// Reads a number with nothing but white space around it. What else there is, is not shown: a
/// wrong path may lead to a secret.
pub(super) fn alone(bytes: &[u8]) -> Reading {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Reading::unknown("it is not text");
    };
    let text = text.trim_ascii();
    if text.is_empty() {
        return Reading::unknown("it is empty");
    }
    match text.parse::<f64>() {
        Ok(value) => Reading::from_value(value),
        Err(_) => Reading::unknown(format!(
            "it is no number and nothing else, but {} bytes of text",
            text.len()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stands_alone() {
        for (text, count) in [("0", 0), (" 12\n", 12), ("3.0", 3), ("0.2\r\n", 1), ("1e2", 100)] {
            assert_eq!(alone(text.as_bytes()), Reading::Count(count), "{text:?}");
        }
    }

    #[test]
    fn anything_else_is_unknown_and_never_zero() {
        for text in [
            "", " \n", "0 0", "0 calls", "zero", "-1", "NaN", "inf", "0x0", "0\0", "٣",
        ] {
            assert!(matches!(alone(text.as_bytes()), Reading::Unknown(_)), "{text:?}");
        }
        assert!(matches!(alone(b"\xff"), Reading::Unknown(_)));
    }

    #[test]
    fn what_it_is_instead_is_not_shown() {
        let Reading::Unknown(why) = alone(b"hunter2") else {
            panic!("no number")
        };
        assert!(!why.0.contains("hunter2"), "{}", why.0);
    }
}
