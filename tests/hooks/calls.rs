//! `http` hooks: tries, failures, secrets, https.

use std::time::Duration;

use crate::registry::{Registry, Turn, fine};
use crate::support::Signal;
use crate::support::children::TOLD;
use crate::support::http::get;
use crate::support::patience::eventually;
use crate::{hook, settled, up, with_hooks};

#[test]
fn it_is_tried_again_until_it_is_done() {
    let registry = Registry::start(|_, before| match before {
        0 => Turn::Answer(500, "no".into()),
        1 => Turn::Drop,
        _ => fine(),
    });
    let mut tidegate = up(
        &format!(
            "{{http: {{method: POST, url: '{}/leave?a=b', headers: {{X-Reason: drain}}, body: 'gone', retries: 2}}}}",
            registry.url()
        ),
        "",
    );
    assert!(registry.asked().is_empty(), "nothing is called before the drain");
    tidegate.ask(&["drain"]);
    settled(&tidegate);
    let done = hook(&tidegate, 0);
    assert_eq!(
        (&done["state"], &done["tries"], &done["on"]),
        (&"done".into(), &3.into(), &"onDrain".into())
    );
    assert_eq!(done["why"], serde_json::Value::Null);
    let told = tidegate.ask(&["status"]);
    assert!(
        told.contains("http POST ") && told.contains("/leave: done"),
        "{told}"
    );
    for asked in registry.asked() {
        assert_eq!(asked.line, "POST /leave?a=b");
        assert_eq!(asked.headers["x-reason"], "drain");
        assert_eq!(asked.body, "gone");
    }
    let apart: Vec<Duration> = registry
        .asked()
        .windows(2)
        .map(|two| two[1].at - two[0].at)
        .collect();
    assert!(
        apart[0] >= Duration::from_millis(50) && apart[1] >= Duration::from_millis(100),
        "{apart:?}"
    );
    let metrics = get(tidegate.health(), "/metrics").expect("a page").body;
    assert!(
        metrics.contains("tidegate_hook_results_total{on=\"onDrain\",result=\"success\"} 1"),
        "{metrics}"
    );
    tidegate.signal(Signal::SIGTERM);
    assert_eq!(tidegate.wait().code(), TOLD);
    assert_eq!(registry.asked().len(), 3);
    assert_eq!(tidegate.termination().0["hooks"]["done"], 1);
}

#[test]
fn a_failure_is_loud_and_stops_no_drain() {
    let hanging = Registry::start(|_, _| Turn::Hang);
    let refusing = Registry::start(|_, _| Turn::Answer(403, "the secret is s3cret".into()));
    let redirecting = Registry::start(|_, _| Turn::Answer(302, String::new()));
    let mut tidegate = up(
        &format!(
            "{{http: {{url: '{}', timeout: 50ms, retries: 1}}}}, {{http: {{url: '{}', retries: 0}}}}, \
             {{http: {{url: '{}', retries: 0}}}}, {{http: {{url: 'http://127.0.0.1:1', retries: 0}}}}",
            hanging.url(),
            refusing.url(),
            redirecting.url()
        ),
        "",
    );
    // A hold first, so that there is all the time to look.
    tidegate.ask(&["drain"]);
    tidegate.stderr.wait_for("no end within 50ms; given up");
    tidegate
        .stderr
        .wait_for("it answered 403 Forbidden; are the credentials right?; given up");
    tidegate.stderr.wait_for("redirects are not followed");
    tidegate
        .stderr
        .wait_for("connection refused: nothing listens there");
    let metrics = get(tidegate.health(), "/metrics").expect("a page").body;
    assert!(
        metrics.contains("tidegate_hook_results_total{on=\"onDrain\",result=\"failure\"} 4"),
        "{metrics}"
    );
    tidegate.signal(Signal::SIGTERM);
    assert_eq!(tidegate.wait().code(), TOLD);
    let said = tidegate.termination();
    assert_eq!(said.verdict(), "unmeasured");
    assert_eq!(
        (&said.0["hooks"]["done"], &said.0["hooks"]["failed"]),
        (&0.into(), &4.into())
    );
    assert!(
        said.text("message")
            .contains("not out of every registry: http PUT"),
        "{said:?}"
    );
    assert_eq!((hanging.asked().len(), redirecting.asked().len()), (2, 1));
    assert!(
        tidegate.stderr.with("s3cret").is_empty(),
        "what it answers is not logged"
    );
}

#[test]
fn what_counts_as_a_success_can_be_said() {
    let registry = Registry::start(|_, _| Turn::Answer(404, String::new()));
    let call = |expect: &str| format!("{{http: {{url: '{}', retries: 0{expect}}}}}", registry.url());
    let all = [call(", expect: [200, 404]"), call(", expect: [200]"), call("")].join(", ");
    let tidegate = up(&all, "");
    tidegate.ask(&["drain"]);
    settled(&tidegate);
    let states = [0, 1, 2].map(|index| hook(&tidegate, index)["state"].as_str().map(str::to_owned));
    assert_eq!(
        states.map(|state| state.unwrap_or_default()),
        ["done", "failed", "failed"]
    );
}

#[test]
fn secrets_come_from_files_and_variables_and_are_shown_nowhere() {
    let registry = Registry::start(|_, _| Turn::Answer(401, String::new()));
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), "s3cret-file\n").expect("written");
    let url = registry
        .url()
        .replace("http://", "http://s3cret-user:s3cret-password@");
    let mut tidegate = with_hooks(
        &format!(
            "{{http: {{url: '{url}/?token=s3cret-query', retries: 1, body: s3cret-body, \
             headers: {{X-File: {{file: '{}'}}, X-Env: {{env: THE_TOKEN}}, X-Plain: s3cret-plain}}}}}}, \
             {{http: {{url: '{url}', retries: 0, headers: {{X-None: {{file: /no/such/token}}}}}}}}",
            file.path().display()
        ),
        "",
    )
    .env("THE_TOKEN", "s3cret-env")
    .argument("-v")
    .start();
    tidegate.child();
    tidegate.ask(&["drain"]);
    settled(&tidegate);
    std::fs::write(file.path(), "s3cret-rotated").expect("written");
    let asked = registry.wait_for(2);
    assert_eq!(asked.headers["x-file"], "s3cret-file");
    assert_eq!(asked.headers["x-env"], "s3cret-env");
    assert_eq!(asked.headers["x-plain"], "s3cret-plain");
    assert!(asked.headers["authorization"].starts_with("Basic "));
    assert!(
        hook(&tidegate, 1)["why"]
            .as_str()
            .is_some_and(|why| why.starts_with("/no/such/token: "))
    );
    let status = tidegate.status().to_string();
    assert!(!status.contains("s3cret"), "{status}");
    tidegate.signal(Signal::SIGTERM);
    tidegate.wait();
    assert!(
        tidegate.stderr.with("s3cret").is_empty(),
        "{:?}",
        tidegate.stderr.with("s3cret")
    );
    assert!(!tidegate.termination().0.to_string().contains("s3cret"));
}

#[test]
fn what_a_hook_will_miss_is_said_at_the_start() {
    let token = tempfile::NamedTempFile::new().expect("a file");
    let call = |url: &str, more: &str| format!("{{http: {{url: '{url}', {more}}}}}");
    let of_file = |file: &str| format!("headers: {{X: {{file: '{file}'}}}}");
    let missing = [
        call("http://a/", &of_file("/no/such/token")),
        call("http://b/", "headers: {X: {env: NO_SUCH_VARIABLE}}"),
        call("https://c/", "ca: /no/such/ca"),
        "{exec: {command: [/no/such/program]}}".to_owned(),
    ];
    let there = [
        call("http://d/", &of_file(&token.path().display().to_string())),
        "{exec: {command: [/bin/sh, -c, exit]}}".to_owned(),
        "{etcd: {address: 'http://e/', leaseFile: /no/such/lease}}".to_owned(),
    ];
    let all: Vec<String> = missing.into_iter().chain(there).collect();
    let tidegate = up(&all.join(", "), "");
    for what in [
        "hooks.onDrain[0]: headers.x: /no/such/token: No such file",
        "hooks.onDrain[1]: headers.x: the variable NO_SUCH_VARIABLE is not set",
        "hooks.onDrain[2]: ca: /no/such/ca: No such file",
        "hooks.onDrain[3]: /no/such/program: No such file",
    ] {
        tidegate.stderr.wait_for(what);
    }
    assert_eq!(tidegate.stderr.with("is there when it is called").len(), 4);
}

#[test]
fn a_registry_over_https_is_believed_by_its_ca_alone() {
    let registry = Registry::start_secure(|_, _| fine());
    let ca = |name: &str| format!("{}/tests/fixtures/tls/{name}", env!("CARGO_MANIFEST_DIR"));
    let call = |ca: String| {
        format!(
            "{{http: {{url: '{}/x', retries: 0, ca: '{ca}'}}}}",
            registry.url()
        )
    };
    let tidegate = up(
        &format!(
            "{}, {}, {}, {{http: {{url: '{}', retries: 0}}}}",
            call(ca("first.pem")),
            call(ca("second.pem")),
            call(ca("first.key")),
            registry.url()
        ),
        "",
    );
    tidegate.ask(&["drain"]);
    settled(&tidegate);
    let why = |index| {
        hook(&tidegate, index)["why"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    assert_eq!(
        (hook(&tidegate, 0)["state"].as_str(), why(0).as_str()),
        (Some("done"), "")
    );
    assert!(why(1).starts_with("TLS: "), "{}", why(1));
    assert!(why(2).contains("holds no certificate"), "{}", why(2));
    assert!(why(3).starts_with("TLS: "), "{}", why(3));
    assert_eq!(registry.lines(), ["PUT /x"]);
}

#[test]
fn an_endless_answer_is_cut_short() {
    let registry = Registry::start(|_, _| Turn::Endless);
    let tidegate = up(
        &format!("{{http: {{url: '{}', timeout: 20s}}}}", registry.url()),
        "",
    );
    tidegate.ask(&["drain"]);
    settled(&tidegate);
    assert_eq!(hook(&tidegate, 0)["state"], "done");
    eventually("the connection is closed", || {
        (registry.cut_short() == 1).then_some(())
    });
}

#[test]
fn the_systems_authorities_are_believed_where_none_is_named() {
    let registry = Registry::start_secure(|_, _| fine());
    let call = format!("{{http: {{url: '{}', retries: 0}}}}", registry.url());
    let authority = format!("{}/tests/fixtures/tls/first.pem", env!("CARGO_MANIFEST_DIR"));
    for (variable, state) in [("SSL_CERT_FILE", "done"), ("NO_SUCH_VARIABLE", "failed")] {
        let tidegate = with_hooks(&call, "").env(variable, &authority).start();
        tidegate.child();
        tidegate.ask(&["drain"]);
        settled(&tidegate);
        assert_eq!(hook(&tidegate, 0)["state"], state, "{}", hook(&tidegate, 0));
    }
}
