//! Build-time code: the gRPC messages, generated from our own proto files.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    example_library()?;
    Ok(())
}

/// The service of `examples/library`, which the demo and the tests call as well. The product itself has no
/// use for it.
fn example_library() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=examples/proto/library.proto");
    let files = protox::compile(["library.proto"], ["examples/proto"])?;
    tonic_prost_build::configure().compile_fds(files)?;
    Ok(())
}
