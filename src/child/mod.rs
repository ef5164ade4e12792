//! The child: its start, its signals, its end. What PID 1 owes any program.
//!
//! | file | what lives there |
//! | --- | --- |
//! | `door` | the C `main`: signals are blocked before anything else runs |
//! | `inherited` | what tidegate was given, so that the child gets the same |
//! | `command`, `spawn` | a program, its `PATH` lookup, clone and exec |
//! | `refusal`, `interpreter` | why a program did not start, as a sentence with a mend |
//! | `calm` | the program's first moment, left to it |
//! | `living` | the processes started and not reaped; [`Child`], the handle on one |
//! | `reaper` | the one who waits: the child, hooks, orphans |
//! | `signal`, `signals`, `signalfd` | a signal, and the stream of those to forward |
//! | `kill` | sending one, its refusals as types |
//! | `pidfd` | a handle on a process that somebody else started |
//! | `terminal` | the foreground, lent and taken back |
//! | `leftovers`, `descendants` | who is still there when the child is gone |
//! | `end` | how a process ended, and the exit code that says so |
//! | `write_now` | a write that never waits |
//! | `ending` | a wait before the program runs that a signal ends |
//! | `footprint` | the start's code, given back while idle |
//!
//! ```text
//!  door ─► Inherited ─► Reaper::open ─► Spawner::spawn ─► Child ─► ended().await
//!                           │                               ▲          │
//!                           └─► run().await                 │      Leftovers
//!  Signals::open ─► next().await ───────────────────────► forward
//! ```
//!
//! All of it belongs on one thread, the main one: signal masks and parent-death signals are
//! per thread.

mod calm;
mod command;
mod descendants;
mod door;
mod end;
mod ending;
mod footprint;
mod inherited;
mod interpreter;
mod kill;
mod leftovers;
mod living;
mod pidfd;
mod reaper;
mod refusal;
mod signal;
mod signalfd;
mod signals;
mod spawn;
mod terminal;
mod write_now;

#[doc(inline)]
pub use crate::door;
pub use calm::leave_the_first_moment_to_it;
pub use command::{Command, Stdio, Wiring};
pub(crate) use descendants::{Kin, is_our_proc};
#[doc(hidden)]
pub use door::enter;
pub use end::{ChildEnd, SuccessCodes};
pub use ending::{Awaited, ENDING, wait_to_read};
pub use footprint::forget_the_start;
pub use inherited::Inherited;
pub use interpreter::Interpreter;
pub use kill::{Refused, Target};
pub use leftovers::Leftovers;
pub use living::{Child, KilledOnDrop, Spawner};
pub use pidfd::Pidfd;
pub use reaper::{Reaper, Role, has_descendants};
pub use refusal::SpawnError;
pub use signal::{NoSuchSignal, Signal, SignalSet};
pub use signals::{Origin, Received, Signals};
pub use terminal::Terminal;
pub use write_now::write_now;
