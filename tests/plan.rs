//! `tidegate plan` and `tidegate completions`: what a person asks before trusting a config.

mod support;

use std::process::{Command, Output};

use support::children::python;

fn tidegate(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("TIDEGATE_")) {
        command.env_remove(name);
    }
    command.args(arguments).output().expect("tidegate starts")
}

fn drawn(arguments: &[&str]) -> String {
    let output = tidegate(arguments);
    assert!(output.status.success(), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

const MEASURED: [&str; 4] = [
    "--inflight-url",
    "http://127.0.0.1:9090/metrics",
    "--inflight-query",
    "calls",
];

#[test]
fn the_timeline_is_drawn_to_scale_with_the_sums() {
    let text = drawn(&[&["plan", "--grace-period", "30"], &MEASURED[..]].concat());
    let expected = "\
terminationGracePeriodSeconds 30s, of which 24s may be used

  propagation ████████                                          5s: load balancers notice; the program serves on
  in-flight           ██░░░░░░░░░░░░░░░░░░░                     until quiet for 1s, 13s at most
  stop                                     ████████             SIGTERM here at the latest; SIGKILL 5s later
  kill                                             █            SIGKILL, the dead reaped, the report: 1s
  margin                                            ··········  never used; at its end the kubelet kills
              0s                                           30s

drain.propagation 5s + child.stopTimeout 5s + child.killWait 1s = 11s, within 24s
An idle pod gets its stop signal after 6s, a busy one after 18s at the latest.
";
    assert_eq!(text, expected);
}

#[test]
fn without_a_source_nobody_waits_for_calls_and_the_plan_says_so() {
    let text = drawn(&["plan"]);
    assert!(text.contains("SIGTERM here; SIGKILL 18s later"), "{text}");
    assert!(
        text.contains("without an in-flight source nobody knows"),
        "{text}"
    );
}

#[test]
fn a_grace_period_without_waits_says_so() {
    let text = drawn(&["plan", "--grace-period", "2", "--stop-signal", "QUIT"]);
    assert!(!text.contains("propagation"), "{text}");
    assert!(text.contains("SIGQUIT here"), "{text}");
    assert!(text.contains("too short for any wait"), "{text}");
}

#[test]
fn a_window_between_min_and_max_shows_both() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), "drain: {propagation: {min: 3s, max: 9s}}").expect("written");
    let text = drawn(&["plan", "--config", &file.path().display().to_string()]);
    assert!(
        text.contains("3s to 9s: until everyone who asks has been told"),
        "{text}"
    );
    assert!(text.contains("propagation █████░░░░░░░░░ "), "{text}");
}

#[test]
fn what_run_refuses_is_refused_in_the_same_words() {
    let settings = ["--grace-period", "5", "--stop-timeout", "4s"];
    let planned = tidegate(&[&["plan"], &settings[..]].concat());
    let ran = tidegate(&[&["run"], &settings[..], &["--", "true"]].concat());
    assert_eq!(planned.status.code(), Some(125));
    assert!(planned.stdout.is_empty());
    assert_eq!(planned.stderr, ran.stderr);
    assert_eq!(String::from_utf8_lossy(&planned.stderr).lines().count(), 1);
}

#[test]
fn every_shell_has_completions_that_know_the_flags() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let text = drawn(&["completions", shell]);
        for word in ["grace-period", "inflight-query", "plan", "install"] {
            assert!(text.contains(word), "{shell} does not complete {word}");
        }
    }
}

/// What a shell offers for a line that is begun: the shell reads the script, and its own completion is asked.
/// `last` is the last word of the list.
fn offered(shell: &str, line: &str, last: &str) -> String {
    let room = tempfile::tempdir().expect("a directory");
    let file = room.path().join("tidegate");
    std::fs::write(&file, drawn(&["completions", shell])).expect("written");
    let mut command = match shell {
        "bash" => Command::new("bash"),
        "fish" => Command::new("fish"),
        _ => Command::new(python()),
    };
    match shell {
        "bash" => command.args(["--norc", "-c", ASK_BASH, "bash"]),
        "fish" => command.args(["--no-config", "-c", ASK_FISH]),
        _ => command.args(["-I", "-c", ASK_ZSH]),
    };
    let output = command
        .arg(&file)
        .args([line, last])
        .env("HOME", room.path())
        .current_dir(room.path())
        .output()
        .unwrap_or_else(|error| panic!("{shell} starts: {error}; tests/needs.sh installs it"));
    assert!(output.status.success(), "{shell}: {output:?}");
    assert!(output.stderr.is_empty(), "{shell}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

const ASK_BASH: &str = r#"
source "$1"
read -ra COMP_WORDS <<<"$2"
[[ $2 == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
function=$(complete -p tidegate | sed 's/.*-F \([^ ]*\) .*/\1/')
"$function" tidegate "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\n' "${COMPREPLY[@]}"
"#;

const ASK_FISH: &str = "source $argv[1]; complete -C $argv[2]";

/// zsh completes on a terminal only, and not while there is more to read: nothing is typed on before the list is
/// there. What is listed stands between the line and the mark.
const ASK_ZSH: &str = r#"
import os, pty, select, sys, time
script, line, last = sys.argv[1:]
pid, fd = pty.fork()
if pid == 0:
    os.environ["TERM"] = "dumb"
    os.execvp("zsh", ["zsh", "-f", "-i"])
def until(mark):
    said, end = "", time.monotonic() + 20
    while mark not in said and select.select([fd], [], [], max(0, end - time.monotonic()))[0]:
        said += os.read(fd, 4096).decode()
    return said
# The marks are in two pieces, so that the terminal's echo is not taken for the answer.
os.write(fd, f"unset zle_bracketed_paste; autoload -Uz compinit; compinit -u -D; source '{script}'; setopt no_auto_menu; PS1=REA''DY\n".encode())
until("READY")
os.write(fd, f"{line}\t".encode())
said = until(last)
os.write(fd, b"\x15print DO''NE\n")
print(said + until("DONE"))
os.write(fd, b"exit\n")
os.close(fd)
os.waitpid(pid, 0)
"#;

#[test]
fn every_shell_offers_a_commands_own_options_and_values() {
    for shell in ["bash", "zsh", "fish"] {
        let options = offered(shell, "tidegate status --", "--watch");
        assert!(
            options.contains("--watch") && options.contains("--output"),
            "{shell}: {options}"
        );
        assert!(!options.contains("--grace-period"), "{shell}: {options}");
        let options = offered(shell, "tidegate plan --", "--verbose");
        assert!(options.contains("--grace-period"), "{shell}: {options}");
        let formats = offered(shell, "tidegate status -o ", "text");
        assert!(
            formats.contains("text") && formats.contains("json"),
            "{shell}: {formats}"
        );
        let shells = offered(shell, "tidegate completions ", "zsh");
        assert!(
            shells.contains("fish") && shells.contains("man"),
            "{shell}: {shells}"
        );
        assert!(!shells.contains("hurry"), "{shell}: {shells}");
    }
}

#[test]
fn the_man_page_is_read_by_man_and_has_every_commands_options() {
    let room = tempfile::tempdir().expect("a directory");
    let file = room.path().join("tidegate.1");
    std::fs::write(&file, drawn(&["completions", "man"])).expect("written");
    let output = Command::new("man")
        .args(["--warnings", "-l"])
        .arg(&file)
        .env("MANWIDTH", "200")
        .env("LC_ALL", "C.UTF-8")
        .output()
        .expect("man starts; tests/needs.sh installs it");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let page = String::from_utf8_lossy(&output.stdout);
    for word in [
        "--stop-timeout",
        "tidegate status [--watch] [-o text|json]",
        "--watch",
        "tidegate check ",
        "--strict",
        "tidegate resume",
        "Exit codes: the command's own",
    ] {
        assert!(page.contains(word), "no {word:?} in:\n{page}");
    }
    assert_eq!(
        page.matches("--grace-period").count(),
        1,
        "the settings stand once:\n{page}"
    );
    assert!(!page.contains("tidegate-"), "no page that is not there:\n{page}");
}

#[test]
fn an_unknown_shell_is_one_line_with_the_known_ones() {
    let output = tidegate(&["completions", "tcsh"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(125));
    assert!(
        said.contains("tcsh is no shell") && said.contains("bash, zsh"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
}
