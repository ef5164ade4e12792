//! The drain: from the trigger to the child's end, inside the budget.

pub mod budget;

pub use budget::{Budget, Grace, Margin, Plan, Window};
