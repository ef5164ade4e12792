//! The generated messages and client of `grpc.health.v1` (the generated server is for the tests), and the
//! messages of `grpc.reflection.v1`.

#![allow(missing_docs, dead_code, clippy::all)]

tonic::include_proto!("grpc.health.v1");

pub(super) mod reflection {
    include!(concat!(env!("OUT_DIR"), "/grpc.reflection.v1.rs"));
}
