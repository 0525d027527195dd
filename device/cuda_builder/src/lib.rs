//! Compiles a kernel crate to PTX with stock rustc, and is rustc's linker for it.
//!
//! A build script:
//!
//! ```no_run
//! # fn build_script() {
//! if cuda_builder::act_as_linker() {
//!     return; // started by the nested rustc
//! }
//! let built = cuda_builder::CudaBuilder::new("kernels").build();
//! let built = built.unwrap_or_else(|error| cuda_builder::fail(&error));
//! for module in &built.modules {
//!     println!("cargo::rustc-env=PTX_{}={}", module.name.to_uppercase(), module.ptx.display());
//! }
//! # }
//! ```
//!
//! The way of a kernel: [`discover`] finds a rustc that emits PTX-ready bitcode and the LLVM tools of
//! its version; [`sysroot`] compiles `core` once; [`nested`] runs cargo for `nvptx64-nvidia-cuda` with
//! this program as wrapper and linker; [`link`] joins the bitcode and writes one textual IR module;
//! [`codegen`] compiles that to PTX (and to a cubin where `ptxas` is found) for each PTX module and
//! architecture, checked by [`check`]. Everything is kept in `<target>/ptx`, which all profiles share.
//!
//! A kernel crate is a plain library. It sees `cfg(target_os = "cuda")`, needs no `no_std` header, and
//! exports `extern "ptx-kernel"` functions; see [`markers`] for what travels beside them.

pub mod arch;
pub mod audit;
pub mod builder;
pub mod check;
pub mod codegen;
pub mod discover;
pub mod embed;
pub mod error;
pub mod flags;
pub mod ir;
pub mod ledger;
pub mod link;
pub mod markers;
pub mod nested;
pub mod progress;
pub mod ptxas;
pub mod sass;
pub mod sysroot;

pub use arch::Arch;
pub use builder::{BuiltKernels, BuiltModule, CudaBuilder, DebugInfo};
pub use embed::{embed, embed_all};
pub use error::BuildError;
pub use flags::Flags;
pub use link::act_as_linker;

/// Everything that decides what the linker writes: a change relinks every kernel crate.
const LINKER_SOURCES: &[&str] = &[include_str!("link.rs"), include_str!("ir.rs"), include_str!("markers.rs")];

/// Everything that decides what becomes of linked IR: a change recompiles every PTX module.
const CODEGEN_SOURCES: &[&str] =
    &[include_str!("codegen.rs"), include_str!("flags.rs"), include_str!("check.rs")];

/// Prints a build error for a person and ends the build script with exit status 1.
pub fn fail(error: &BuildError) -> ! {
    eprintln!("error: {error}");
    std::process::exit(1)
}

/// Hash of some texts, stable from run to run of one build of this crate.
pub(crate) fn hash_of<I: IntoIterator<Item = S>, S: AsRef<[u8]>>(parts: I) -> String {
    // FNV-1a over 128 bits: no dependency, and the same for every compiler that builds us.
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for part in parts {
        for &byte in part.as_ref().iter().chain(&[0xff]) {
            hash = (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }
    format!("{hash:032x}")
}

#[cfg(test)]
mod tests {
    #[test]
    fn hash_separates_parts() {
        assert_ne!(super::hash_of(["ab", "c"]), super::hash_of(["a", "bc"]));
        assert_eq!(super::hash_of(["ab"]), super::hash_of([String::from("ab")]));
    }
}
