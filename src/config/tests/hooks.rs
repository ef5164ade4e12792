//! What is refused of hooks and in which words, what is worth a warning, and what is not said.

use std::time::Duration;

use super::*;
use crate::hooks::{ConsulMode, Deed, EurekaMode, Expect, NacosApi, NacosMode, Patience};
use crate::http::Trust;

const CONSUL: &str = "consul: {address: 'http://r', serviceId: web";
const EUREKA: &str = "eureka: {address: 'http://r/eureka', app: WEB, instanceId: web";
const NACOS: &str = "nacos: {address: 'http://r', serviceName: web, ip: 10.0.0.7, port: 1";
const ETCD: &str = "etcd: {address: 'http://r', key: web";
const HTTP: &str = "http: {url: 'http://r'";

fn on_drain(hook: &str) -> String {
    format!("hooks: {{onDrain: [{{{hook}}}]}}")
}

fn settings_of(hook: &str) -> Settings {
    Given::yaml(&on_drain(hook)).settings()
}

#[test]
fn what_a_hook_lacks_or_cannot_be_is_refused() {
    for (hook, why) in [
        ("consul: {serviceId: web}", ".consul: address is missing"),
        ("consul: {address: 'http://r'}", ".consul: serviceId is missing"),
        (
            "consul: {address: 'r:8500', serviceId: web}",
            ".consul.address: \"r:8500\" has no scheme; write http:// in front of it",
        ),
        (
            "consul: {address: 'http://r', serviceId: ' '}",
            ".consul.serviceId: \" \" is no name",
        ),
        (
            "consul: {address: 'http://r', serviceId: \"a\\nb\"}",
            ".consul.serviceId: \"a\\nb\" is no name",
        ),
        (
            "consul: {address: 'http://r', serviceId: web, mode: gone}",
            ".consul.mode: expected maintenance or deregister, found \"gone\"",
        ),
        (
            "eureka: {app: WEB, instanceId: web}",
            ".eureka: address is missing",
        ),
        (
            "eureka: {address: 'http://r', instanceId: web}",
            ".eureka: app is missing",
        ),
        (
            "eureka: {address: 'http://r', app: WEB}",
            ".eureka: instanceId is missing",
        ),
        (
            "eureka: {address: 'http://r', app: '', instanceId: web}",
            ".eureka.app: \"\" is no name",
        ),
        (
            "eureka: {address: 'http://r', app: WEB, instanceId: ''}",
            ".eureka.instanceId: \"\" is no name",
        ),
        (
            "nacos: {serviceName: web, ip: a, port: 1}",
            ".nacos: address is missing",
        ),
        (
            "nacos: {address: 'http://r', ip: a, port: 1}",
            ".nacos: serviceName is missing",
        ),
        (
            "nacos: {address: 'http://r', serviceName: web, port: 1}",
            ".nacos: ip is missing",
        ),
        (
            "nacos: {address: 'http://r', serviceName: web, ip: a}",
            ".nacos: port is missing",
        ),
        (
            "nacos: {address: 'http://r', serviceName: '', ip: a, port: 1}",
            ".nacos.serviceName: \"\" is no name",
        ),
        (
            "nacos: {address: 'http://r', serviceName: web, ip: '', port: 1}",
            ".nacos.ip: \"\" is no name",
        ),
        (&format!("{NACOS}, user: me}}"), ".nacos: user without password"),
        (
            &format!("{NACOS}, password: x}}"),
            ".nacos: password without user",
        ),
        ("etcd: {key: web}", ".etcd: address is missing"),
        (
            "etcd: {address: 'http://r'}",
            ".etcd: says nothing; write one of key, lease, leaseFile",
        ),
        (
            &format!("{ETCD}, lease: '1'}}"),
            ".etcd: key and lease in one item; write an item for each",
        ),
        (
            "etcd: {address: 'http://r', lease: xyz}",
            ".etcd.lease: \"xyz\" is no lease; write its id as etcdctl shows it",
        ),
        (
            "etcd: {address: 'http://r', key: ''}",
            ".etcd.key: \"\" is no name",
        ),
        (&format!("{ETCD}, user: me}}"), ".etcd: user without password"),
        ("http: {}", ".http: url is missing"),
        (
            &format!("{HTTP}, method: put}}"),
            ".http.method: \"put\" is no method; write PUT, POST, GET or DELETE",
        ),
        (
            &format!("{HTTP}, method: CONNECT}}"),
            ".http.method: \"CONNECT\" is no method; write PUT, POST, GET or DELETE",
        ),
        (
            &format!("{HTTP}, retries: 101}}"),
            ".http.retries: 101 retries, and 100 are the most",
        ),
        (
            &format!("{HTTP}, timeout: 0s}}"),
            ".http.timeout: 0s is too short; write 1ms or more",
        ),
        (
            "signal: SIGKILL",
            ".signal: SIGKILL cannot be caught, so that no program quiesces on it",
        ),
        (
            "signal: SIGSTOP",
            ".signal: SIGSTOP cannot be caught, so that no program quiesces on it",
        ),
        (
            "{}",
            ": says nothing; write one of consul, eureka, nacos, etcd, http, exec, signal",
        ),
    ] {
        let hook = if hook == "{}" { "" } else { hook };
        let line = Given::yaml(&on_drain(hook)).refused();
        let wanted = format!("hooks.onDrain[0]{why}");
        assert!(line.ends_with(&wanted), "{hook}: {line}\n wanted {wanted}");
    }
    let many = vec!["{signal: SIGUSR1}"; 33].join(", ");
    let line = Given::yaml(&format!("hooks: {{onResume: [{many}]}}")).refused();
    assert!(
        line.ends_with("hooks.onResume: 33 hooks, and 32 are the most"),
        "{line}"
    );
}

#[test]
fn what_is_not_said_of_a_hook_has_a_default() {
    let deed = |hook: &str| settings_of(hook).hooks.on_drain[0].deed.clone();
    for text in [CONSUL, EUREKA, NACOS, ETCD, HTTP] {
        let hook = settings_of(&format!("{text}}}")).hooks.on_drain[0].clone();
        let patience = Patience {
            timeout: Duration::from_secs(2),
            retries: 2,
        };
        assert_eq!(hook.patience, patience, "{text}");
        let said = settings_of(&format!("{text}, timeout: 3s, retries: 0, ca: /ca.pem}}"));
        let hook = &said.hooks.on_drain[0];
        assert_eq!(
            (hook.patience.timeout, hook.patience.retries),
            (Duration::from_secs(3), 0)
        );
        let trust = match &hook.deed {
            Deed::Consul(consul) => &consul.trust,
            Deed::Eureka(eureka) => &eureka.trust,
            Deed::Nacos(nacos) => &nacos.trust,
            Deed::Etcd(etcd) => &etcd.trust,
            Deed::Http(call) => &call.trust,
            Deed::Exec(_) | Deed::Signal(_) => panic!("no call"),
        };
        assert!(
            matches!(trust, Trust::File(path) if path.ends_with("ca.pem")),
            "{text}"
        );
    }
    assert!(
        matches!(deed(&format!("{CONSUL}}}")), Deed::Consul(consul) if consul.mode == ConsulMode::Maintenance)
    );
    assert!(
        matches!(deed(&format!("{EUREKA}}}")), Deed::Eureka(eureka) if eureka.mode == EurekaMode::OutOfService)
    );
    assert!(matches!(
        deed(&format!("{NACOS}}}")),
        Deed::Nacos(nacos) if nacos.mode == NacosMode::Disable && nacos.api == NacosApi::V2 && nacos.ephemeral
    ));
    assert!(matches!(
        deed(&format!("{HTTP}, expect: []}}")),
        Deed::Http(call) if call.method == "PUT" && call.expect == Expect::Success && call.body.is_empty()
    ));
    for once in ["signal: SIGUSR1", "exec: {command: [/bin/true]}"] {
        assert_eq!(settings_of(once).hooks.on_drain[0].patience.retries, 0, "{once}");
    }
}

#[test]
fn a_hook_slower_than_the_window_is_worth_a_warning() {
    let warnings = |window: &str, timeout: &str| {
        let hook = on_drain(&format!("{HTTP}, timeout: {timeout}}}"));
        let given = Given::yaml(&format!("drain: {{propagation: {window}}}\n{hook}"));
        given.settings().warnings().collect::<Vec<_>>()
    };
    assert_eq!(
        warnings("5s", "5001ms"),
        [
            "hooks.onDrain[0] (http PUT http://r/) may take 5.001s, longer than the propagation window of 5s: calls may stop before \
             the registry is left; shorten its timeout or lengthen drain.propagation"
        ]
    );
    assert!(warnings("5s", "5s").is_empty());
    assert!(warnings("{min: 1s, max: 6s}", "5500ms").is_empty());
}

#[test]
fn a_secret_in_plain_text_is_worth_a_warning_and_not_shown() {
    for (hook, key) in [
        (format!("{CONSUL}, token: s3cret}}"), Some("token")),
        (format!("{NACOS}, user: me, password: s3cret}}"), Some("password")),
        (format!("{ETCD}, user: me, password: s3cret}}"), Some("password")),
        (
            format!("{HTTP}, headers: {{Authorization: s3cret}}}}"),
            Some("headers.authorization"),
        ),
        (
            format!("{HTTP}, headers: {{X-Api-Key: s3cret}}}}"),
            Some("headers.x-api-key"),
        ),
        (format!("{HTTP}, headers: {{X-Reason: drain}}}}"), None),
        (format!("{CONSUL}, token: {{file: /t}}}}"), None),
        (format!("{ETCD}, user: me, password: {{env: P}}}}"), None),
    ] {
        let warnings: Vec<String> = settings_of(&hook).warnings().collect();
        match key {
            Some(key) => {
                let wanted = format!(" has its {key} in plain text; write {{file: PATH}} or {{env: NAME}}");
                assert!(
                    warnings.len() == 1 && warnings[0].ends_with(&wanted),
                    "{hook}: {warnings:?}"
                );
                assert!(!warnings[0].contains("s3cret"), "{warnings:?}");
            }
            None => assert!(warnings.is_empty(), "{hook}: {warnings:?}"),
        }
    }
}
