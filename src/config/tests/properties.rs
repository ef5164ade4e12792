use std::fmt::Write as _;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::drain::budget::Waits;

/// A duration as someone may write it, with its milliseconds.
fn duration() -> impl Strategy<Value = String> {
    prop_oneof![
        (0u64..40_000).prop_map(|millis| format!("{millis}ms")),
        (0u64..40).prop_map(|seconds| format!("{seconds}s")),
        (0u64..3, 0u64..60).prop_map(|(minutes, seconds)| format!("{minutes}m{seconds}s")),
    ]
}

fn propagation() -> impl Strategy<Value = String> {
    prop_oneof![
        duration(),
        duration().prop_map(|min| format!("{{min: {min}}}")),
        duration().prop_map(|max| format!("{{max: {max}}}")),
        (duration(), duration()).prop_map(|(min, max)| format!("{{min: {min}, max: {max}}}")),
    ]
}

prop_compose! {
    /// A config of the keys the budget is made of, each there or not.
    fn config()(
        grace in proptest::option::of(0u64..200),
        margin in proptest::option::of(0u32..100),
        pre_stop in proptest::option::of(0u64..40),
        propagation in proptest::option::of(propagation()),
        quiet in proptest::option::of(duration()),
        stop_timeout in proptest::option::of(duration()),
        kill_wait in proptest::option::of(duration()),
    ) -> String {
        let mut yaml = String::from("{");
        let mut key = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                write!(yaml, "{name}: {value}, ").expect("written");
            }
        };
        key("terminationGracePeriodSeconds", grace.map(|seconds| seconds.to_string()));
        key("marginPercent", margin.map(|percent| percent.to_string()));
        key("preStopSeconds", pre_stop.map(|seconds| seconds.to_string()));
        let child = [("stopTimeout", stop_timeout), ("killWait", kill_wait)];
        let drain = [("propagation", propagation), ("quiet", quiet)];
        let mapping = |keys: [(&str, Option<String>); 2]| {
            let written = keys.into_iter().filter_map(|(name, value)| Some(format!("{name}: {}", value?)));
            format!("{{{}}}", written.collect::<Vec<_>>().join(", "))
        };
        key("child", Some(mapping(child)));
        key("drain", Some(mapping(drain)));
        yaml.push('}');
        yaml
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_written_fits_the_budget_or_is_refused(yaml in config()) {
        match Given::yaml(&yaml).load() {
            Ok(settings) => {
                let plan = settings.plan;
                let wait = match plan.waits {
                    Waits::Kept => plan.propagation.min,
                    Waits::Skipped => Duration::ZERO,
                };
                prop_assert!(wait + plan.stop_timeout + plan.kill_wait <= plan.budget.0, "{plan:?}");
                prop_assert!(plan.budget.0 <= plan.grace.0);
                prop_assert!(plan.propagation.min <= plan.propagation.max);
            }
            Err(error) => prop_assert!(!error.to_string().contains('\n')),
        }
    }

    #[test]
    fn any_text_is_parsed_or_refused_on_one_line(yaml in "\\PC{0,60}|[a-z:{}\\[\\]&*!'\" \n-]{0,60}") {
        if let Err(error) = Given::yaml(&yaml).load() {
            prop_assert!(!error.to_string().chars().any(char::is_control), "{error}");
        }
    }

    #[test]
    fn any_value_of_a_variable_or_flag_is_parsed_or_refused_on_one_line(
        index in 0..FLAGS.len(),
        value in "\\PC{0,40}|[0-9smh.:%+-]{0,12}",
    ) {
        let flag = &FLAGS[index];
        for given in [Given::default().flag(flag.long, &value), Given::default().variable(flag.variable, &value)] {
            if let Err(error) = given.load() {
                prop_assert!(!error.to_string().chars().any(char::is_control), "{error}");
            }
        }
    }
}
