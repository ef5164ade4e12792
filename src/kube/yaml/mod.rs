//! YAML as a tree that knows where and how each value was written.
//!
//! Kubernetes reads YAML 1.1: to it `0644` is a number in octal and `off` is false, unless they
//! are quoted. A reader that forgets the quotes changes what a manifest means when it is written
//! again, so this one keeps them; and every finding has its line.
//!
//! | file | what it does |
//! | --- | --- |
//! | `node` | the tree, and the ways through it |
//! | `load` | one document, from its text |
//! | `emit` | one document, as text again |

mod emit;
mod load;
mod node;

pub use emit::emit;
pub use load::{LoadError, load};
pub use node::{Body, Node, Style};
