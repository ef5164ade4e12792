//! The drain: from the trigger to the child's end, inside the budget.
//!
//! | file | what it holds |
//! | --- | --- |
//! | [`budget`] | the grace period shared out among the phases |
//! | [`quiet`] | when in-flight may be believed to be over |
//! | [`table`] | phase × event → what is done |
//! | [`machine`] | the drain itself: no clock, no I/O |
//! | [`record`] | what happened, as the machine saw it |

pub mod budget;
pub mod machine;
pub mod quiet;
pub mod record;
pub mod report;
pub mod table;

pub use budget::{Budget, Grace, Margin, Plan, Window};
