//! The capm3 binary.
fn main() {}
