//! Compiles the kernel crates and embeds their PTX, where the feature `cuda` asks for it.

#[cfg(feature = "cuda")]
fn main() {
    // rustc starts this program again as its linker.
    if cuda_builder::act_as_linker() {
        return;
    }
    cuda_builder::embed(&[
        "device/kernels/tridiag",
        "device/kernels/small_syev",
        "device/kernels/block_syev",
        "device/kernels/gemm",
        "device/kernels/stebz",
        "device/kernels/stedc",
        "device/kernels/panel",
        "device/kernels/pack",
        "device/kernels/packed",
    ]);
}

#[cfg(not(feature = "cuda"))]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
