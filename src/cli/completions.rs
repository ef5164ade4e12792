//! `tidegate completions SHELL`: completions and the man page, from the one definition of the
//! command line.

use super::args::{self, Completions};

/// What is printed for `asked`.
pub fn text(asked: Completions) -> String {
    let mut text = Vec::new();
    match asked {
        Completions::Shell(shell) => {
            clap_complete::generate(shell, &mut args::whole(), "tidegate", &mut text)
        }
        // Writing to a Vec cannot fail.
        Completions::Man => drop(clap_mangen::Man::new(args::whole()).render(&mut text)),
    }
    String::from_utf8_lossy(&text).into_owned()
}
