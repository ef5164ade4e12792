use super::*;
use crate::inflight::query::{Query, Tally};
use proptest::prelude::*;

fn scan_in_pieces<'b>(query: &str, pieces: impl IntoIterator<Item = &'b [u8]>) -> Scan {
    let query = Query::parse(query).unwrap();
    let mut scanner = Scanner::new(query.selectors());
    pieces.into_iter().for_each(|piece| scanner.feed(piece));
    scanner.finish()
}

fn scan(query: &str, body: &str) -> Scan {
    scan_in_pieces(query, [body.as_bytes()])
}

fn tally(query: &str, body: &str) -> Tally {
    scan(query, body).tallies.remove(0)
}

const BODY: &str = "\
# HELP calls Calls, by method. calls{} 99\n\
# TYPE calls gauge\n\
calls{method=\"a\"} 1\n\
calls{method=\"b\"} 2 1700000000000\r\n\
\n\
  calls\t{ method = \"c\", } 4\n\
callsign 100\n\
calls_total 100\n\
calls:rate 100\n\
{\"calls\", method=\"d\"} 8 # {trace=\"x\"} 1\n\
{\"my.calls\"} 7\n\
mycalls 100\n\
# EOF\n";

#[test]
fn wanted_series_are_found_among_the_others() {
    assert_eq!(tally("sum(calls)", BODY).sum(), 15.0);
    assert_eq!(tally("sum(calls)", BODY).count(), 4);
    assert_eq!(tally("sum(calls{method!=\"a\"})", BODY).sum(), 14.0);
    assert_eq!(tally("{\"my.calls\"}", BODY).sum(), 7.0);
    assert_eq!(tally("sum({__name__=~\"my.*\"})", BODY).sum(), 107.0);
    assert_eq!(tally("sum({method!=\"\"})", BODY).sum(), 15.0);
    assert_eq!(tally("nothing", BODY).count(), 0);
}

#[test]
fn one_pass_serves_all_selectors() {
    let scan = scan("sum(calls) - calls_total - sum(calls{method=\"a\"})", BODY);
    let sums: Vec<_> = scan.tallies.iter().map(Tally::sum).collect();
    assert_eq!(sums, [15.0, 100.0, 1.0]);
    assert!(scan.eof_marker && scan.recognised && !scan.unterminated);
}

#[test]
fn a_broken_line_of_a_wanted_metric_spoils_it_with_its_line() {
    for (body, fault) in [
        ("x 1\nm{a=\"b\"} one\n", "the value is not a number at line 2"),
        ("m\n", "there is no value at line 1"),
        ("m{a=\"b} 1\nm 2\n", "a quote is not closed at line 1"),
        (
            "m{a=\"1\"} 1\n\nm{a=\"1\"} 2\n",
            "the series was there before at line 3",
        ),
        (
            "m{a=\"1\",b=\"\"} 1\nm{b=\"\",a=\"1\"} 1\n",
            "the series was there before at line 2",
        ),
        (
            "m.x 1\n",
            "the name has a character it may only have in quotes at line 1",
        ),
        (
            "{\"m\" 1\n",
            "a comma or closing brace is missing between labels at line 1",
        ),
    ] {
        assert_eq!(tally("sum(m)", body).fault(), Some(fault), "{body}");
    }
}

#[test]
fn broken_lines_of_others_are_none_of_our_business() {
    let body = "<html>\nn{a=\"b 1\nm 3\nn one\n{\"n\" 1\n{\n}\nn 1\nn 1\n\u{0}\n";
    let tally = tally("m", body);
    assert_eq!((tally.fault(), tally.sum()), (None, 3.0));
    // A label that already says the series is not meant.
    let tally = self::tally("m{a=\"x\"}", "m{a=\"y\"} broken\nm{a=\"x\"} 1\n");
    assert_eq!((tally.fault(), tally.sum()), (None, 1.0));
}

#[test]
fn only_an_exposition_is_recognised() {
    for body in [
        "",
        "\n\n",
        "<html><body>\nfine\n</body></html>\n",
        "{\"status\":\"ok\"}",
        "\u{0}\u{1}\u{2}",
        "# a comment\n",
        "ok\n",
        "#HELPER x\n",
    ] {
        assert!(!scan("m", body).recognised, "{body}");
    }
    for body in [
        "other 1",
        "# HELP other Text.\n",
        "#TYPE other gauge\n",
        "# EOF",
        "{\"o.t\"} 1\n",
    ] {
        assert!(scan("m", body).recognised, "{body}");
    }
}

#[test]
fn an_overlong_line_is_skipped_or_spoils() {
    let long = "x".repeat(MAX_LINE);
    let body = format!("n{{a=\"{long}\"}} 1\nm 2\n");
    assert_eq!(tally("m", &body).sum(), 2.0);
    assert_eq!(tally("m", &body).fault(), None);
    let body = format!("o 1\nm{{a=\"{long}\"}} 1\n");
    assert_eq!(
        tally("m", &body).fault(),
        Some("the line is longer than 64 KiB at line 2")
    );
    // Cut into pieces, nothing more than a line is kept.
    let body = format!("o 1\nm{{a=\"{}", long.repeat(8));
    let query = Query::parse("m").unwrap();
    let mut scanner = Scanner::new(query.selectors());
    body.as_bytes().chunks(1000).for_each(|piece| scanner.feed(piece));
    assert!(scanner.kept() <= MAX_LINE + 1);
    assert_eq!(
        scanner.finish().tallies[0].fault(),
        Some("the line is longer than 64 KiB at line 2")
    );
}

#[test]
fn more_series_than_are_remembered_are_unknown() {
    let body: String = (0..=MAX_SERIES).map(|n| format!("m{{n=\"{n}\"}} 1\n")).collect();
    assert_eq!(
        tally("sum(m)", &body).fault(),
        Some("there are more than 65536 series at line 65537")
    );
    let body: String = (0..MAX_SERIES).map(|n| format!("m{{n=\"{n}\"}} 1\n")).collect();
    assert_eq!(tally("sum(m)", &body).sum(), MAX_SERIES as f64);
}

#[test]
fn a_last_line_without_an_end_is_read_and_reported() {
    let scan = scan("m", "n 1\nm 5");
    assert!(scan.unterminated);
    assert_eq!(scan.tallies[0].sum(), 5.0);
}

fn summary(scan: &Scan) -> String {
    format!("{scan:?}")
}

proptest! {
    #[test]
    fn no_bytes_make_the_scanner_panic(
        body in proptest::collection::vec(any::<u8>(), 0..300),
        pieces in proptest::collection::vec(proptest::sample::select(vec![
            "m", "{", "}", "\"", "\\", "a", "=", ",", " ", "\n", "\r\n", "1", "NaN", "# EOF", "# TYPE m x", "é", "\u{0}",
        ]), 0..60),
    ) {
        for query in ["m", "sum({a=~\".+\"})", "{\"m.x\"}"] {
            scan_in_pieces(query, [&body[..]]);
            scan(query, &pieces.concat());
        }
    }

    #[test]
    fn chunk_boundaries_change_nothing(
        words in proptest::collection::vec(proptest::sample::select(vec![
            "m 1\n", "m{a=\"b\"} 2\n", "m{a=\"c\\\"d\"}", " 3\n", "n 1\n", "\n", "\r\n", "{\"m\",a=\"z\"} 1\n", "m", "x", "# EOF\n", "# HELP m m\n", "m{a=", " ",
        ]), 0..30),
        cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..8),
    ) {
        let body = words.concat();
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(body.len() + 1)).collect();
        cuts.extend([0, body.len()]);
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|cut| &body.as_bytes()[cut[0]..cut[1]]);
        for query in ["sum(m)", "sum({a!=\"\"})"] {
            let whole = scan(query, &body);
            prop_assert_eq!(summary(&whole), summary(&scan_in_pieces(query, pieces.clone())));
            let bytes = body.as_bytes().chunks(1);
            prop_assert_eq!(summary(&whole), summary(&scan_in_pieces(query, bytes)));
        }
    }
}
