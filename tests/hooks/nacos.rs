//! Nacos: left, come back to, and what an earlier container left there.

use std::collections::BTreeMap;

use serde_json::json;

use crate::nacos_server::{Instance, pair, server, server_with};
use crate::registry::{Asked, Registry, Turn};
use crate::support::Signal;
use crate::support::patience::eventually;
use crate::{hook, settled, up};

fn nacos(registry: &Registry, more: &str) -> String {
    format!(
        "{{nacos: {{address: '{}', serviceName: web, ip: 10.0.0.7, port: 50051, group: g, retries: 0{more}}}}}",
        registry.url()
    )
}

/// Leaves and comes back; what was written each time.
fn there_and_back(registry: &Registry, more: &str) -> Vec<(String, Option<Instance>)> {
    let tidegate = up(&nacos(registry, more), "");
    for way in ["drain", "resume"] {
        tidegate.ask(&[way]);
        settled(&tidegate);
        let hook = hook(&tidegate, 0);
        assert_eq!(hook["state"], "done", "{hook} {:?}", registry.lines());
    }
    writes(registry)
}

/// What was written so far.
fn writes(registry: &Registry) -> Vec<(String, Option<Instance>)> {
    let writes = registry
        .asked()
        .into_iter()
        .filter(|asked| !asked.line.starts_with("GET") && !asked.line.contains("login"));
    writes
        .map(|asked| {
            let (method, target) = asked.line.split_once(' ').expect("a request line");
            let query: BTreeMap<_, _> = target
                .split_once('?')
                .expect("a query")
                .1
                .split('&')
                .map(pair)
                .collect();
            let instance = query.get("weight").map(|weight| Instance {
                weight: weight.parse().expect("a number"),
                enabled: query["enabled"] == "true",
                metadata: serde_json::from_str(&query["metadata"]).expect("JSON"),
            });
            (method.to_owned(), instance)
        })
        .collect()
}

fn instance(weight: f64, enabled: bool) -> Option<Instance> {
    Some(Instance {
        weight,
        enabled,
        metadata: json!({"zone": "a b"}),
    })
}

/// One that we took out: it carries what it weighed.
fn taken_out(weight: f64, enabled: bool) -> Option<Instance> {
    let metadata = json!({"zone": "a b", "tidegate-draining": "2.5"});
    Some(Instance {
        metadata,
        ..instance(weight, enabled)?
    })
}

#[test]
fn it_is_disabled_and_all_else_of_it_is_kept() {
    for (version, more) in [("v1", ", api: v1"), ("v2", "")] {
        let wrote = there_and_back(&server(version, None), more);
        let expected = [("PUT", taken_out(2.5, false)), ("PUT", instance(2.5, true))];
        assert_eq!(
            wrote,
            expected.map(|(method, instance)| (method.to_owned(), instance))
        );
    }
}

#[test]
fn one_that_somebody_disabled_stays_so() {
    for mode in ["", ", mode: weight", ", mode: deregister"] {
        let wrote = there_and_back(&server_with("v2", None, false), mode);
        let (_, back) = wrote.last().expect("a write");
        assert_eq!(*back, instance(2.5, false), "{mode}");
    }
}

#[test]
fn its_weight_is_taken_and_given_back() {
    let wrote = there_and_back(&server("v2", None), ", mode: weight");
    let expected = [("PUT", taken_out(0.0, true)), ("PUT", instance(2.5, true))];
    assert_eq!(
        wrote,
        expected.map(|(method, instance)| (method.to_owned(), instance))
    );
}

#[test]
fn it_is_removed_and_registered_as_it_was() {
    for (version, more) in [
        ("v1", ", api: v1, mode: deregister"),
        ("v2", ", mode: deregister"),
    ] {
        let registry = server(version, None);
        let wrote = there_and_back(&registry, more);
        let reads = registry
            .lines()
            .iter()
            .filter(|line| line.starts_with("GET"))
            .count();
        assert_eq!(
            reads, 1,
            "nothing is looked for at the start: a removal leaves no mark"
        );
        let expected = [("DELETE", None), ("POST", instance(2.5, true))];
        assert_eq!(
            wrote,
            expected.map(|(method, instance)| (method.to_owned(), instance))
        );
    }
}

#[test]
fn a_login_comes_first_where_there_is_a_user() {
    let registry = server("v2", Some("t0ken"));
    there_and_back(&registry, ", user: deploy@x, password: 'p&w'");
    assert!(registry.lines()[0].starts_with("POST /nacos/v1/auth/login"));
}

#[test]
fn an_answer_of_200_that_says_no_is_a_failure() {
    let said = |version: &str, instance: String, no: String| {
        let registry = Registry::start(move |asked: &Asked, _| match asked.line.starts_with("GET") {
            true => Turn::Answer(200, instance.clone()),
            false => Turn::Answer(200, no.clone()),
        });
        let tidegate = up(&nacos(&registry, &format!(", api: {version}")), "");
        tidegate.ask(&["drain"]);
        settled(&tidegate);
        hook(&tidegate, 0)["why"].clone()
    };
    let why = "it answered 200, and that it was not done";
    let (found, no) = (
        json!({"code": 0, "data": {"weight": 1.0}}),
        json!({"code": 20004, "data": null}),
    );
    assert_eq!(said("v2", found.to_string(), no.to_string()), why);
    assert_eq!(
        said("v1", json!({"weight": 1.0}).to_string(), "no".to_owned()),
        why
    );
}

/// The registry remembers an update for whoever comes back under the same address.
#[test]
fn what_an_earlier_container_took_out_is_given_back_at_the_start() {
    for (version, more, out) in [
        ("v1", ", api: v1", taken_out(2.5, false)),
        ("v2", "", taken_out(2.5, false)),
        ("v2", ", mode: weight", taken_out(0.0, true)),
    ] {
        let registry = server(version, None);
        let mut first = up(&nacos(&registry, more), "");
        first.signal(Signal::SIGTERM);
        first.wait();
        let second = up(&nacos(&registry, more), "");
        let written = eventually("two writes", || {
            let written = writes(&registry);
            (written.len() == 2).then_some(written)
        });
        let expected = [("PUT", out), ("PUT", instance(2.5, true))];
        assert_eq!(
            written,
            expected.map(|(method, instance)| (method.to_owned(), instance))
        );
        settled(&second);
        let hook = hook(&second, 0);
        assert_eq!((&hook["on"], &hook["state"]), (&"start".into(), &"done".into()));
    }
}

#[test]
fn what_somebody_disabled_is_not_enabled_by_a_start() {
    let registry = server_with("v2", None, false);
    let tidegate = up(&nacos(&registry, ""), "");
    registry.wait_for(1);
    settled(&tidegate);
    assert_eq!(hook(&tidegate, 0)["state"], "done");
    assert_eq!(writes(&registry), []);
}

/// The program registers when it is up, and only then is there something to give back. Three servers, three words for
/// what is not there.
#[test]
fn an_instance_that_is_not_registered_yet_is_waited_for() {
    let marked = json!({"weight": 1.0, "enabled": false, "metadata": {"tidegate-draining": "3"}});
    let not_there = [
        ("v2", 404, json!({"code": 20004, "data": null}).to_string()),
        ("v2", 200, json!({"code": 20004, "data": null}).to_string()),
        (
            "v1",
            500,
            "caused: no ips found for cluster DEFAULT in service g@@web;".to_owned(),
        ),
    ];
    let waiting = not_there.map(|(version, code, words)| {
        let marked = marked.clone();
        let registry = Registry::start(move |asked: &Asked, before| {
            let is_v1 = version == "v1";
            match (before, asked.line.starts_with("GET")) {
                (0, _) => Turn::Answer(code, words.clone()),
                (_, true) if is_v1 => Turn::Answer(200, marked.to_string()),
                (_, true) => Turn::Answer(200, json!({"code": 0, "data": marked}).to_string()),
                (_, false) if is_v1 => Turn::Answer(200, "ok".into()),
                (_, false) => Turn::Answer(200, json!({"code": 0, "data": "ok"}).to_string()),
            }
        });
        let tidegate = up(&nacos(&registry, &format!(", api: {version}")), "");
        (registry, tidegate)
    });
    for (registry, tidegate) in waiting {
        registry.wait_for(3);
        settled(&tidegate);
        let hook = hook(&tidegate, 0);
        assert_eq!(
            (&hook["state"], &hook["tries"]),
            (&"done".into(), &2.into()),
            "{hook}"
        );
        let given = Instance {
            weight: 3.0,
            enabled: true,
            metadata: json!({}),
        };
        assert_eq!(writes(&registry), [("PUT".to_owned(), Some(given))]);
        assert!(tidegate.stderr.with("given up").is_empty());
    }
}

#[test]
fn leaving_what_is_not_registered_is_a_failure_and_is_not_put_off_by_waiting_for_it() {
    let registry = Registry::start(|_, _| Turn::Answer(404, String::new()));
    let tidegate = up(&nacos(&registry, ""), "");
    registry.wait_for(1);
    tidegate.ask(&["drain"]);
    settled(&tidegate);
    let hook = hook(&tidegate, 0);
    assert_eq!(
        (&hook["on"], &hook["why"]),
        (&"onDrain".into(), &"the instance is not registered there".into())
    );
}

/// Neither by the container that took it out, nor by its successor.
#[test]
fn what_somebody_disabled_stays_so_in_the_next_container() {
    for (more, last) in [
        ("", instance(2.5, false)),
        (", mode: weight", instance(2.5, false)),
    ] {
        let registry = server_with("v2", None, false);
        let mut first = up(&nacos(&registry, more), "");
        first.signal(Signal::SIGTERM);
        first.wait();
        let second = up(&nacos(&registry, more), "");
        settled(&second);
        assert_eq!(hook(&second, 0)["state"], "done");
        let written = writes(&registry);
        assert_eq!(
            written.last().map(|(_, instance)| instance),
            Some(&last),
            "{more}"
        );
    }
}

#[test]
fn it_comes_back_as_it_was_when_it_was_left_last() {
    let reads = std::sync::atomic::AtomicU32::new(0);
    let registry = Registry::start(move |asked: &Asked, _| {
        let data = match asked.line.starts_with("GET") {
            // Each time somebody has given it another weight.
            true => json!({"weight": reads.fetch_add(1, std::sync::atomic::Ordering::Relaxed)}),
            false => json!("ok"),
        };
        Turn::Answer(200, json!({"code": 0, "data": data}).to_string())
    });
    let tidegate = up(&nacos(&registry, ", mode: weight"), "");
    registry.wait_for(1);
    for _ in 0..2 {
        for way in ["drain", "resume"] {
            tidegate.ask(&[way]);
            settled(&tidegate);
        }
    }
    let weights: Vec<f64> = writes(&registry)
        .into_iter()
        .filter_map(|(_, instance)| Some(instance?.weight))
        .collect();
    assert_eq!(weights, [0.0, 1.0, 0.0, 2.0]);
}

/// Where the instance is, in the registry's own words; and an address with a path is the whole of it.
#[test]
fn it_is_looked_for_where_it_is() {
    let registry = Registry::start(|_, _| Turn::Answer(404, String::new()));
    let more = ", namespace: n 1, cluster: c, ephemeral: false";
    let hook = nacos(&registry, more).replace(&registry.url(), &format!("{}/registry/", registry.url()));
    let _tidegate = up(&hook, "");
    let asked = registry.wait_for(1).line;
    let (path, query) = asked.split_once('?').expect("a query");
    assert_eq!(path, "GET /registry/v2/ns/instance");
    let query: BTreeMap<_, _> = query.split('&').map(pair).collect();
    let wanted = [
        ("clusterName", "c"),
        ("ephemeral", "false"),
        ("groupName", "g"),
        ("ip", "10.0.0.7"),
        ("namespaceId", "n 1"),
        ("port", "50051"),
        ("serviceName", "web"),
    ];
    assert_eq!(
        query,
        wanted
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into()
    );
}
