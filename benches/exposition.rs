//! How fast an exposition is scanned: 10 MB as a large Envoy shows them, one wanted metric at the
//! end. `cargo bench --bench exposition`; the result beside it is in docs/inflight.md.

use std::hint::black_box;
use std::time::Instant;

use tidegate::inflight::exposition::Scanner;
use tidegate::inflight::query::Query;

/// Clusters whose metrics make about the size wanted.
const CLUSTERS: usize = 7400;

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

fn main() {
    let body = exposition();
    println!("{:.1} MB", body.len() as f64 / 1e6);
    for query in [
        "sum(envoy_http_downstream_rq_active)",
        "sum(grpc_server_started_total) - sum(grpc_server_handled_total)",
        "sum(envoy_cluster_upstream_rq_active)",
        "sum({__name__=~\".*_rq_active\"})",
    ] {
        let query = Query::parse(query).expect("a query of the subset");
        let runs = 20;
        let start = Instant::now();
        for _ in 0..runs {
            let mut scanner = Scanner::new(query.selectors());
            for piece in body.chunks(64 * 1024) {
                scanner.feed(black_box(piece));
            }
            black_box(scanner.finish());
        }
        let each = start.elapsed() / runs;
        let rate = body.len() as f64 / each.as_secs_f64() / 1e9;
        println!("{rate:6.2} GB/s  {each:>10.1?}  {}", query.source());
    }
}
