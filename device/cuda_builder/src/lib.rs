//! Compiles a kernel crate to PTX with stock rustc, and is rustc's linker for it
