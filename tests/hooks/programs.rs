//! `exec` and `signal` hooks.

use std::time::Duration;

use crate::support::children::{TOLD, python, script};
use crate::support::patience::eventually;
use crate::support::processes::lives;
use crate::support::{Signal, Tidegate};
use crate::{WIDE, hook, settled, up};

#[test]
fn a_program_is_told_the_way_and_its_output_is_in_the_log() {
    let run = "{exec: {command: [/bin/sh, -c, 'echo goes $TIDEGATE_HOOK with $THE_ARGUMENT; echo and complains >&2; printf unended; printf complaining >&2']}}";
    let mut tidegate = up(run, run);
    tidegate.ask(&["drain"]);
    settled(&tidegate);
    assert_eq!(hook(&tidegate, 0)["state"], "done");
    assert_eq!(hook(&tidegate, 0)["name"], "exec /bin/sh");
    tidegate.stderr.wait_for("says: goes onDrain with");
    tidegate.stderr.wait_for("says: and complains");
    tidegate.stderr.wait_for("says: unended");
    tidegate.stderr.wait_for("says: complaining");
    tidegate.ask(&["resume"]);
    tidegate.stderr.wait_for("says: goes onResume with");
    tidegate.signal(Signal::SIGTERM);
    assert_eq!(tidegate.wait().code(), TOLD);
    assert!(tidegate.stdout.with("goes").is_empty(), "stdout is the program's");
}

#[test]
fn one_that_fails_or_does_not_start_or_does_not_end_is_said_and_leaves_nothing() {
    let mut tidegate = up(
        "{exec: {command: [/bin/sh, -c, 'exit 7']}}, {exec: {command: [/no/such/program]}}, \
         {exec: {command: [/bin/sh, -c, 'sleep 1000 & echo pid $!; sleep 1000'], timeout: 500ms}}, \
         {exec: {command: [/bin/sh, -c, 'kill -KILL $$']}}",
        "",
    );
    tidegate.ask(&["drain"]);
    let line = tidegate.stderr.wait_for("says: pid ").text;
    let pid: i32 = line
        .split("pid ")
        .nth(1)
        .and_then(|rest| rest.split(|letter: char| !letter.is_ascii_digit()).next())
        .and_then(|digits| digits.parse().ok())
        .expect("a pid");
    settled(&tidegate);
    let why = |index| {
        hook(&tidegate, index)["why"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    assert_eq!(why(0), "it exited with 7");
    assert!(why(1).contains("/no/such/program"), "{}", why(1));
    assert_eq!(why(2), "no end within 500ms");
    assert_eq!(why(3), "it was killed by SIGKILL (9)");
    assert_eq!(
        hook(&tidegate, 0)["tries"],
        1,
        "what a program has done is not done twice"
    );
    eventually("its group is gone", || (!lives(pid)).then_some(()));
    tidegate.signal(Signal::SIGTERM);
    assert_eq!(tidegate.wait().code(), TOLD);
}

#[test]
fn one_that_floods_holds_nothing_up() {
    let mut tidegate = up("{exec: {command: [/bin/sh, -c, 'yes'], timeout: 300ms}}", "");
    let begun = tidegate.signal(Signal::SIGTERM);
    let exit = tidegate.wait();
    assert_eq!(exit.code(), TOLD);
    assert!(exit.at - begun < Duration::from_secs(15));
    assert!(tidegate.stderr.with("says: y").len() <= 100);
}

/// The window is 1 s, and the hooks end after 6: the stop signal comes between.
#[test]
fn many_that_flood_do_not_keep_the_program_from_its_signal() {
    let flood = ["{exec: {command: [yes], timeout: 6s}}"; 8].join(", ");
    let mut tidegate = up(&flood, "");
    tidegate.signal(Signal::SIGTERM);
    assert_eq!(tidegate.wait().code(), TOLD);
    let sent = tidegate.stderr.wait_for("stop signal sent").at;
    let given_up = tidegate.stderr.wait_for("given up").at;
    assert!(
        sent < given_up,
        "the stop signal came {:?} after the hooks",
        sent - given_up
    );
}

#[test]
fn what_a_hook_leaves_behind_is_gone_when_we_are() {
    // It outlasts the program, and what it starts is in a session of its own.
    let hook = "{exec: {command: [/bin/sh, -c, 'echo begun; sleep 1; setsid sleep 1000 & echo pid $!'], timeout: 10s}}";
    let mut tidegate = up(hook, "");
    tidegate.signal(Signal::SIGTERM);
    tidegate.stderr.wait_for("says: begun");
    tidegate.signal(Signal::SIGUSR2);
    tidegate.wait();
    let line = tidegate.stderr.wait_for("says: pid ").text;
    let digits = line
        .split("pid ")
        .nth(1)
        .map(|rest| rest.trim_end_matches(|letter: char| !letter.is_ascii_digit()));
    let digits = digits.and_then(|rest| rest.split(|letter: char| !letter.is_ascii_digit()).next());
    let pid: i32 = digits.and_then(|digits| digits.parse().ok()).expect("a pid");
    assert!(!lives(pid), "{line}");
    assert_eq!(tidegate.termination().0["hooks"]["done"], 1);
}

/// A worker that takes a job after the other until SIGTSTP tells it to take no more, as Sidekiq does.
#[test]
fn a_worker_is_told_to_fetch_no_more_and_ends_what_it_has() {
    let jobs = tempfile::tempdir().expect("a directory");
    for job in 0..1000 {
        std::fs::write(jobs.path().join(format!("{job:04}")), "").expect("a job");
    }
    let worker = [
        python(),
        "-I".into(),
        script("worker.py"),
        jobs.path().display().to_string(),
    ];
    let mut tidegate = Tidegate::wrapping(worker)
        .config(format!(
            "{}hooks: {{onDrain: [{{signal: SIGTSTP}}]}}\n",
            WIDE.unmeasured()
        ))
        .start();
    tidegate.stdout.wait_for_nth("done ", 3);
    tidegate.signal(Signal::SIGTERM);
    let quiet = tidegate.stdout.wait_for("takes no more");
    assert_eq!(tidegate.wait().code(), 0);
    let stopped = tidegate.stdout.wait_for("stopped").at;
    assert!(
        stopped - quiet.at >= WIDE.propagation / 2,
        "SIGTSTP comes at the drain's start"
    );
    let lines = tidegate.stdout.to_the_end();
    let after = lines
        .iter()
        .position(|line| line.text == "takes no more")
        .expect("told");
    let taken_after = lines[after..]
        .iter()
        .filter(|line| line.text.starts_with("took "))
        .count();
    assert_eq!(taken_after, 0, "{lines:?}");
    let count = |what: &str| lines.iter().filter(|line| line.text.starts_with(what)).count();
    assert_eq!(
        count("took "),
        count("done "),
        "every job that was taken was ended"
    );
}
