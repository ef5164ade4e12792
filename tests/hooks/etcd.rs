//! etcd itself.

use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::registry::{Asked, Registry, Turn};
use crate::support::children::program;
use crate::support::http::post;
use crate::support::patience::eventually;
use crate::support::{Signal, Tidegate, ports};
use crate::{WIDE, hook, settled, up};

/// A server with a directory of its own; gone with this.
struct Etcd {
    process: Child,
    address: std::net::SocketAddr,
    _directory: TempDir,
}

impl Etcd {
    fn start() -> Self {
        let directory = TempDir::new().expect("a directory");
        let (address, peer) = (ports::free(), ports::free());
        let process = Command::new("etcd")
            .arg("--data-dir")
            .arg(directory.path())
            .args(["--listen-client-urls", &format!("http://{address}")])
            .args(["--advertise-client-urls", &format!("http://{address}")])
            .args(["--listen-peer-urls", &format!("http://{peer}")])
            .args(["--initial-advertise-peer-urls", &format!("http://{peer}")])
            .args(["--initial-cluster", &format!("default=http://{peer}")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("etcd is there; `make test` installs it");
        let etcd = Self {
            process,
            address,
            _directory: directory,
        };
        eventually("etcd answers", || {
            etcd.try_ask("/v3/kv/range", &json!({"key": "YQ=="}))
        });
        etcd
    }

    fn try_ask(&self, path: &str, body: &Value) -> Option<Value> {
        let answer = post(self.address, path, &body.to_string()).ok()?;
        serde_json::from_str(&answer.body).ok()
    }

    fn ask(&self, path: &str, body: &Value) -> Value {
        self.try_ask(path, body).expect("an answer")
    }

    /// The value and the lease of the key `web`.
    fn key(&self) -> Option<(String, String)> {
        let found = self.ask("/v3/kv/range", &json!({"key": "d2Vi"}));
        let entry = found["kvs"].get(0)?;
        let text = |name: &str| entry[name].as_str().unwrap_or("0").to_owned();
        Some((text("value"), text("lease")))
    }

    /// Registers `web` with a lease of ten minutes, as an app does.
    fn register(&self) -> String {
        self.register_for("600")
    }

    /// The same, with a lease of so many seconds.
    fn register_for(&self, seconds: &str) -> String {
        let lease = self.ask("/v3/lease/grant", &json!({"TTL": seconds}))["ID"]
            .as_str()
            .expect("a lease")
            .to_owned();
        self.ask(
            "/v3/kv/put",
            &json!({"key": "d2Vi", "value": "MTAuMC4wLjc=", "lease": lease}),
        );
        lease
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_key_is_deleted_and_put_back_with_its_value_and_lease() {
    let etcd = Etcd::start();
    let lease = etcd.register();
    let registered = Some(("MTAuMC4wLjc=".to_owned(), lease));
    assert_eq!(etcd.key(), registered);
    let tidegate = up(
        &format!("{{etcd: {{address: 'http://{}', key: web}}}}", etcd.address),
        "",
    );
    for _ in 0..2 {
        tidegate.ask(&["drain"]);
        settled(&tidegate);
        assert_eq!(hook(&tidegate, 0)["state"], "done");
        assert_eq!(etcd.key(), None);
        tidegate.ask(&["resume"]);
        settled(&tidegate);
        assert_eq!(hook(&tidegate, 0)["state"], "done");
        assert_eq!(etcd.key(), registered);
    }
    // An empty value, which etcd leaves out of its JSON.
    etcd.ask("/v3/kv/put", &json!({"key": "d2Vi"}));
    let empty = etcd.key();
    assert!(empty.is_some());
    tidegate.ask(&["drain"]);
    settled(&tidegate);
    assert_eq!(etcd.key(), None);
    tidegate.ask(&["resume"]);
    settled(&tidegate);
    assert_eq!(etcd.key(), empty);
    // What is gone before it is left does not come back.
    etcd.ask("/v3/kv/deleterange", &json!({"key": "d2Vi"}));
    for way in ["drain", "resume"] {
        tidegate.ask(&[way]);
        settled(&tidegate);
    }
    assert_eq!(etcd.key(), None);
}

#[test]
fn a_lease_is_revoked_by_the_id_that_the_app_keeps() {
    let etcd = Etcd::start();
    let lease: i64 = etcd.register().parse().expect("a number");
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), format!("0x{lease:x}\n")).expect("written");
    let tidegate = up(
        &format!(
            "{{etcd: {{address: 'http://{}', leaseFile: '{}'}}}}, {{etcd: {{address: 'http://{}', lease: '1234', retries: 0}}}}",
            etcd.address,
            file.path().display(),
            etcd.address
        ),
        "",
    );
    tidegate.ask(&["drain"]);
    settled(&tidegate);
    assert_eq!(hook(&tidegate, 0)["state"], "done");
    assert_eq!(etcd.key(), None);
    let unknown = hook(&tidegate, 1);
    assert!(
        unknown["why"]
            .as_str()
            .is_some_and(|why| why.starts_with("it answered 404")),
        "{unknown}"
    );
    // The app takes a new one.
    tidegate.ask(&["resume"]);
    assert_eq!(tidegate.status()["hooks"].as_array().map(Vec::len), Some(0));
}

/// Twenty heartbeats, 0.2 s apart, are twice the least lease etcd grants: without them the key had gone.
#[test]
fn after_a_sigkill_nothing_outlives_the_lease() {
    let etcd = Etcd::start();
    let lease = etcd.register_for("2");
    let heart = format!(
        "while {} -sf -o /dev/null -d '{{\"ID\": \"{lease}\"}}' http://{}/v3/lease/keepalive; do echo beat; sleep 0.2; done",
        program("curl"),
        etcd.address
    );
    let hook = format!("{{etcd: {{address: 'http://{}', key: web}}}}", etcd.address);
    let mut tidegate = Tidegate::wrapping(["/bin/sh", "-c", &heart])
        .config(format!("{}hooks: {{onDrain: [{hook}]}}\n", WIDE.unmeasured()))
        .start();
    tidegate.stdout.wait_for_nth("beat", 20);
    assert!(etcd.key().is_some(), "the app keeps it alive");
    tidegate.signal(Signal::SIGKILL);
    tidegate.wait();
    eventually("the key has gone with its lease", || {
        etcd.key().is_none().then_some(())
    });
}

/// With users, as etcd's guide to authentication has it: root comes first.
#[test]
fn who_logs_in_may() {
    let etcd = Etcd::start();
    etcd.register();
    etcd.ask("/v3/auth/user/add", &json!({"name": "root", "password": "p w"}));
    etcd.ask("/v3/auth/user/grant", &json!({"user": "root", "role": "root"}));
    etcd.ask("/v3/auth/enable", &json!({}));
    assert_eq!(etcd.key(), None, "nobody may look without a token");
    let hook_of = |password: &str| {
        let address = etcd.address;
        format!(
            "{{etcd: {{address: 'http://{address}', key: web, user: root, password: '{password}', retries: 0}}}}"
        )
    };
    let tidegate = up(&format!("{}, {}", hook_of("p w"), hook_of("wrong")), "");
    tidegate.ask(&["drain"]);
    settled(&tidegate);
    assert_eq!(
        hook(&tidegate, 0)["state"],
        "done",
        "{}",
        tidegate.status()["hooks"]
    );
    assert_eq!(hook(&tidegate, 1)["state"], "failed");
    let login = etcd.ask(
        "/v3/auth/authenticate",
        &json!({"name": "root", "password": "p w"}),
    );
    let look = std::process::Command::new(program("curl"))
        .args(["-s", "-X", "POST", "-d", r#"{"key": "d2Vi"}"#, "-H"])
        .arg(format!(
            "Authorization: {}",
            login["token"].as_str().expect("a token")
        ))
        .arg(format!("http://{}/v3/kv/range", etcd.address))
        .output()
        .expect("curl starts");
    let found: Value = serde_json::from_slice(&look.stdout).expect("JSON");
    assert!(found["header"].is_object() && found["kvs"].is_null(), "{found}");
}

/// The first deletion is done, and its answer is lost on the way.
#[test]
fn what_was_deleted_is_put_back_although_nobody_said_that_it_was_deleted() {
    let registry = Registry::start(|asked: &Asked, before| {
        let path = asked.line.split(' ').nth(1).expect("a path");
        let entry = json!({"key": "d2Vi", "value": "MTAuMC4wLjc=", "lease": "77"});
        match (path, before) {
            ("/v3/kv/range", _) => Turn::Answer(200, json!({"kvs": [entry]}).to_string()),
            ("/v3/kv/deleterange", 1) => Turn::Drop,
            _ => Turn::Answer(200, "{}".into()),
        }
    });
    let tidegate = up(
        &format!("{{etcd: {{address: '{}', key: web}}}}", registry.url()),
        "",
    );
    for way in ["drain", "resume"] {
        tidegate.ask(&[way]);
        settled(&tidegate);
        assert_eq!(hook(&tidegate, 0)["state"], "done");
    }
    let last = registry.asked().pop().expect("a request");
    let put: Value = serde_json::from_str(&last.body).expect("JSON");
    assert_eq!(last.line, "POST /v3/kv/put");
    assert_eq!(
        put,
        json!({"key": "d2Vi", "value": "MTAuMC4wLjc=", "lease": "77"})
    );
}

#[test]
fn what_the_app_wrote_at_the_last_moment_is_what_comes_back() {
    let registry = Registry::start(|asked: &Asked, _| {
        let entry = |value: &str| json!({"key": "d2Vi", "value": value, "lease": "77"});
        let answer = match asked.line.as_str() {
            "POST /v3/kv/range" => json!({"kvs": [entry("b2xk")]}),
            "POST /v3/kv/deleterange" => json!({"deleted": "1", "prev_kvs": [entry("bmV3")]}),
            _ => json!({}),
        };
        Turn::Answer(200, answer.to_string())
    });
    let hook = format!("{{etcd: {{address: '{}', key: web}}}}", registry.url());
    let tidegate = up(&hook, "");
    for way in ["drain", "resume"] {
        tidegate.ask(&[way]);
        settled(&tidegate);
    }
    let last = registry.asked().pop().expect("a request");
    assert_eq!(last.line, "POST /v3/kv/put");
    let put: Value = serde_json::from_str(&last.body).expect("JSON");
    assert_eq!(put["value"], "bmV3");
}
