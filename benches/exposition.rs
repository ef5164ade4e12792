//! How fast an exposition is scanned: 10 MB as a large Envoy shows them, one wanted metric at the
//! end. `cargo bench --bench exposition [-- FILE]`, which leaves the exposition in FILE, so that
//! `benches/inflight.py` hands the same to others. The results are in docs/benchmarks.md.

use std::hint::black_box;
use std::time::{Duration, Instant};

use tidegate::inflight::exposition::Scanner;
use tidegate::inflight::query::Query;

/// Clusters whose metrics make about the size wanted.
const CLUSTERS: usize = 8330;

fn exposition() -> Vec<u8> {
    let mut body = String::new();
    let labels = |n: usize| {
        format!(
            "envoy_cluster_name=\"outbound|8080||service-{n}.namespace-{}.svc.cluster.local\"",
            n % 20
        )
    };
    for metric in [
        "upstream_rq_total",
        "upstream_rq_active",
        "upstream_cx_total",
        "membership_healthy",
    ] {
        body.push_str(&format!("# TYPE envoy_cluster_{metric} gauge\n"));
        for cluster in 0..CLUSTERS {
            body.push_str(&format!(
                "envoy_cluster_{metric}{{{}}} {cluster}\n",
                labels(cluster)
            ));
        }
    }
    body.push_str("# TYPE envoy_cluster_upstream_rq_time histogram\n");
    for cluster in 0..CLUSTERS {
        for bucket in ["0.5", "1", "5", "10", "25", "50", "100", "+Inf"] {
            let labels = labels(cluster);
            body.push_str(&format!(
                "envoy_cluster_upstream_rq_time_bucket{{{labels},le=\"{bucket}\"}} {cluster}\n"
            ));
        }
    }
    body.push_str("envoy_http_downstream_rq_active{envoy_http_conn_manager_prefix=\"ingress\"} 3\n");
    body.into_bytes()
}

fn scan(body: &[u8], query: &Query) -> Duration {
    let begun = Instant::now();
    let mut scanner = Scanner::new(query.selectors());
    for piece in body.chunks(64 * 1024) {
        scanner.feed(black_box(piece));
    }
    black_box(scanner.finish());
    begun.elapsed()
}

fn main() {
    let body = exposition();
    if let Some(file) = std::env::args().skip(1).find(|word| word != "--bench") {
        std::fs::write(file, &body).expect("the file can be written");
    }
    println!("{:.1} MB", body.len() as f64 / 1e6);
    for query in [
        "sum(envoy_http_downstream_rq_active)",
        "sum(grpc_server_started_total) - sum(grpc_server_handled_total)",
        "sum(envoy_cluster_upstream_rq_active)",
        "sum({__name__=~\".*_rq_active\"})",
    ] {
        let query = Query::parse(query).expect("a query of the subset");
        // The fastest: whatever else the machine does only adds to it.
        let each = (0..20).map(|_| scan(&body, &query)).min().unwrap_or_default();
        let rate = body.len() as f64 / each.as_secs_f64() / 1e9;
        println!(
            "{rate:6.2} GB/s  {:9.3} ms  {}",
            each.as_secs_f64() * 1e3,
            query.source()
        );
    }
}
