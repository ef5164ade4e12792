//! What can be asked of a running tidegate, and what it answers.

use std::fmt;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot, watch};

use super::status::Status;
use super::table::{Do, Phase};

/// What a person or a preStop hook wants done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Leave traffic without a deadline; the child serves on.
    Hold,
    /// Come back from a hold.
    Resume,
    /// Clear latched NOT_SERVING.
    Reset,
    /// Skip the waits.
    Hurry,
    /// Stop, as the pod's preStop hook.
    PreStop,
}

/// What became of an order, in a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is done.
    Done(String),
    /// It is not, for this reason.
    Refused(String),
}

/// A question to the driver, with the way back to whoever asked. One that has left is no loss.
#[derive(Debug)]
pub enum Asked {
    /// Do this.
    Order(Order, oneshot::Sender<Answer>),
    /// What is it doing? Where in-flight can be counted, it is looked at first.
    Status(oneshot::Sender<Arc<Status>>),
    /// What is it doing, from now on? The channel ends with the run.
    Follow(oneshot::Sender<News>),
}

/// Questions that wait for the driver; those who ask more wait with theirs.
const ASKED_AT_ONCE: usize = 16;

/// The way of questions to the driver.
pub fn desk() -> (mpsc::Sender<Asked>, mpsc::Receiver<Asked>) {
    mpsc::channel(ASKED_AT_ONCE)
}

/// Asks the driver, and waits for what it says; nothing when the run is over.
pub async fn put<T>(
    desk: &mpsc::Sender<Asked>,
    question: impl FnOnce(oneshot::Sender<T>) -> Asked,
) -> Option<T> {
    let (back, answer) = oneshot::channel();
    desk.send(question(back)).await.ok()?;
    answer.await.ok()
}

/// The latest status. It has changed when the facts have; time alone is no news.
pub type News = watch::Receiver<Arc<Status>>;

impl Order {
    /// Every order.
    pub const ALL: [Self; 5] = [Self::PreStop, Self::Hold, Self::Resume, Self::Reset, Self::Hurry];

    /// The word for it on the command line, and on the socket.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Hold => "drain",
            Self::Resume => "resume",
            Self::Reset => "reset",
            Self::Hurry => "hurry",
            Self::PreStop => "prestop",
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What is said of `order` that came in `phase`, where the table said `what`.
pub(super) fn answer(order: Order, what: Do, phase: Phase) -> Answer {
    let done = |text: &str| Answer::Done(text.to_owned());
    match (order, what) {
        (_, Do::Refuse) => Answer::Refused(refusal(order, phase)),
        (Order::Hold, Do::HoldOn) => {
            done("held: health says NOT_SERVING, the program serves on; `tidegate resume` brings it back")
        }
        (Order::Hold, _) => done("held already"),
        (Order::Resume, _) => done("resumed: health says what it said before the hold"),
        (Order::Hurry, Do::HurryUp) => done("hurried: the program has its stop signal"),
        (Order::Hurry, Do::LeaveHooks) => done("hurried: no hook is waited for any more"),
        (Order::Hurry, _) => done("nothing is waited for any more: the program has its stop signal"),
        (Order::PreStop, Do::Begin | Do::BeginHeld | Do::Remember) => done("the drain has begun"),
        (Order::PreStop, _) => Answer::Done(format!("the stop is under way ({phase}); joined")),
        // The board answers for it.
        (Order::Reset, _) => done("reset"),
    }
}

fn refusal(order: Order, phase: Phase) -> String {
    match (order, phase) {
        (_, Phase::Starting) => "the program is only being started".to_owned(),
        (Order::Hurry, Phase::Serving | Phase::Held) => {
            "no stop has begun, so there is nothing to hurry; `tidegate prestop` or SIGTERM begins one"
                .to_owned()
        }
        (Order::Resume, Phase::Serving) => "nothing is held".to_owned(),
        (_, _) => format!("a stop has begun ({phase}) and is not undone"),
    }
}

/// What is said of a reset that took `names` from NOT_SERVING to UNKNOWN.
pub(super) fn reset_of(names: &[String]) -> Answer {
    Answer::Done(match names {
        [] => "nothing is latched".to_owned(),
        names => format!("UNKNOWN until the next verdict: {}", quoted(names)),
    })
}

fn quoted(names: &[String]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("{name:?}")).collect();
    quoted.join(", ")
}
