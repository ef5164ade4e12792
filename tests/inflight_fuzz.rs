//! The fuzz targets' bodies over their corpus, and over input made up on the spot: bounded, on stable.

#[path = "../fuzz/bodies.rs"]
mod bodies;

use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tidegate::http::Endpoint;
use tidegate::inflight::{JsonConfig, Reading, Take};

fn corpus(name: &str, body: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/corpus")
        .join(name);
    let files: Vec<_> = std::fs::read_dir(folder).expect("a corpus").collect();
    assert!(files.len() >= 5, "{} of {name}", files.len());
    for file in files {
        let data = std::fs::read(file.expect("an entry").path()).expect("a file");
        body(&data);
        // And cut off anywhere.
        for end in 0..data.len() {
            body(&data[..end]);
        }
    }
}

#[test]
fn the_corpus_does_no_harm() {
    corpus("exposition", bodies::exposition);
    corpus("query", bodies::query);
    corpus("json", bodies::json);
}

const EXPOSITION: &[&str] = &[
    "m",
    "n_total",
    "{",
    "}",
    "\"",
    "\\",
    "\\n",
    "a",
    "=",
    "=\"b\"",
    ",",
    " ",
    "\n",
    "\r\n",
    "1",
    "-1",
    "1e308",
    "NaN",
    "+Inf",
    "# EOF",
    "# TYPE m counter",
    "# HELP m \\\\",
    "é",
    "\u{0}",
    "m{a=\"b\"} 1\n",
    "{\"m.x\"} 2\n",
    " 1700000000",
    " # {x=\"y\"} 1",
];

const QUERY: &[&str] = &[
    "m", "n_total", "{", "}", "(", ")", "sum", "min", "max", "avg", "count", "+", "-", "*", "/", "a", "=",
    "!=", "=~", "!~", "\"b\"", "\"(\"", "'c'", "`d`", ",", " ", "1", "1e9", "0x1f", "by", "[5m]", "offset",
    "__name__", "\"m.x\"", "é", "#", "Inf", "NaN",
];

const JSON: &[&str] = &[
    "$",
    ".a",
    "['a']",
    "[0]",
    "[*]",
    "..",
    "[?@.a>1]",
    "\u{0}",
    "{",
    "}",
    "[",
    "]",
    "\"a\"",
    ":",
    ",",
    "1",
    "-1",
    "1.5",
    "1e400",
    "\"7\"",
    "null",
    "true",
    "18446744073709551616",
];

fn soup(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    vec(select(words), 0..40).prop_map(|words| words.concat())
}

/// A value, and the calls under way that it says: none is unknown.
fn saying() -> impl Strategy<Value = (String, Option<u64>)> {
    let most = 1_u64 << 53;
    prop_oneof![
        (0..=most).prop_map(|count| (count.to_string(), Some(count))),
        (0..=most).prop_map(|count| (format!("\"{count}\""), Some(count))),
        (0..1_000_000_u64).prop_map(|count| (format!("{count}.0"), Some(count))),
        (1..=most).prop_map(|count| (format!("-{count}"), None)),
        (0..1_000_000_u64).prop_map(|count| (format!("{count}.5"), Some(count + 1))),
        "[a-z ]{0,8}".prop_map(|word| (format!("\"{word}\""), None)),
        select(vec!["null", "true", "{}", "[]", "\"1.5\"", "\"-1\"", "\" 1\""])
            .prop_map(|text| (text.to_owned(), None)),
    ]
}

fn read(path: &str, take: Take, document: &str) -> Option<u64> {
    let endpoint = Endpoint::parse("http://127.0.0.1/").expect("a URL");
    let path = tidegate::inflight::Path::parse(path).expect("a path");
    match JsonConfig::new(endpoint, path, take).read(document.as_bytes()) {
        Reading::Count(count) => Some(count),
        Reading::Unknown(_) => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_exposition_does_no_harm(cut in any::<u8>(), text in soup(EXPOSITION), noise in vec(any::<u8>(), 0..50)) {
        let data = [&[cut][..], text.as_bytes(), &noise].concat();
        bodies::exposition(&data);
    }

    #[test]
    fn a_document_says_what_stands_at_the_path_and_nothing_else(
        (value, calls) in saying(),
        others in vec(saying(), 0..4),
        items in 0..50_usize,
    ) {
        let others: String = others.iter().enumerate().map(|(n, (other, _))| format!("\"o{n}\": {other}, ")).collect();
        let list = vec!["7"; items].join(",");
        let document = format!("{{{others}\"calls\": {{\"now\": {value}}}, \"list\": [{list}]}}");
        prop_assert_eq!(read("$.calls.now", Take::Number, &document), calls, "{}", document);
        prop_assert_eq!(read("$.list", Take::Length, &document), Some(items as u64));
        prop_assert_eq!(read("$.list", Take::Number, &document), None);
        prop_assert_eq!(read("$.none", Take::Number, &document), None);
    }

    #[test]
    fn any_query_does_no_harm(text in soup(QUERY)) {
        bodies::query(text.as_bytes());
    }

    #[test]
    fn any_path_and_document_do_no_harm(path in soup(JSON), document in soup(JSON), noise in vec(any::<u8>(), 0..20)) {
        bodies::json(format!("${path}\0{document}").as_bytes());
        bodies::json(&[b"$.a\0{\"a\":", document.as_bytes(), b"}", &noise].concat());
    }
}
