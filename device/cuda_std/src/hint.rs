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
