//! The generated messages, server and client of `grpc.health.v1`.

#![allow(missing_docs, clippy::all)]

tonic::include_proto!("grpc.health.v1");
