//! The door: parse, hand over.
#![cfg_attr(not(test), no_main)]

tidegate::child::door!(tidegate::cli::main);
