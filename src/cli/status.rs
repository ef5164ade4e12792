//! `tidegate status`: what a running tidegate is doing, once or from now on.

use std::io::{self, Write};
use std::time::Instant;

use super::args::{Output, Span, StatusAsked};
use super::asking;
use super::colour::Colours;
use super::screen::{Closed, Screen, TICK};
use super::story;
use crate::admin::{Client, ClientError, Line, Request};
use crate::child::Inherited;
use crate::drain::status::Status;

/// Does it and returns the code to exit with.
pub(super) fn run(asked: &StatusAsked, inherited: &Inherited) -> u8 {
    inherited.unblock();
    asking::finish(asking::talk(async {
        let mut client = asking::connect(&asked.reach).await?;
        match asked.span {
            Span::Once => once(&mut client, asked.output).await,
            Span::Watch => watch(&mut client, asked.output).await,
        }
    }))
}

async fn once(client: &mut Client, output: Output) -> Result<u8, ClientError> {
    match client.ask(Request::Status).await? {
        Line::Status(status) => {
            let text = match output {
                Output::Text => story::page(&status, Colours::of_stdout()),
                Output::Json => json(&status),
            };
            // Nobody reads it: that is the reader's affair.
            let _ = io::stdout().write_all(text.as_bytes());
            Ok(0)
        }
        other => Ok(asking::refused("status", &other)),
    }
}

/// Until tidegate ends, or nobody reads any more.
async fn watch(client: &mut Client, output: Output) -> Result<u8, ClientError> {
    let mut view = match output {
        Output::Text => View::Screen(Screen::of_stdout()),
        Output::Json => View::Json,
    };
    let mut line = Some(client.ask(Request::Watch).await?);
    loop {
        match line {
            Some(Line::Status(status)) => {
                if view.show(status).is_err() {
                    return Ok(0);
                }
            }
            Some(other) => return Ok(asking::refused("status", &other)),
            None => return Ok(view.end()),
        }
        line = loop {
            tokio::select! {
                biased;
                line = client.next() => break line?,
                () = tokio::time::sleep(TICK), if view.is_live() => view.redraw(),
            }
        };
    }
}

enum View {
    Screen(Screen),
    Json,
}

impl View {
    fn show(&mut self, status: Box<Status>) -> Result<(), Closed> {
        match self {
            Self::Screen(screen) => screen.show(status, Instant::now()),
            Self::Json => io::stdout()
                .write_all(json(&status).as_bytes())
                .map_err(|_| Closed),
        }
    }

    fn is_live(&self) -> bool {
        matches!(self, Self::Screen(screen) if screen.is_live())
    }

    fn redraw(&mut self) {
        if let Self::Screen(screen) = self {
            screen.redraw(Instant::now());
        }
    }

    fn end(self) -> u8 {
        if let Self::Screen(screen) = self {
            let gone = "tidegate is gone";
            match screen.lost() {
                Some(line) => {
                    screen.end(&line);
                    asking::print(gone);
                }
                None => screen.end(gone),
            }
        }
        0
    }
}

/// One object, one line.
fn json(status: &Status) -> String {
    // Only maps with keys that are no text fail, and there are none.
    let mut text = serde_json::to_string(status).unwrap_or_default();
    text.push('\n');
    text
}
