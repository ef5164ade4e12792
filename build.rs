//! Build-time code: the gRPC messages, generated from our own proto files.
//!
//! `protox` compiles them, so that nobody needs `protoc`. Clients and servers
//! come without tonic's transport: the product owns its connections.

use std::error::Error;
use std::path::Path;

use prost::Message;
use prost_types::{DescriptorProto, FileDescriptorProto};

/// Every proto compiled, as (the directory imports start from, the file in it): what the product speaks, and the
/// service of `examples/library`, which the demo and the tests call and the product has no use for.
const PROTOS: &[(&str, &str)] = &[
    ("proto", "grpc/health/v1/health.proto"),
    ("proto", "grpc/reflection/v1/reflection.proto"),
    ("examples/proto", "library.proto"),
];

/// What reflection tells of.
const REFLECTED: &[&str] = &[
    "grpc/health/v1/health.proto",
    "grpc/reflection/v1/reflection.proto",
    "grpc/reflection/v1alpha/reflection.proto",
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
    reflected(Path::new(&std::env::var("OUT_DIR")?))
}

/// Writes the table `health/reflection.rs` answers from: a descriptor a file, and the symbols in it.
fn reflected(out: &Path) -> Result<(), Box<dyn Error>> {
    let mut table = String::from("&[\n");
    for (number, name) in REFLECTED.iter().enumerate() {
        println!("cargo:rerun-if-changed=proto/{name}");
        for file in protox::compile([name], ["proto"])?.file {
            let path = out.join(format!("reflected{number}.bin"));
            std::fs::write(&path, file.encode_to_vec())?;
            let (services, symbols) = (services(&file), symbols(&file));
            table += &format!(
                "    File {{ name: {name:?}, descriptor: include_bytes!({path:?}), services: &{services:?}, symbols: &{symbols:?} }},\n"
            );
        }
    }
    table += "]\n";
    std::fs::write(out.join("reflected.rs"), table)?;
    Ok(())
}

fn services(file: &FileDescriptorProto) -> Vec<String> {
    let services = file.service.iter();
    services
        .map(|service| format!("{}.{}", file.package(), service.name()))
        .collect()
}

/// Services, their methods, messages and enums, by their full names.
fn symbols(file: &FileDescriptorProto) -> Vec<String> {
    let mut symbols = Vec::new();
    for service in &file.service {
        let name = format!("{}.{}", file.package(), service.name());
        symbols.extend(
            service
                .method
                .iter()
                .map(|method| format!("{name}.{}", method.name())),
        );
        symbols.push(name);
    }
    for message in &file.message_type {
        nested(file.package(), message, &mut symbols);
    }
    symbols
}

fn nested(scope: &str, message: &DescriptorProto, symbols: &mut Vec<String>) {
    let name = format!("{scope}.{}", message.name());
    symbols.extend(
        message
            .enum_type
            .iter()
            .map(|kind| format!("{name}.{}", kind.name())),
    );
    for message in &message.nested_type {
        nested(&name, message, symbols);
    }
    symbols.push(name);
}
