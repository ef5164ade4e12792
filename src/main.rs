//! The door: parse, hand over.
#![cfg_attr(not(test), no_main)]

/// musl's own maps and unmaps a page for every few lines that are logged.
#[cfg(target_env = "musl")]
#[global_allocator]
static HEAP: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

tidegate::child::door!(tidegate::cli::main);
