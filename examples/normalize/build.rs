//! Compiles the kernels to PTX and embeds them, where the feature `cuda` asks for it.

#[cfg(feature = "cuda")]
fn main() {
    // rustc starts this program again as its linker.
    if !cuda_builder::act_as_linker() {
        cuda_builder::embed(&["."]);
    }
}

#[cfg(not(feature = "cuda"))]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
