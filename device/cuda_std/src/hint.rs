//! Hints to the compiler.

/// `x`, of which the optimiser knows nothing: what follows from it is computed anew at each use, rather than once and held
/// in registers.
#[inline(always)]
pub fn opaque(x: u32) -> u32 {
    #[cfg(target_os = "cuda")]
    {
        let y: u32;
        // SAFETY: a move between registers; not pure, so that two are not one.
        unsafe {
            core::arch::asm!("mov.u32 {y}, {x};", x = in(reg32) x, y = out(reg32) y, options(nomem, nostack))
        };
        y
    }
    #[cfg(not(target_os = "cuda"))]
    x
}

/// No access of memory moves across this in the optimiser, and no load behind it is joined with one before it. It costs
/// nothing by itself, and orders nothing between threads.
#[inline(always)]
pub fn fence() {
    #[cfg(target_os = "cuda")]
    // SAFETY: no instruction; without `nomem`, it counts as an access of all memory.
    unsafe {
        core::arch::asm!("", options(nostack, preserves_flags))
    }
}
