//! Pods stopped as the kubelet stops them.
//!
//! | file | what it promises |
//! | --- | --- |
//! | `pod.rs` | the kubelet, on real processes |
//! | `wrap.rs` | tidegate as the program's PID 1 |
//! | `sidecar.rs` | tidegate in a container beside |
//! | `target.rs` | the program beside, found and nobody else |

#[path = "../support/mod.rs"]
mod support;

mod pod;
mod sidecar;
mod target;
mod wrap;
