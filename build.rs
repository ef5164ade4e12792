//! Build-time code: the gRPC messages, generated from our own proto files.
//!
//! `protox` compiles them, so that nobody needs `protoc`. Clients and servers
//! come without tonic's transport: the product owns its connections.

use std::error::Error;

/// Every proto compiled, as (the directory imports start from, the file in it): the health service, and the
/// service of `examples/library`, which the demo and the tests call and the product has no use for.
const PROTOS: &[(&str, &str)] = &[
    ("proto", "grpc/health/v1/health.proto"),
    ("examples/proto", "library.proto"),
];

fn main() -> Result<(), Box<dyn Error>> {
    for (root, file) in PROTOS {
        println!("cargo:rerun-if-changed={root}/{file}");
        let descriptors = protox::compile([file], [root])?;
        tonic_prost_build::configure()
            .build_transport(false)
            .btree_map(".")
            .compile_fds(descriptors)?;
    }
    Ok(())
}
