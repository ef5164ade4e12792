//! However much a program sends, tidegate does not grow. Alone in its file: it measures its process.

mod inflight_app;

use std::time::{Duration, Instant};

use inflight_app::{Act, App, head, unknown};
use tidegate::inflight::Absent;

/// The most memory this process ever had resident, in KiB (proc(5), VmHWM).
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

async fn flooded(headers: &str, piece: Vec<u8>, timeout: Duration) -> String {
    let head = head("200 OK", headers, "");
    let app = App::start(move |_| vec![Act::Send(head.clone()), Act::Flood(piece.clone())]).await;
    let start = Instant::now();
    let sample = app
        .sources_with("sum(calls)", Absent::Zero, None)
        .poll(timeout)
        .await;
    assert!(
        start.elapsed() < timeout + Duration::from_secs(10),
        "{:?}",
        start.elapsed()
    );
    // Not the client's memory only: the connection has to be gone.
    app.wait_gone(1).await;
    unknown(&sample).to_owned()
}

#[test]
fn endless_bodies_are_stopped_and_kept_nowhere() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let minute = Duration::from_secs(60);
        let lines = "other{a=\"b\"} 1\n".repeat(1000).into_bytes();
        // Once to reach the ordinary size: buffers, allocator, runtime.
        assert!(
            flooded("", lines.clone(), Duration::from_millis(20))
                .await
                .contains("no answer within 20ms")
        );
        let before = peak_kib();
        for _ in 0..3 {
            assert!(
                flooded("", lines.clone(), minute)
                    .await
                    .contains("larger than 64 MiB")
            );
            assert!(
                flooded("", vec![b'x'; 10_000], minute)
                    .await
                    .contains("larger than 64 MiB")
            );
            assert!(
                flooded("", b"calls{a=\"".repeat(1000), minute)
                    .await
                    .contains("larger than 64 MiB")
            );
        }
        let grown = peak_kib() - before;
        // 576 MiB have gone by.
        assert!(grown < 8 * 1024, "grown by {grown} KiB");
    });
}
