//! The generated messages and client of `grpc.health.v1`. (The generated server is for the tests.)

#![allow(missing_docs, dead_code, clippy::all)]

tonic::include_proto!("grpc.health.v1");
