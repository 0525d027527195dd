//! batchlas-cli
fn main() {}
