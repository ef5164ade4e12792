//! Real containers, by runc, from roots with nothing in them but the static binary and the app: read-only, without
//! privileges, with the namespaces that a pod has.
//!
//! | file | what it gives |
//! | --- | --- |
//! | [`container`] | a root, a config.json, `runc run`, `runc kill`, the exit code |
//! | [`app`] | an HTTP server whose slow answers wait until the test says so |
//! | [`wrap`] | tidegate as PID 1; `tidegate install` |
//! | [`sandbox`] | a pod's network and processes, and who calls there |
//! | [`pod`] | tidegate beside the app |
//! | [`example`] | an example of `examples/kubernetes/`, played |
//! | [`examples`] | all of them |

#[path = "../support/mod.rs"]
mod support;

mod app;
mod container;
mod example;
mod examples;
mod pod;
mod sandbox;
mod wrap;
