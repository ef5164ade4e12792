//! What of the start is ours to think about: the command line read, the config made of its layers.
//! `cargo bench --bench start`; the result is in docs/benchmarks.md.

use std::ffi::OsString;
use std::hint::black_box;
use std::time::Instant;

use tidegate::cli::{args, plain};
use tidegate::config::{self, Inputs};

const ROUNDS: u32 = 2000;

const LINE: [&str; 9] = [
    "tidegate",
    "--grace-period",
    "30s",
    "--quiet",
    "1s",
    "--",
    "serve",
    "--port",
    "80",
];

const YAML: &str =
    "terminationGracePeriodSeconds: 30\ndrain: {propagation: 5s, quiet: 1s}\nhealth: {listen: off}";

fn main() {
    let line: Vec<OsString> = LINE.iter().map(OsString::from).collect();
    each("the command line, as images have it", || {
        assert!(black_box(plain::run(&line)).is_some());
    });
    each("the command line, by its definition", || {
        assert!(black_box(args::parse(line.iter().cloned())).is_ok());
    });
    for (name, variable) in [
        ("the config, nothing set", None),
        ("the config, a flag's variable", Some(("TIDEGATE_QUIET", "1s"))),
        (
            "the config, a key's variable",
            Some(("TIDEGATE_DRAIN_QUIET", "1s")),
        ),
        ("the config, TIDEGATE_CONFIG", Some(("TIDEGATE_CONFIG", YAML))),
    ] {
        each(name, || {
            let inputs = Inputs {
                file: None,
                environment: variable.map(|(name, value)| (OsString::from(name), OsString::from(value))),
                flags: Vec::new(),
            };
            assert!(black_box(config::load(inputs)).is_ok());
        });
    }
}

fn each(name: &str, mut work: impl FnMut()) {
    let begin = Instant::now();
    for _ in 0..ROUNDS {
        work();
    }
    println!("{:>10.1?}  {name}", begin.elapsed() / ROUNDS);
}
