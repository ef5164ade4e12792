//! The command line as images have it: whole words and values, then `--` and the program.
//!
//! It is read here without a definition of every option being built, which costs more than
//! the rest of the start together. Whatever is not that plain (a mistake, a short option, a
//! request for help) is left to [`args`](super::args), which says the same of what both
//! understand.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use super::args::{Asked, Run};
use crate::config::flags::{FLAGS, Flag};

/// The run that plain `arguments` ask for, the program's own name first; nothing when they are
/// not plain.
pub fn run(arguments: &[OsString]) -> Option<Run> {
    let mut words = arguments.get(1..)?.iter();
    if arguments.get(1).is_some_and(|first| first == "run") {
        words.next();
    }
    let mut config = None;
    let mut written: Vec<(&'static Flag, OsString)> = Vec::new();
    loop {
        let word = words.next()?;
        if word == "--" {
            break;
        }
        let name = word.to_str()?.strip_prefix("--")?;
        let value = value(words.next()?)?;
        if name == "config" && config.is_none() && !value.is_empty() {
            config = Some(value.into());
            continue;
        }
        let flag = FLAGS.iter().find(|flag| flag.long == name)?;
        if written.iter().any(|(other, _)| other.long == name) {
            return None;
        }
        written.push((flag, value.to_owned()));
    }
    Some(Run {
        asked: Asked {
            config,
            flags: written,
        },
        program: words.next()?.clone(),
        arguments: words.cloned().collect(),
    })
}

/// A word that cannot be meant as an option.
fn value(word: &OsStr) -> Option<&OsStr> {
    (!word.as_bytes().starts_with(b"-")).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::{self, Invocation};

    fn words(line: &[&str]) -> Vec<OsString> {
        let name = std::iter::once(&"tidegate");
        name.chain(line).map(OsString::from).collect()
    }

    #[test]
    fn what_is_plain_is_understood_as_always() {
        for line in [
            &["--", "serve"][..],
            &["run", "--", "serve", "--quiet", "-v", "--", "run"],
            &["--config", "a.yaml", "--", "serve"],
            &[
                "run",
                "--quiet",
                "1s",
                "--grace-period",
                "30s",
                "--config",
                "c.yaml",
                "--",
                "run",
            ],
            &["--listen", "", "--", "", ""],
        ] {
            let mut plain = run(&words(line)).unwrap_or_else(|| panic!("{line:?} is plain"));
            // The one is in the order of the line, the other in that of the flags.
            let place = |flag: &Flag| FLAGS.iter().position(|known| known == flag);
            plain.asked.flags.sort_by_key(|(flag, _)| place(flag));
            assert_eq!(args::parse(words(line)), Ok(Invocation::Run(plain)), "{line:?}");
        }
    }

    #[test]
    fn what_is_not_plain_is_left_to_the_definition() {
        for line in [
            &[][..],
            &["run"],
            &["--"],
            &["run", "--"],
            &["run", "run", "--", "serve"],
            &["serve"],
            &["check", "--", "serve"],
            &["-v", "--", "serve"],
            &["--help", "--", "serve"],
            &["--quiet=1s", "--", "serve"],
            &["--quiet", "-1s", "--", "serve"],
            &["--quiet", "--", "serve"],
            &["--quiet", "1s", "--quiet", "2s", "--", "serve"],
            &["--config", "a", "--config", "b", "--", "serve"],
            &["--quite", "1s", "--", "serve"],
            &["--quiet", "1s", "serve"],
        ] {
            assert_eq!(run(&words(line)), None, "{line:?}");
        }
    }
}
