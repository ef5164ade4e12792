//! The picture: one strip for each contestant, calls from left to right as they were due, the time each took upwards,
//! failed calls on top in red, restarts in grey.

use std::fmt::Write as _;
use std::time::Duration;

use crate::balancer::Balancer;
use crate::load::{Call, Kind};
use crate::run::{Outcome, Restart};

const WIDTH: f64 = 960.0;
/// Room for names at the left.
const LEFT: f64 = 150.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 62.0;
const BOTTOM: f64 = 34.0;
/// The height of a strip, and how far the next one is below it.
const STRIP: f64 = 64.0;
const STEP: f64 = 84.0;
/// Where failed calls are, above the strip's top.
const FAILED: f64 = -7.0;
/// What the top of a strip stands for, in milliseconds: short calls are asked to take 200 at the most.
const TALLEST: f64 = 250.0;
/// Calls drawn in a strip, about; more only make the picture heavy. Failed and slow ones are drawn all.
const DRAWN: usize = 1500;

/// The strips of one load balancer, as SVG.
pub fn svg(balancer: Balancer, outcomes: &[Outcome]) -> String {
    let height = TOP + STEP * outcomes.len() as f64 + BOTTOM;
    let longest = outcomes
        .iter()
        .map(|outcome| outcome.end)
        .max()
        .unwrap_or_default();
    let scale = Scale {
        pixels: (WIDTH - LEFT - RIGHT) / longest.as_secs_f64().max(1.0),
    };
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <text x=\"{LEFT}\" y=\"20\" fill=\"#1f2933\">{}</text>\n\
         <text x=\"{LEFT}\" y=\"37\" fill=\"#52606d\" font-size=\"11\">a dot is a call, the higher the slower (0 to {TALLEST:.0} ms); calls that failed are red, above</text>\n",
        balancer.title()
    );
    for (place, outcome) in outcomes.iter().enumerate() {
        strip(&mut text, outcome, scale, TOP + STEP * place as f64);
    }
    axis(&mut text, longest, scale, height - BOTTOM + 6.0);
    text.push_str("</svg>\n");
    text
}

/// From seconds to pixels.
#[derive(Clone, Copy)]
struct Scale {
    pixels: f64,
}

impl Scale {
    fn x(self, at: Duration) -> f64 {
        LEFT + at.as_secs_f64() * self.pixels
    }
}

// Writing to a String cannot fail.

fn strip(text: &mut String, outcome: &Outcome, scale: Scale, top: f64) {
    let bottom = top + STRIP;
    let failed = outcome.failed();
    let colour = if failed == 0 { "#1a7f37" } else { "#cf222e" };
    let _ = writeln!(
        text,
        "<text x=\"{x}\" y=\"{y:.1}\" text-anchor=\"end\" fill=\"#1f2933\">{title}</text>\n\
         <text x=\"{x}\" y=\"{below:.1}\" text-anchor=\"end\" fill=\"{colour}\">{failed} failed</text>",
        x = LEFT - 10.0,
        y = top + STRIP / 2.0 - 2.0,
        below = top + STRIP / 2.0 + 15.0,
        title = outcome.contestant.title(),
    );
    for restart in &outcome.restarts {
        ended(text, restart, scale, top, bottom);
    }
    let short = |call: &&Call| call.kind == Kind::Short && call.failed.is_none() && call.at <= outcome.end;
    let every = (outcome.calls.len() / DRAWN).max(1);
    let mut path = String::new();
    for (number, call) in outcome.calls.iter().filter(short).enumerate() {
        let took = call.took.as_secs_f64() * 1e3;
        if number % every == 0 || took > TALLEST {
            let y = bottom - took.min(TALLEST) / TALLEST * STRIP;
            let _ = write!(path, "M{:.1} {y:.1}h1", scale.x(call.at));
        }
    }
    let _ = writeln!(
        text,
        "<path d=\"{path}\" stroke=\"#3b6ea5\" stroke-width=\"1.2\" stroke-opacity=\"0.55\"/>"
    );
    let mut path = String::new();
    for call in outcome
        .calls
        .iter()
        .filter(|call| call.failed.is_some() && call.at <= outcome.end)
    {
        let _ = write!(path, "M{:.1} {:.1}v6", scale.x(call.at), top + FAILED);
    }
    let _ = writeln!(text, "<path d=\"{path}\" stroke=\"#cf222e\" stroke-width=\"1\"/>");
    let _ = writeln!(
        text,
        "<path d=\"M{LEFT} {bottom:.1}H{:.1}\" stroke=\"#9aa5b1\"/>",
        scale.x(outcome.end)
    );
}

/// From the moment an instance was told to stop to its end, and on to the next one SERVING.
fn ended(text: &mut String, restart: &Restart, scale: Scale, top: f64, bottom: f64) {
    for (from, to, fill) in [
        (restart.told, restart.gone, "#e4e7eb"),
        (restart.gone, restart.ready, "#f5f0d8"),
    ] {
        let (x, width) = (scale.x(from), scale.x(to) - scale.x(from));
        let _ = writeln!(
            text,
            "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{fill}\"/>",
            width.max(0.8),
            bottom - top
        );
    }
}

fn axis(text: &mut String, longest: Duration, scale: Scale, y: f64) {
    let every = (longest.as_secs() / 8).max(1).next_multiple_of(5);
    for second in (0..=longest.as_secs()).step_by(every as usize) {
        let _ = writeln!(
            text,
            "<text x=\"{:.1}\" y=\"{y:.1}\" text-anchor=\"middle\" fill=\"#52606d\">{second} s</text>",
            scale.x(Duration::from_secs(second))
        );
    }
    let _ = writeln!(
        text,
        "<text x=\"{LEFT}\" y=\"{:.1}\" fill=\"#52606d\" font-size=\"11\">grey: told to stop, not yet gone; sand: the next one starts</text>",
        y + 18.0
    );
}
