//! The fuzz targets' bodies over their corpus, and over input made up on the spot: bounded, on stable.

#[path = "../fuzz/bodies.rs"]
mod bodies;

use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

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

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_exposition_does_no_harm(cut in any::<u8>(), text in soup(EXPOSITION), noise in vec(any::<u8>(), 0..50)) {
        let data = [&[cut][..], text.as_bytes(), &noise].concat();
        bodies::exposition(&data);
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
