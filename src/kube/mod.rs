//! Manifests: read, checked, wrapped.
//!
//! ```text
//! files ─► input ─► yaml ─► objects ─► wrapped ─► rules ─► finding ─► report
//!                              │  environment, volumes: what the container has
//!                              └────► inject ─► yaml
//! ```
//!
//! | file | what it does |
//! | --- | --- |
//! | `input` | files and standard input, split into documents |
//! | `yaml/` | a tree that knows where and how each value was written |
//! | `objects` | the objects in the documents, the pods in the objects |
//! | `environment`, `volumes` | a container's variables and files, out of ConfigMaps too |
//! | `shell` | the commands in a shell's script |
//! | `wrapped` | the containers that run tidegate, and its settings there |
//! | `rules/` | what has to hold between the two |
//! | `check`, `finding`, `report/` | inputs in, findings out, in three formats |
//! | `inject/` | manifests in, wrapped manifests out |

pub mod check;
mod environment;
pub mod finding;
pub mod inject;
pub mod input;
mod objects;
pub mod report;
pub mod rules;
mod shell;
mod volumes;
mod wrapped;
pub mod yaml;
