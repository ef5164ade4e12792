//! Presets against pages of the programs they know, recorded where that was possible.

mod inflight_app;

use inflight_app::{AMPLE, App, count};
use tidegate::http::Endpoint;
use tidegate::inflight::{Preset, Sources};

macro_rules! page {
    ($name:literal) => {
        include_str!(concat!("fixtures/inflight/", $name, ".txt"))
    };
}

/// A preset, a page of its program, the calls under way on it and the calls ever begun.
const PAGES: &[(Preset, &str, u64, f64)] = &[
    (Preset::Envoy, page!("envoy"), 2, 5.0),
    (Preset::Haproxy, page!("haproxy"), 2, 5.0),
    // Of its six requests and three being written, one is the poll.
    (Preset::Nginx, page!("nginx"), 2, 5.0),
    (Preset::GrpcOtel, page!("grpc-otel"), 3, 11.0),
    (Preset::GrpcGo, page!("grpc-python"), 3, 7.0),
    (Preset::GrpcGo, page!("grpc-go"), 3, 45.0),
    (Preset::GrpcJava, page!("grpc-java"), 2, 11.0),
    (Preset::Spring, page!("spring"), 3, 20.0),
    (Preset::Spring, page!("spring-histogram"), 3, 20.0),
    (Preset::Spring, page!("spring-3.0"), 3, 20.0),
    (Preset::Kestrel, page!("kestrel"), 3, 28.0),
    (Preset::Vllm, page!("vllm"), 11, 86.0),
    (Preset::Triton, page!("triton"), 4, 35.0),
];

#[tokio::test]
async fn every_preset_reads_its_programs_page() {
    for (preset, page, calls, begun) in PAGES {
        let app = App::with_body(page).await;
        let endpoint = Endpoint::parse(&format!("http://{}", app.address)).unwrap();
        let mut sources = Sources::new(vec![preset.source(endpoint).unwrap()]);
        let sample = sources.poll(AMPLE).await;
        assert_eq!(count(&sample), *calls, "{}", preset.name());
        assert_eq!(sample.arrivals, Some(*begun), "{}", preset.name());
    }
}

#[test]
fn no_preset_is_without_a_page() {
    for preset in Preset::ALL {
        assert!(PAGES.iter().any(|page| page.0 == preset), "{}", preset.name());
    }
}

#[tokio::test]
async fn another_programs_page_is_unknown_or_says_that_nothing_was_called_yet() {
    for preset in Preset::ALL {
        let app = App::with_body("# TYPE up gauge\nup 1\n").await;
        let endpoint = Endpoint::parse(&format!("http://{}", app.address)).unwrap();
        let mut sources = Sources::new(vec![preset.source(endpoint).unwrap()]);
        let (parts, _) = sources.survey(AMPLE, std::time::Instant::now).await;
        let first_call_creates = [
            Preset::GrpcGo,
            Preset::GrpcJava,
            Preset::GrpcOtel,
            Preset::Spring,
            Preset::Kestrel,
        ];
        let known = matches!(parts[0].reading, tidegate::inflight::Reading::Count(0));
        assert_eq!(known, first_call_creates.contains(&preset), "{}", preset.name());
    }
}

#[tokio::test]
async fn envoy_is_asked_for_the_few_lines_that_count() {
    let app = App::with_body(page!("envoy")).await;
    let endpoint = Endpoint::parse(&format!("http://{}", app.address)).unwrap();
    let mut sources = Sources::new(vec![Preset::Envoy.source(endpoint).unwrap()]);
    sources.poll(AMPLE).await;
    assert!(
        app.requests()[0].starts_with("GET /stats/prometheus?filter=downstream_rq_(active%7Ctotal) HTTP/1.1"),
        "{:?}",
        app.requests()
    );
}

#[tokio::test]
async fn our_own_polls_of_nginx_are_no_arrivals() {
    let page = |requests: usize| {
        inflight_app::ok(&format!(
            "Active connections: 1 \nserver accepts handled requests\n 1 1 {requests} \nReading: 0 Writing: 1 Waiting: 0 \n"
        ))
    };
    // An arrival comes before the third poll.
    let app =
        App::start(move |n| vec![inflight_app::Act::Send(page(if n < 2 { n + 1 } else { n + 2 }))]).await;
    let endpoint = Endpoint::parse(&app.url()).unwrap();
    let mut sources = Sources::new(vec![Preset::Nginx.source(endpoint).unwrap()]);
    let mut arrivals = Vec::new();
    for _ in 0..4 {
        let sample = sources.poll(AMPLE).await;
        assert_eq!(count(&sample), 0);
        arrivals.push(sample.arrivals.unwrap());
    }
    assert_eq!(arrivals, [0.0, 0.0, 1.0, 1.0]);
}
