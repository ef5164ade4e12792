//! What has to hold of whatever bytes: the bodies of the fuzz targets, which `tests/inflight_fuzz.rs` runs as well.

use tidegate::http::Endpoint;
use tidegate::inflight::exposition::{Misses, Scan, Scanner};
use tidegate::inflight::query::Query;
use tidegate::inflight::{Absent, JsonConfig, Path, Reading, Take};

/// Queries that look at names, at labels, and at everything.
const QUERIES: [&str; 4] = [
    "m",
    "sum({a=~\".+\"}) - max(m{a!=\"b\"})",
    "{\"m.x\"}",
    "count({__name__=~\".+\"})",
];

/// A body: its first byte says where it is cut. In whatever pieces it comes, it says the same.
pub fn exposition(data: &[u8]) {
    let Some((cut, body)) = data.split_first() else {
        return;
    };
    let (before, after) = body.split_at(usize::from(*cut).min(body.len()));
    for source in QUERIES {
        let query = Query::parse(source).expect("it is in the subset");
        let whole = scan(&query, [body]);
        let pieces = scan(&query, [before, after]);
        let said = |scan: &Scan| {
            format!(
                "{:?} {} {} {}",
                scan.tallies, scan.recognised, scan.eof_marker, scan.unterminated
            )
        };
        assert_eq!(said(&whole), said(&pieces), "{source}");
        // Unknown, or a number: nothing in between.
        let _ = query.evaluate(&whole.tallies, Absent::Unknown);
    }
}

fn scan<'b>(query: &Query, pieces: impl IntoIterator<Item = &'b [u8]>) -> Scan {
    let mut scanner = Scanner::new(query.selectors()).with(Misses::Noted);
    for piece in pieces {
        scanner.feed(piece);
    }
    scanner.finish()
}

/// A query: refused on one line, or read the same again from what it is shown as.
pub fn query(data: &[u8]) {
    let Ok(source) = std::str::from_utf8(data) else {
        return;
    };
    match Query::parse(source) {
        Ok(query) => {
            let again = Query::parse(query.source()).expect("what was read once is read again");
            assert_eq!(query.selectors().len(), again.selectors().len());
            let body = b"m{a=\"b\"} 1\nm 2\nn_total 3\n";
            let (one, two) = (scan(&query, [&body[..]]), scan(&again, [&body[..]]));
            let value = |query: &Query, scan: &Scan| {
                query.evaluate(&scan.tallies, Absent::Zero).map(f64::to_bits).ok()
            };
            assert_eq!(value(&query, &one), value(&again, &two));
        }
        Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
    }
}

/// A path and a document, a NUL between them: a count, or unknown, and never a count of what is no whole number.
pub fn json(data: &[u8]) {
    let mut parts = data.splitn(2, |byte| *byte == 0);
    let (path, document) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let Ok(path) = std::str::from_utf8(path) else {
        return;
    };
    let Ok(path) = Path::parse(path) else { return };
    for take in [Take::Number, Take::Length] {
        let endpoint = Endpoint::parse("http://127.0.0.1:8080/status").expect("a URL");
        match JsonConfig::new(endpoint, path.clone(), take).read(document) {
            Reading::Count(_) => assert!(serde_json::from_slice::<serde_json::Value>(document).is_ok()),
            Reading::Unknown(why) => assert!(!why.0.is_empty()),
        }
    }
}
