//! A Nacos that keeps one instance, as its open API is documented, v1 and v2.

use std::collections::BTreeMap;
use std::sync::Mutex;

use serde_json::{Value, json};

use crate::registry::{Asked, Registry, Turn};

/// The one instance it knows.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    pub weight: f64,
    pub enabled: bool,
    pub metadata: Value,
}

/// A server that speaks `version`, and answers 200 with a code for what it does not do, as it does.
pub fn server(version: &'static str, token: Option<&'static str>) -> Registry {
    server_with(version, token, true)
}

pub fn server_with(version: &'static str, token: Option<&'static str>, enabled: bool) -> Registry {
    let original = Instance {
        weight: 2.5,
        enabled,
        metadata: json!({"zone": "a b"}),
    };
    let kept: Mutex<Option<Instance>> = Mutex::new(Some(original));
    Registry::start(move |asked: &Asked, _| {
        let (method, target) = asked.line.split_once(' ').expect("a request line");
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        if (method, path) == ("POST", "/nacos/v1/auth/login") {
            return match asked.body.as_str() {
                "username=deploy%40x&password=p%26w" => Turn::Answer(
                    200,
                    json!({"accessToken": "t0ken", "tokenTtl": 18000}).to_string(),
                ),
                _ => Turn::Answer(403, "unknown user!".into()),
            };
        }
        let query: BTreeMap<String, String> = query.split('&').map(pair).collect();
        if query.get("accessToken").map(String::as_str) != token {
            return Turn::Answer(403, String::new());
        }
        let named = ["web", "10.0.0.7", "50051", "g", "true"];
        let asked_for =
            ["serviceName", "ip", "port", "groupName", "ephemeral"].map(|key| query[key].as_str());
        if path != format!("/nacos/{version}/ns/instance") || asked_for != named {
            return Turn::Answer(404, String::new());
        }
        let mut kept = kept.lock().expect("nobody panics");
        let written = || {
            Some(Instance {
                weight: query["weight"].parse().ok()?,
                enabled: query["enabled"].parse().ok()?,
                metadata: serde_json::from_str(&query["metadata"]).ok()?,
            })
        };
        let done = match (method, kept.clone()) {
            ("GET", Some(instance)) => {
                let data = json!({
                    "ip": "10.0.0.7", "port": 50051, "weight": instance.weight, "healthy": true, "enabled": instance.enabled,
                    "metadata": instance.metadata,
                });
                return Turn::Answer(
                    200,
                    match version {
                        "v1" => data.to_string(),
                        _ => json!({"code": 0, "message": "success", "data": data}).to_string(),
                    },
                );
            }
            ("PUT", Some(_)) | ("POST", None) => {
                *kept = written();
                kept.is_some()
            }
            ("DELETE", Some(_)) => {
                *kept = None;
                true
            }
            _ => false,
        };
        Turn::Answer(
            200,
            match (version, done) {
                ("v1", true) => "ok".into(),
                ("v1", false) => "no".into(),
                (_, true) => json!({"code": 0, "message": "success", "data": "ok"}).to_string(),
                (_, false) => {
                    json!({"code": 20004, "message": "resource not found", "data": null}).to_string()
                }
            },
        )
    })
}

pub fn pair(text: &str) -> (String, String) {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    (name.to_owned(), decoded(value))
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let digits: Vec<u8> = if byte == b'%' {
            rest.by_ref().take(2).collect()
        } else {
            Vec::new()
        };
        let hex = std::str::from_utf8(&digits)
            .ok()
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(hex.unwrap_or(byte));
    }
    String::from_utf8(bytes).expect("UTF-8")
}
