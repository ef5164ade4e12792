//! The command line, a file a command.
//!
//! | file | what it does |
//! | --- | --- |
//! | `args` | the arguments, understood but not judged |
//! | `check` | `tidegate check` |

pub mod args;
pub mod check;
