//! scratch
mod failure; mod input; mod output; mod plot; mod progress;
fn main() {}
