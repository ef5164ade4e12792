//! `docs/drain.md` says what the code does.

use std::path::Path;

use tidegate::drain::record::Verdict;
use tidegate::drain::table;

const BEGIN: &str = "<!-- table: printed by tidegate::drain::table::markdown(); \
                     UPDATE_DOCS=1 cargo test --test drain_docs writes it -->\n";
const END: &str = "<!-- end of table -->";

fn chapter() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/drain.md")
}

#[test]
fn the_table_in_the_docs_is_the_table_in_the_code() {
    let text = std::fs::read_to_string(chapter()).expect("docs/drain.md is there");
    let (before, rest) = text
        .split_once(BEGIN)
        .expect("docs/drain.md marks where its table begins");
    let (printed, after) = rest
        .split_once(END)
        .expect("docs/drain.md marks where its table ends");
    let table = format!("\n{}\n", table::markdown());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let updated = format!("{before}{BEGIN}{table}{END}{after}");
        std::fs::write(chapter(), updated).expect("docs/drain.md can be written");
    } else {
        assert!(
            printed == table,
            "docs/drain.md differs from the code: UPDATE_DOCS=1 cargo test --test drain_docs"
        );
    }
}

#[test]
fn every_verdict_is_explained() {
    let text = std::fs::read_to_string(chapter()).expect("docs/drain.md is there");
    for verdict in Verdict::ALL {
        assert!(text.contains(&format!("| `{verdict}` |")), "{verdict}");
    }
}
