//! Each rule of a drain as a promise, with an invented clock.
//!
//! | file | what it promises |
//! | --- | --- |
//! | `budget.rs` | the arithmetic, and the sentences of what does not fit |
//! | `trigger.rs` | what starts a stop, what does not, and when health turns |
//! | `propagation.rs` | how long load balancers get |
//! | `in_flight.rs` | what ends the wait for calls under way |
//! | `looks.rs` | when in-flight is looked at, and how soon its end is seen |
//! | `ends.rs` | stop signal, SIGKILL, leftovers, exit |
//! | `hold.rs` | a drain without a deadline |
//! | `run.rs` | a run on an invented clock |

mod budget;
mod ends;
mod hold;
mod in_flight;
mod looks;
mod propagation;
mod run;
mod trigger;
