//! The drain: from the trigger to the child's end, inside the budget.
//!
//! | file | what it holds |
//! | --- | --- |
//! | [`budget`] | the grace period shared out among the phases |
//! | [`quiet`] | when in-flight may be believed to be over |
//! | [`table`] | phase × event → what is done |
//! | [`event`] | what goes into the machine |
//! | [`machine`] | the drain itself: no clock, no I/O |
//! | [`action`] | what comes out of it |
//! | [`record`] | what happened, as the machine saw it |
//! | [`report`] | what a person reads of it, and what a machine parses |
//! | [`driver`] | the loop around the machine: the world becomes events |
//! | [`hands`] | its actions become calls |
//! | [`poller`] | the looks at what is in flight |
//! | `telling` | what is said of each transition, and at the end |
//! | [`program`] | whom they stop: our child, or one beside us |
//! | [`beside`] | what follows the drain of a program beside us |
//! | [`order`] | what people and hooks ask of a run, and what it answers |
//! | [`status`] | what a run is doing now |

pub mod action;
pub mod beside;
pub mod budget;
pub mod driver;
pub mod event;
pub mod hands;
pub mod machine;
pub mod order;
pub mod poller;
pub mod program;
pub mod quiet;
pub mod record;
pub mod report;
pub mod status;
pub mod table;
mod telling;

pub use budget::{Budget, Grace, Margin, Plan, Window};
