//! What holds of every registry alike.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::registry::{Asked, Registry, Turn, fine};
use crate::support::patience::eventually;
use crate::support::{Running, Signal};
use crate::{hook, not_ready, settled, up};

/// Every registry, with what it answers when all is well.
fn registries() -> [(&'static str, String); 4] {
    let nacos = r#"{"code": 0, "data": {"weight": 1.0}}"#;
    [
        ("consul: {address: 'URL', serviceId: web", "{}".to_owned()),
        (
            "eureka: {address: 'URL', app: WEB, instanceId: web",
            String::new(),
        ),
        (
            "nacos: {address: 'URL', serviceName: web, ip: 10.0.0.7, port: 1",
            nacos.to_owned(),
        ),
        ("etcd: {address: 'URL', lease: '77'", "{}".to_owned()),
    ]
}

/// One of them, on a program that has never served: nothing is asked of it at the start.
fn only_leaving(text: &str) -> Running {
    let (tidegate, _) = not_ready(&format!("{{{text}}}}}"), Path::new("/no/such/file"));
    let tidegate = tidegate.start();
    tidegate.child();
    tidegate.ask(&["drain"]);
    settled(&tidegate);
    tidegate
}

#[test]
fn every_registry_is_tried_again_after_a_500_and_a_connection_that_broke() {
    for (text, answer) in registries() {
        let registry = Registry::start(move |_, before| match before {
            0 => Turn::Answer(500, String::new()),
            1 => Turn::Drop,
            _ => Turn::Answer(200, answer.clone()),
        });
        let tidegate = only_leaving(&text.replace("URL", &registry.url()));
        let hook = hook(&tidegate, 0);
        assert_eq!(
            (&hook["state"], &hook["tries"], &hook["on"]),
            (&"done".into(), &3.into(), &"onDrain".into()),
            "{text}: {:?}",
            registry.lines()
        );
    }
}

#[test]
fn no_registry_that_hangs_is_waited_for_longer_than_its_timeout() {
    for (text, _) in registries() {
        let registry = Registry::start(|_, _| Turn::Hang);
        let text = text.replace("URL", &registry.url());
        let tidegate = only_leaving(&format!("{text}, timeout: 100ms, retries: 0"));
        let hook = hook(&tidegate, 0);
        assert_eq!(
            (&hook["state"], &hook["why"]),
            (&"failed".into(), &"no end within 100ms".into()),
            "{text}"
        );
    }
}

#[test]
fn every_registry_is_believed_by_the_ca_that_is_named() {
    for (text, answer) in registries() {
        let registry = Registry::start_secure(move |_, _| Turn::Answer(200, answer.clone()));
        let room = tempfile::tempdir().expect("a directory");
        let ca = room.path().join("ca.pem");
        let hook = |more: &str| format!("{{{}, retries: 0{more}}}}}", text.replace("URL", &registry.url()));
        let hooks = format!("{}, {}", hook(&format!(", ca: '{}'", ca.display())), hook(""));
        let (tidegate, _) = not_ready(&hooks, Path::new("/no/such/file"));
        let tidegate = tidegate.start();
        tidegate.child();
        // Not before it is needed.
        let first = format!("{}/tests/fixtures/tls/first.pem", env!("CARGO_MANIFEST_DIR"));
        std::fs::copy(first, &ca).expect("copied");
        tidegate.ask(&["drain"]);
        settled(&tidegate);
        let states = [0, 1].map(|index| hook_state(&tidegate, index));
        assert_eq!(
            states,
            ["done", "failed"],
            "{text}: {}",
            tidegate.status()["hooks"]
        );
    }
}

fn hook_state(tidegate: &Running, index: usize) -> String {
    hook(tidegate, index)["state"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// Whether a request brings an instance back, in any registry's words.
fn brings_back(asked: &Asked) -> bool {
    let line = asked.line.as_str();
    line.contains("enable=false")
        || line.ends_with("status?value=UP")
        || line.contains("enabled=true")
        || line.ends_with("/v3/kv/put")
}

/// Whether one takes it out.
fn takes_out(asked: &Asked) -> bool {
    let line = asked.line.as_str();
    line.contains("enable=true")
        || line.ends_with("OUT_OF_SERVICE")
        || line.contains("enabled=false")
        || line.ends_with("/v3/kv/deleterange")
}

#[test]
fn after_ten_holds_a_stop_in_the_middle_of_a_resume_ends_out_of_every_registry() {
    let entry = r#"{"key": "d2Vi", "value": "YQ==", "lease": "77"}"#;
    let etcd = format!(r#"{{"kvs": [{entry}], "prev_kvs": [{entry}]}}"#);
    let etcd = ("etcd: {address: 'URL', key: web", etcd);
    let [consul, eureka, nacos, _] = registries();
    let all = [consul, eureka, nacos, etcd];
    std::thread::scope(|scope| {
        for (text, answer) in all {
            scope.spawn(move || ten_holds_and_a_stop(text, answer));
        }
    });
}

fn ten_holds_and_a_stop(text: &str, answer: String) {
    let is_slow = Arc::new(AtomicBool::new(false));
    let slow = Arc::clone(&is_slow);
    let registry = Registry::start(move |asked, _| {
        if slow.load(Ordering::Relaxed) && brings_back(asked) {
            std::thread::sleep(Duration::from_millis(300));
        }
        Turn::Answer(200, answer.clone())
    });
    let hook = format!("{{{}}}}}", text.replace("URL", &registry.url()));
    let (tidegate, _) = not_ready(&hook, Path::new("/no/such/file"));
    let mut tidegate = tidegate.start();
    tidegate.child();
    let count = |what: fn(&Asked) -> bool| registry.asked().iter().filter(|asked| what(asked)).count();
    for turn in 1..=10 {
        for way in ["drain", "resume"] {
            is_slow.store(turn == 10 && way == "resume", Ordering::Relaxed);
            tidegate.ask(&[way]);
            if !is_slow.load(Ordering::Relaxed) {
                settled(&tidegate);
            }
        }
    }
    eventually("the last resume is under way", || {
        (count(brings_back) == 10).then_some(())
    });
    tidegate.signal(Signal::SIGTERM);
    tidegate.wait();
    assert_eq!((count(takes_out), count(brings_back)), (11, 10), "{text}");
    let asked = registry.asked();
    let back = asked.iter().rfind(|asked| brings_back(asked)).expect("a resume");
    let out = asked.last().expect("a leaving");
    assert!(takes_out(out), "{text}: {:?}", registry.lines());
    assert!(out.at - back.at >= Duration::from_millis(300), "{text}");
}

/// Told to drain when it has asked, and has no answer yet.
fn drained_at_its_look(registry: &Registry) -> Running {
    let hook = format!(
        "{{consul: {{address: '{}', serviceId: web-1, timeout: 600s}}}}",
        registry.url()
    );
    let tidegate = up(&hook, "");
    registry.wait_for(1);
    tidegate.ask(&["drain"]);
    tidegate
}

#[test]
fn a_look_that_hangs_does_not_hold_up_the_leaving() {
    let registry = Registry::start(|asked: &Asked, _| match asked.line.starts_with("GET") {
        true => Turn::Hang,
        false => fine(),
    });
    let tidegate = drained_at_its_look(&registry);
    assert!(registry.wait_for(2).line.contains("enable=true"));
    settled(&tidegate);
}

#[test]
fn nothing_is_taken_away_once_the_drain_has_begun() {
    let mark = r#"{"_service_maintenance:web-1": {"Notes": "tidegate: draining"}}"#;
    let (begin, begun) = std::sync::mpsc::channel::<()>();
    let begun = std::sync::Mutex::new(begun);
    let registry = Registry::start(move |asked: &Asked, _| match asked.line.starts_with("GET") {
        true => {
            // The answer comes after the drain has begun.
            let _ = begun.lock().expect("nobody panics").recv();
            Turn::Answer(200, mark.into())
        }
        false => fine(),
    });
    let tidegate = drained_at_its_look(&registry);
    begin.send(()).expect("it waits");
    settled(&tidegate);
    let changes: Vec<String> = registry
        .lines()
        .into_iter()
        .filter(|line| line.starts_with("PUT"))
        .collect();
    assert!(
        matches!(&changes[..], [one] if one.contains("enable=true")),
        "{changes:?}"
    );
}
