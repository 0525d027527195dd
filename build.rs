//! Compiles the kernel crates and embeds their PTX, where the feature `cuda` asks for it.

#[cfg(feature = "cuda")]
fn main() {
    // rustc starts this program again as its linker.
    if cuda_builder::act_as_linker() {
        return;
    }
    let mut crates = vec![
        "device/kernels/tridiag",
        "device/kernels/small_syev",
        "device/kernels/block_syev",
        "device/kernels/gemm",
    ];
    if cfg!(feature = "vendor") {
        crates.push("device/kernels/vendor");
    }
    cuda_builder::embed(&crates);
}

#[cfg(not(feature = "cuda"))]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
