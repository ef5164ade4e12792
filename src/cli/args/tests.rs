use std::os::unix::ffi::OsStringExt as _;

use super::*;
use crate::config::flags::FLAGS;

fn understand(line: &[&str]) -> Result<Invocation, UsageError> {
    parse(
        std::iter::once("tidegate")
            .chain(line.iter().copied())
            .map(OsString::from),
    )
}

fn run_of(line: &[&str]) -> Run {
    match understand(line) {
        Ok(Invocation::Run(run)) => run,
        other => panic!("{other:?}"),
    }
}

fn refused(line: &[&str]) -> String {
    let text = understand(line).expect_err("refused").to_string();
    assert!(!text.contains('\n'), "{text}");
    text.strip_suffix("; see tidegate --help")
        .expect("the way to the help")
        .to_owned()
}

#[test]
fn a_command_runs_with_and_without_run_and_flags() {
    for line in [
        &["--", "serve", "-v"][..],
        &["run", "--", "serve", "-v"],
        &["--grace-period", "30s", "--", "serve", "-v"],
        &[
            "run",
            "--grace-period=30s",
            "-v",
            "--config",
            "a.yaml",
            "--",
            "serve",
            "-v",
        ],
    ] {
        let run = run_of(line);
        assert_eq!(
            (run.program, run.arguments),
            ("serve".into(), vec!["-v".into()]),
            "{line:?}"
        );
    }
    let run = run_of(&["--grace-period", "30s", "-v", "--config", "a.yaml", "--", "x"]);
    assert_eq!(run.asked.config, Some("a.yaml".into()));
    let flags: Vec<_> = run
        .asked
        .flags
        .iter()
        .map(|(flag, value)| (flag.path, value.to_str()))
        .collect();
    assert_eq!(
        flags,
        [
            ("terminationGracePeriodSeconds", Some("30s")),
            ("telemetry.verbosity", Some("verbose"))
        ]
    );
}

#[test]
fn the_command_is_never_read_as_ours() {
    let run = run_of(&["--", "check", "--help", "--", "run"]);
    assert_eq!(run.program, "check");
    assert_eq!(run.arguments, ["--help", "--", "run"]);
}

#[test]
fn the_command_and_the_flags_stay_byte_for_byte() {
    let odd = OsString::from_vec(vec![0xff, b'=', 0xfe]);
    let line = [
        "tidegate".into(),
        "--quiet".into(),
        odd.clone(),
        "--".into(),
        odd.clone(),
        odd.clone(),
    ];
    let Ok(Invocation::Run(run)) = parse(line) else {
        panic!("understood")
    };
    assert_eq!((run.program, run.arguments), (odd.clone(), vec![odd.clone()]));
    assert_eq!(run.asked.flags[0].1, odd);
}

#[test]
fn every_flag_is_understood_and_its_help_names_its_variable() {
    let Ok(Invocation::Print(help)) = understand(&["--help"]) else {
        panic!("the help")
    };
    for flag in FLAGS {
        let run = run_of(&[&format!("--{}", flag.long), "x", "--", "serve"]);
        assert_eq!(run.asked.flags, [(flag, OsString::from("x"))]);
        assert!(help.contains(&format!("--{}", flag.long)), "{help}");
        assert!(help.contains(&format!("[env: {}]", flag.variable)), "{help}");
    }
    assert_eq!(understand(&["run", "--help"]), Ok(Invocation::Print(help)));
}

#[test]
fn help_and_version_are_printed() {
    assert_eq!(
        understand(&["--version"]),
        Ok(Invocation::Print(format!(
            "tidegate {}\n",
            env!("CARGO_PKG_VERSION")
        )))
    );
    assert!(matches!(understand(&["help"]), Ok(Invocation::Print(_))));
    assert_eq!(understand(&["help", "status"]), understand(&["status", "--help"]));
    assert_eq!(understand(&["help", "help"]), understand(&["help"]));
    assert!(understand(&["help", "stauts"]).is_err());
    assert!(matches!(
        understand(&["check", "--help"]),
        Ok(Invocation::Print(_))
    ));
}

#[test]
fn a_missing_command_names_the_mend() {
    let mend = "no command to run; write it after --, as in: tidegate -- /bin/server --port 8080";
    for line in [
        &[][..],
        &["run"],
        &["--"],
        &["run", "--quiet", "1s"],
        &["-v", "--"],
    ] {
        assert_eq!(refused(line), mend, "{line:?}");
    }
}

#[test]
fn what_is_not_understood_is_told_on_one_line() {
    for (line, told) in [
        (
            &["--gracePeriod", "1s", "--", "x"][..],
            "--gracePeriod: unknown option; did you mean --grace-period?",
        ),
        (
            &["--grace-perod=1s", "--", "x"],
            "--grace-perod: unknown option; did you mean --grace-period?",
        ),
        (&["-z", "--", "x"], "-z: unknown option"),
        (&["--quiet", "--", "x"], "--quiet: its value is missing"),
        (&["--quiet"], "--quiet: its value is missing"),
        (
            &["--quiet", "1s", "--quiet", "2s", "--", "x"],
            "--quiet: given twice; keep one",
        ),
        (&["-v", "-q", "--", "x"], "--verbose: cannot go with -q; keep one"),
        (&["--verbose=yes", "--", "x"], "--verbose: takes no value"),
        (
            &["sleep", "5"],
            "sleep: unknown command; what is to be run comes after --, as in: tidegate -- sleep",
        ),
        (
            &["run", "sleep", "5"],
            "sleep: unknown command; what is to be run comes after --, as in: tidegate -- sleep",
        ),
        (&["chek", "x"], "chek: unknown command; did you mean check?"),
        (
            &["sidecar", "x"],
            "x: a sidecar starts nothing; leave it out, or start tidegate run -- x",
        ),
        (
            &["sidecar", "--", "x", "y"],
            "x: a sidecar starts nothing; leave it out, or start tidegate run -- x",
        ),
        (
            &["check"],
            "check: no file; name one, as in: tidegate check tidegate.yaml",
        ),
        (
            &["inflight", "--wach"],
            "--wach: unknown option; did you mean --watch?",
        ),
        (&["check", "--fast", "x"], "--fast: unknown option"),
        (&["statsu"], "statsu: unknown command; did you mean status?"),
        (&["prestop", "now"], "prestop: takes no \"now\"; leave it out"),
        (&["drain", "--for", "1s"], "--for: unknown option"),
        (&["hurry", "--socket"], "--socket: its value is missing"),
        (
            &["status", "-o", "yaml"],
            "--output: \"yaml\" is no format; write text or json",
        ),
    ] {
        assert_eq!(refused(line), told, "{line:?}");
    }
}

#[test]
fn orders_and_questions_are_understood() {
    for order in Order::ALL {
        assert_eq!(
            understand(&[order.word()]),
            Ok(Invocation::Order(order, Reach::default()))
        );
    }
    let reach = Reach {
        socket: Some("/a.sock".into()),
    };
    assert_eq!(
        understand(&["status", "--watch", "-o", "json", "--socket", "/a.sock"]),
        Ok(Invocation::Status(StatusAsked {
            reach,
            output: Output::Json,
            span: Span::Watch
        }))
    );
}

#[test]
fn files_to_check_are_taken_as_they_are() {
    assert_eq!(
        understand(&["check", "a.yaml", "b.yaml"]),
        Ok(Invocation::Check(Check {
            files: vec!["a.yaml".into(), "b.yaml".into()],
            output: CheckOutput::Text,
            notes: Notes::Pass,
            ignore: Vec::new(),
        }))
    );
}

#[test]
fn inflight_takes_its_sources_from_the_file_or_flags() {
    let line = ["inflight", "--config", "a.yaml", "--watch", "--inflight-url", "u"];
    let Ok(Invocation::Inflight(inflight)) = understand(&line) else {
        panic!("understood")
    };
    assert_eq!(inflight.asked.config, Some("a.yaml".into()));
    assert_eq!(inflight.asked.flags.len(), 1);
    assert_eq!(inflight.times, Times::Repeatedly);
    let once = Inflight {
        asked: Asked::default(),
        times: Times::Once,
    };
    assert_eq!(understand(&["inflight"]), Ok(Invocation::Inflight(once)));
}
