//! The architecture that is compiled for.

unsafe extern "C" {
    #[link_name = "llvm.nvvm.reflect"]
    fn reflect(name: *const u8) -> i32;
}

/// Ten times the number of the architecture that is compiled for: a constant to the optimiser.
#[inline(always)]
pub fn arch() -> i32 {
    const NAME: *const u8 = c"__CUDA_ARCH".as_ptr().cast();
    // SAFETY: folded by LLVM, which knows the name.
    unsafe { reflect(NAME) }
}
