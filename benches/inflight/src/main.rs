//! Sums one metric of the exposition in a file by the crate prometheus-parse, as often as is asked, and
//! prints the fastest time in seconds, then the sum. `inflight-bench FILE METRIC RUNS`

use std::time::Instant;

use prometheus_parse::{Scrape, Value};

fn main() {
    let [file, metric, runs] = std::env::args().skip(1).collect::<Vec<_>>().try_into().expect("FILE METRIC RUNS");
    let body = std::fs::read_to_string(file).expect("the exposition");
    let mut best = f64::INFINITY;
    let mut sum = 0.0;
    for _ in 0..runs.parse::<u32>().expect("a number of runs") {
        let begun = Instant::now();
        let scrape = Scrape::parse(body.lines().map(|line| Ok(line.to_owned()))).expect("an exposition");
        let of_metric = scrape.samples.iter().filter(|sample| sample.metric == metric);
        sum = of_metric
            .map(|sample| match sample.value {
                Value::Gauge(value) | Value::Counter(value) | Value::Untyped(value) => value,
                _ => 0.0,
            })
            .sum();
        best = best.min(begun.elapsed().as_secs_f64());
    }
    println!("{best} {sum}");
}
