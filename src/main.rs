//! The door: parse, hand over.

fn main() {}
