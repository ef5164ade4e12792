use std::os::unix::ffi::OsStringExt as _;
use std::time::Duration;

use super::*;
use crate::admin::Socket;
use crate::child::{Signal, Target};
use crate::drain::machine::OnUnknown;
use crate::health::Listen;
use crate::inflight::query::Query;
use crate::inflight::{Absent, SourceConfig};
use crate::telemetry::log::Verbosity;

const MS: fn(u64) -> Duration = Duration::from_millis;

/// A query has no equality of its own; what is written of both is the same.
fn assert_same(one: &Settings, other: &Settings) {
    assert_eq!(format!("{one:?}"), format!("{other:?}"));
}

#[test]
fn nothing_written_gives_the_defaults() {
    let settings = Given::default().settings();
    assert_eq!(settings.plan.grace.0, MS(30_000));
    assert_eq!(settings.plan.budget.0, MS(24_000));
    assert_eq!(settings.plan.propagation.min, MS(5000));
    assert_eq!(settings.child.stop_signal, Signal::TERM);
    assert_eq!(settings.child.signal_target, Target::Process);
    assert_eq!(settings.drain.poll_interval, MS(200));
    assert_eq!(settings.drain.poll_timeout, MS(150));
    assert_eq!(settings.drain.on_unknown, OnUnknown::Wait);
    assert_eq!(settings.drain.triggers, [Signal::TERM, Signal::INT]);
    assert_eq!(settings.health.listen, Listen::Tcp(([0, 0, 0, 0], 9095).into()));
    assert_eq!(settings.health.services, [""]);
    assert_eq!(settings.telemetry.verbosity, Verbosity::Normal);
    assert!(settings.inflight.is_empty());
}

#[test]
fn the_later_layer_wins_key_by_key() {
    let file =
        "drain: {quiet: 1s, threshold: 1, pollInterval: 100ms}\nchild: {stopTimeout: 1s, killWait: 500ms}\n";
    let settings = Given::yaml("drain: {quiet: 2s, threshold: 2}\nchild: {stopTimeout: 2s}\n")
        .file(file)
        .variable("TIDEGATE_DRAIN_QUIET", "3s")
        .variable("TIDEGATE_CHILD_STOP_TIMEOUT", "3s")
        .flag("stop-timeout", "4s")
        .settings();
    assert_eq!(settings.plan.stop_timeout, MS(4000), "the flag");
    assert_eq!(settings.plan.quiet, MS(3000), "the variable");
    assert_eq!(settings.drain.threshold, 2, "TIDEGATE_CONFIG");
    assert_eq!(settings.drain.poll_interval, MS(100), "the file");
    assert_eq!(settings.plan.kill_wait, MS(500), "the file");
}

#[test]
fn lists_are_replaced_not_joined() {
    let settings = Given::yaml("child: {successCodes: [3]}")
        .file("child: {successCodes: [1, 2]}")
        .settings();
    assert_eq!(settings.child.success_codes, [3]);
    let settings = Given::yaml("health: {services: []}")
        .file("health: {services: [a]}")
        .settings();
    assert!(settings.health.services.is_empty());
}

#[test]
fn null_and_nothing_say_nothing() {
    for text in [
        "",
        "\n",
        "# only a comment\n",
        "null",
        "~",
        "---\n",
        "{}",
        "drain:\n",
        "drain: {quiet: }",
        "drain: {quiet: null}",
    ] {
        let settings = Given::yaml(text).file("drain: {quiet: 2s}").settings();
        assert_eq!(settings.plan.quiet, MS(2000), "{text:?}");
    }
    let settings = Given::default().variable("TIDEGATE_QUIET", "").settings();
    assert_same(&settings, &Given::default().settings());
}

#[test]
fn propagation_is_one_time_or_a_range_and_merges_as_a_range() {
    let window = |given: Given| {
        let window = given.settings().plan.propagation;
        (window.min.as_millis(), window.max.as_millis())
    };
    assert_eq!(window(Given::yaml("drain: {propagation: 3s}")), (3000, 3000));
    assert_eq!(
        window(Given::yaml("drain: {propagation: {min: 3s, max: 6s}}")),
        (3000, 6000)
    );
    assert_eq!(
        window(Given::yaml("drain: {propagation: {min: 3s}}")),
        (3000, 3000)
    );
    assert_eq!(
        window(Given::yaml("drain: {propagation: {max: 9s}}")),
        (5000, 9000)
    );
    assert_eq!(
        window(Given::yaml("drain: {propagation: {max: 2s}}")),
        (2000, 2000)
    );
    let layered =
        Given::yaml("drain: {propagation: {max: 7s}}").file("drain: {propagation: {min: 4s, max: 5s}}");
    assert_eq!(window(layered), (4000, 7000));
    let layered =
        Given::yaml("drain: {propagation: {max: 7s}}").variable("TIDEGATE_DRAIN_PROPAGATION_MIN", "2s");
    assert_eq!(window(layered), (2000, 7000));
    assert_eq!(
        window(Given::yaml("drain: {propagation: {max: 7s}}").flag("propagation", "1s")),
        (1000, 1000)
    );
}

#[test]
fn on_unknown_reads_both_ways() {
    let after = |given: Given| given.settings().drain.on_unknown;
    let ten = OnUnknown::ProceedAfter(MS(10_000));
    assert_eq!(after(Given::yaml("drain: {onUnknown: wait}")), OnUnknown::Wait);
    assert_eq!(after(Given::yaml("drain: {onUnknown: {proceedAfter: 10s}}")), ten);
    assert_eq!(
        after(Given::default().variable("TIDEGATE_DRAIN_ON_UNKNOWN_PROCEED_AFTER", "10s")),
        ten
    );
}

#[test]
fn a_source_comes_from_yaml_or_from_flags_and_variables_together() {
    let yaml = "inflight: [{prometheus: {url: 'http://h/m', query: q, absent: zero, arrivals: a}}]";
    let [SourceConfig::Prometheus(source)] = &Given::yaml(yaml).settings().inflight[..] else {
        panic!("one source")
    };
    assert_eq!(
        (
            source.query().source(),
            source.absent(),
            source.arrivals().map(Query::source)
        ),
        ("q", Absent::Zero, Some("a"))
    );
    let given = Given::yaml(yaml)
        .variable("TIDEGATE_INFLIGHT_URL", "http://other/")
        .flag("inflight-query", "p");
    let [SourceConfig::Prometheus(source)] = &given.settings().inflight[..] else {
        panic!("one source")
    };
    assert_eq!(
        (
            source.endpoint().to_string().as_str(),
            source.query().source(),
            source.absent()
        ),
        ("http://other/", "p", Absent::Unknown)
    );
}

#[test]
fn off_is_off_however_yaml_reads_it() {
    for text in ["off", "false", "'off'", "\"false\""] {
        assert_eq!(
            Given::yaml(&format!("health: {{listen: {text}}}"))
                .settings()
                .health
                .listen,
            Listen::Off
        );
    }
    assert_eq!(
        Given::default().flag("listen", "off").settings().health.listen,
        Listen::Off
    );
}

#[test]
fn the_admin_socket_is_auto_unless_said_otherwise() {
    assert_eq!(Given::default().settings().admin, Socket::Auto);
    assert_eq!(Given::yaml("admin: {socket: off}").settings().admin, Socket::Off);
    assert_eq!(
        Given::yaml("admin: {socket: off}")
            .variable("TIDEGATE_ADMIN_SOCKET", "/run/x.sock")
            .settings()
            .admin,
        Socket::Path("/run/x.sock".into())
    );
}

#[test]
fn anchors_and_aliases_work() {
    let settings = Given::yaml("child: {stopTimeout: &t 2s, killWait: *t}").settings();
    assert_eq!(settings.plan.kill_wait, MS(2000));
}

#[test]
fn what_this_version_does_anyway_can_be_written() {
    Given::yaml(
        "hooks: {onDrain: [], onResume: []}\nhealth: {recovery: automatic, checks: []}\nlifecycle: {listen: off, tokenFile: ''}\nadmin: {socket: off}",
    )
    .settings();
}

#[test]
fn service_links_of_kubernetes_are_passed_over() {
    let settings = Given::default()
        .variable("TIDEGATE_SERVICE_HOST", "10.0.0.1")
        .variable("TIDEGATE_PORT", "tcp://10.0.0.1:9095")
        .variable("TIDEGATE_PORT_9095_TCP_ADDR", "10.0.0.1")
        .variable("TIDEGATE_ADMIN_SERVICE_PORT_HTTP", "80")
        .variable("TIDEGATEWAY", "x")
        .settings();
    assert_same(&settings, &Given::default().settings());
}

#[test]
fn what_is_not_ours_may_be_any_bytes() {
    let mut given = Given::default();
    let odd = OsString::from_vec(vec![0xff]);
    given.environment.push((odd.clone(), odd));
    given.settings();
}
