//! Build-time code: the gRPC messages, generated from our own proto files.

fn main() {}
