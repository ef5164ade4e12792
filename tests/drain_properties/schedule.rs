//! Random schedules: what may happen to a drain, in any order, at any distance.

use std::fmt;
use std::time::Duration;

use tidegate::drain::budget::{Grace, Margin, Plan, Window, Wishes};
use tidegate::drain::event::{Evidence, Hooks, Measured, OnUnknown, Rules, Told};
use tidegate::drain::quiet::InFlight;
use tidegate::drain::record::Trigger;

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?}\n{:?}", self.rules, self.world)?;
        for Step { wait, what } in &self.steps {
            writeln!(f, "  wait {wait:?}, then {what:?}")?;
        }
        Ok(())
    }
}

/// One run: its rules, the temper of its world, and what happens.
#[derive(Clone, Debug)]
pub struct Schedule {
    pub rules: Rules,
    pub world: Temper,
    pub steps: Vec<Step>,
}

/// How the world takes to being told.
#[derive(Clone, Copy, Debug)]
pub struct Temper {
    pub ticks: Ticks,
    /// From the stop signal to the child's end; `None` ignores it.
    pub obeys: Option<Duration>,
    /// From SIGKILL to the child's end; `None` is a process the kernel does not let go.
    pub dies: Option<Duration>,
    pub leftovers: Leftovers,
    pub end: End,
}

/// Whether looks are answered to the end of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    Answered,
    /// Fewer steps of no interest.
    Mute,
}

/// Who comes first when time and the world meet, and whether time comes at all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ticks {
    BeforeTheWorld,
    AfterTheWorld,
    /// Only when a step says so: a machine that is never woken on time.
    Late,
}

#[derive(Clone, Copy, Debug)]
pub enum Leftovers {
    None,
    Obey(Duration),
    DieOfSigkill(Duration),
    Immortal,
}

/// Wait, then this happens.
#[derive(Clone, Debug)]
pub struct Step {
    pub wait: Wait,
    pub what: What,
}

#[derive(Clone, Debug)]
pub enum Wait {
    No,
    Span(Duration),
    ToDeadline,
    PastDeadline(Duration),
}

#[derive(Clone, Debug)]
pub enum What {
    ChildUp,
    Trigger(Trigger),
    /// The deadline is so long after the base of time.
    ShortenTo(Duration),
    /// The deadline is so long after now.
    ShortenIn(Duration),
    Hurry,
    Hold,
    Resume,
    Notified,
    Evidence(Evidence),
    Hooks(Hooks),
    /// What looks see from now on.
    Calls(InFlight),
    /// A call begins, and is over before anyone looks.
    Arrival,
    Counter(Counter),
    /// How long looks take from now on.
    Latency(Duration),
    /// An answer nobody asked for.
    StrayLook,
    ChildExits,
    AllGone,
    Tick,
}

/// What becomes of the counter of calls begun.
#[derive(Clone, Copy, Debug)]
pub enum Counter {
    Readable,
    Unreadable,
}

/// SplitMix64: a seed in, the same schedule out, on every machine.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// 0 to `sides` − 1.
    fn below(&mut self, sides: u64) -> u64 {
        self.roll() % sides
    }

    fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    fn millis(&mut self, most: u64) -> Duration {
        Duration::from_millis(self.below(most + 1))
    }

    /// A span of a random order of magnitude, none and huge ones included.
    fn span(&mut self) -> Duration {
        match self.below(12) {
            0 => Duration::ZERO,
            1 => Duration::from_nanos(1 + self.below(1_000_000)),
            2..=4 => self.millis(60),
            5..=8 => self.millis(600),
            9 => self.millis(4_000),
            10 => self.millis(40_000),
            _ => Duration::from_secs(1 << self.below(50)),
        }
    }
}

impl Schedule {
    pub fn random(dice: &mut Dice) -> Self {
        let rules = random_rules(dice);
        let steps = 5 + dice.below(60);
        Self {
            rules,
            world: random_temper(dice),
            steps: (0..steps).map(|at| random_step(dice, at, &rules)).collect(),
        }
    }
}

fn random_rules(dice: &mut Dice) -> Rules {
    Rules {
        plan: random_plan(dice),
        threshold: dice.of(&[0, 0, 0, 1, 3]),
        poll_interval: dice.of(&[20, 50, 200, 200, 1_000]).pipe(Duration::from_millis),
        on_unknown: match dice.below(3) {
            0 => OnUnknown::ProceedAfter(dice.millis(3_000)),
            1 if dice.one_in(4) => OnUnknown::ProceedAfter(Duration::ZERO),
            _ => OnUnknown::Wait,
        },
        stalled_after: dice.span(),
        measured: if dice.one_in(5) {
            Measured::No
        } else {
            Measured::Yes
        },
    }
}

fn random_plan(dice: &mut Dice) -> Plan {
    loop {
        let grace = Grace(match dice.below(10) {
            0 => dice.millis(2_000),
            1 => Duration::from_secs(dice.below(3)),
            2 => dice.millis(4_000),
            3 => Duration::from_secs(1 << dice.below(60)),
            _ => Duration::from_secs(dice.of(&[3, 5, 5, 10, 30, 30, 30, 60])),
        });
        let margin = Margin::percent(dice.of(&[20.0, 20.0, 20.0, 0.0, 50.0, 99.0])).unwrap_or_default();
        let pre_stop = match dice.below(4) {
            0 => dice.millis(3_000),
            _ => Duration::ZERO,
        };
        let mut wish = |one_in| dice.one_in(one_in).then(|| dice.span());
        let (min, more, quiet, stop_timeout, kill_wait) = (wish(2), wish(2), wish(3), wish(3), wish(3));
        let wishes = Wishes {
            propagation: min.map(|min| Window {
                min,
                max: min.saturating_add(more.unwrap_or_default()),
            }),
            quiet,
            stop_timeout,
            kill_wait,
        };
        if let Ok(plan) = Plan::new(grace, margin, pre_stop, wishes) {
            return plan;
        }
    }
}

fn random_temper(dice: &mut Dice) -> Temper {
    Temper {
        ticks: dice.of(&[
            Ticks::BeforeTheWorld,
            Ticks::AfterTheWorld,
            Ticks::AfterTheWorld,
            Ticks::Late,
        ]),
        obeys: (!dice.one_in(3)).then(|| dice.span()),
        dies: (!dice.one_in(6)).then(|| dice.millis(100)),
        leftovers: match dice.below(5) {
            0 | 1 => Leftovers::None,
            2 => Leftovers::Obey(dice.span()),
            3 => Leftovers::DieOfSigkill(dice.millis(100)),
            _ => Leftovers::Immortal,
        },
        end: dice.of(&[
            End::Answered,
            End::Mute,
            End::Mute,
            End::Mute,
            End::Mute,
            End::Mute,
        ]),
    }
}

fn random_step(dice: &mut Dice, at: u64, rules: &Rules) -> Step {
    if at == 0 && !dice.one_in(12) {
        return Step {
            wait: Wait::No,
            what: What::ChildUp,
        };
    }
    let wait = match dice.below(10) {
        0 | 1 => Wait::No,
        2..=4 => Wait::ToDeadline,
        5 if dice.one_in(4) => Wait::PastDeadline(dice.span()),
        6 if dice.one_in(2) => Wait::Span(dice.of(&[rules.poll_interval, rules.plan.quiet])),
        _ => Wait::Span(dice.span()),
    };
    Step {
        wait,
        what: random_event(dice),
    }
}

fn random_event(dice: &mut Dice) -> What {
    match dice.below(64) {
        0 => What::ChildUp,
        1..=4 => What::Trigger(Trigger::Signal(15)),
        5..=6 => What::Trigger(Trigger::Signal(2)),
        7 => What::Trigger(Trigger::PreStop),
        8 => What::ShortenTo(dice.span()),
        9 => What::ShortenIn(dice.span()),
        10 => What::Hurry,
        11..=13 => What::Hold,
        14..=15 => What::Resume,
        16..=19 => What::Notified,
        20..=24 => {
            let told = [Told::Nobody, Told::NotAll, Told::All, Told::All];
            What::Evidence(Evidence {
                audience: dice.of(&told),
                hooks: dice.of(&told),
            })
        }
        25..=34 => What::Calls(match dice.below(8) {
            0 => InFlight::Unknown,
            1 => InFlight::Count(dice.roll()),
            2..=3 => InFlight::Count(dice.below(5)),
            _ => InFlight::Count(0),
        }),
        35..=36 => What::Arrival,
        37 => What::Counter(Counter::Readable),
        38 => What::Counter(dice.of(&[Counter::Readable, Counter::Unreadable])),
        39..=41 => What::Latency(dice.span()),
        42 => What::StrayLook,
        43 if dice.one_in(3) => What::ChildExits,
        44 if dice.one_in(3) => What::AllGone,
        45 => What::Hooks(Hooks::Tried),
        46 => What::Hooks(dice.of(&[Hooks::Tried, Hooks::Settled])),
        _ => What::Tick,
    }
}

trait Pipe: Sized {
    fn pipe<T>(self, into: impl FnOnce(Self) -> T) -> T {
        into(self)
    }
}

impl Pipe for u64 {}
