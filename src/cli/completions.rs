//! `tidegate completions SHELL`: completions and the man page, from the one definition of the
//! command line.

use std::io;

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use super::args::{self, Completions};

/// What is printed for `asked`.
pub fn text(asked: Completions) -> String {
    let mut text = Vec::new();
    match asked {
        Completions::Shell(shell) => {
            clap_complete::generate(shell, &mut args::whole(), "tidegate", &mut text);
            if shell == Shell::Fish {
                text.extend_from_slice(fish_shells().as_bytes());
            }
        }
        // Writing to a Vec cannot fail.
        Completions::Man => drop(man_page(&mut text)),
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// clap_complete writes nothing for fish of an argument that is no option.
fn fish_shells() -> String {
    format!(
        "complete -c tidegate -n \"__fish_tidegate_using_subcommand completions\" -f -a \"{}\"\n",
        args::SHELLS.join(" ")
    )
}

/// One page for all of it: a page for each command would have to be installed one by one.
fn man_page(text: &mut Vec<u8>) -> io::Result<()> {
    let mut whole = args::whole().disable_help_subcommand(true);
    whole.build();
    let page = Man::new(whole.clone());
    page.render_title(text)?;
    page.render_name_section(text)?;
    page.render_synopsis_section(text)?;
    page.render_description_section(text)?;
    page.render_options_section(text)?;
    let mut heading = Roff::new();
    heading.control("SH", ["COMMANDS"]);
    heading.to_writer(text)?;
    for command in whole.get_subcommands() {
        man_of(command, text)?;
    }
    let mut notes = Roff::new();
    notes.control("SH", ["NOTES"]);
    paragraphs(&mut notes, args::NOTES);
    notes.to_writer(text)?;
    page.render_version_section(text)
}

/// A command: how it is written, what it does, and the options that it has beside the settings.
fn man_of(command: &Command, text: &mut Vec<u8>) -> io::Result<()> {
    let usage = command.clone().render_usage().to_string();
    let mut roff = Roff::new();
    roff.control("TP", []);
    roff.text([bold(usage.trim_start_matches("Usage: "))]);
    roff.text([roman(
        command.get_about().map(ToString::to_string).unwrap_or_default(),
    )]);
    roff.control("RS", []);
    let settings = command
        .get_arguments()
        .any(|argument| argument.get_help_heading().is_some());
    if settings {
        roff.control("PP", []);
        roff.text([roman("It takes the options above.")]);
    }
    roff.to_writer(text)?;

    let own = command.clone().mut_args(|argument| {
        let shared = ["config", "version"].contains(&argument.get_id().as_str());
        let elsewhere =
            argument.get_help_heading().is_some() || (settings && shared) || argument.get_id() == "help";
        argument.hide(elsewhere)
    });
    let mut options = Vec::new();
    Man::new(own).render_options_section(&mut options)?;
    // The section is this command's: its heading is written already.
    let options = String::from_utf8_lossy(&options);
    for line in options.lines().filter(|line| !line.starts_with(".SH")) {
        text.extend_from_slice(line.as_bytes());
        text.push(b'\n');
    }

    let mut end = Roff::new();
    // That of `run` is the end of the page.
    if let Some(more) = command.get_after_help().filter(|_| command.get_name() != "run") {
        paragraphs(&mut end, &more.to_string());
    }
    end.control("RE", []);
    end.to_writer(text)
}

fn paragraphs(roff: &mut Roff, text: &str) {
    for paragraph in text.split("\n\n") {
        roff.control("PP", []);
        roff.text([roman(paragraph)]);
    }
}
