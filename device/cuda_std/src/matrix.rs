//! Products of small matrices by a whole warp, in f64 on the tensor cores.
//!
//! All 32 lanes of the warp reach a product together, converged. With `g = lane / 4` and `t = lane % 4`, a lane holds
//!
//! | matrix | element of the lane's fragment |
//! |---|---|
//! | A, 16 x 16 | `a[h + 2 s]` = A(g + 8 h, t + 4 s) |
//! | B, 16 x 8 | `b[s]` = B(t + 4 s, g) |
//! | C, 16 x 8 | `c[2 h + j]` = C(g + 8 h, 2 t + j) |
//!
//! for h, j < 2 and s < 4. The sums of products are rounded as the hardware does it, which PTX does not define: under the
//! executor it is a chain of fused multiply-adds in the order of k.

#[cfg(target_os = "cuda")]
mod imp {
    use crate::arch::arch;
    use core::arch::asm;

    #[inline(always)]
    fn product_8x8x4(a: f64, b: f64, c: [f64; 2]) -> [f64; 2] {
        let [mut c0, mut c1] = c;
        // SAFETY: arithmetic on registers; the builder marks the call convergent, and the executor checks that all
        // lanes are there.
        unsafe {
            asm!(
                "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {{{c0}, {c1}}}, {{{a}}}, {{{b}}}, {{{c0}, {c1}}};",
                a = in(reg64) a, b = in(reg64) b, c0 = inout(reg64) c0, c1 = inout(reg64) c1,
                options(pure, nomem, nostack)
            );
        }
        [c0, c1]
    }

    #[inline(always)]
    pub fn product_16x8x16(a: [f64; 8], b: [f64; 4], c: [f64; 4]) -> [f64; 4] {
        let [mut c0, mut c1, mut c2, mut c3] = c;
        if arch() >= 900 {
            // SAFETY: as for `product_8x8x4`; sm_90 has the shape.
            unsafe {
                asm!(
                    "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {{{c0}, {c1}, {c2}, {c3}}}, \
                     {{{a0}, {a1}, {a2}, {a3}, {a4}, {a5}, {a6}, {a7}}}, {{{b0}, {b1}, {b2}, {b3}}}, \
                     {{{c0}, {c1}, {c2}, {c3}}};",
                    a0 = in(reg64) a[0], a1 = in(reg64) a[1], a2 = in(reg64) a[2], a3 = in(reg64) a[3],
                    a4 = in(reg64) a[4], a5 = in(reg64) a[5], a6 = in(reg64) a[6], a7 = in(reg64) a[7],
                    b0 = in(reg64) b[0], b1 = in(reg64) b[1], b2 = in(reg64) b[2], b3 = in(reg64) b[3],
                    c0 = inout(reg64) c0, c1 = inout(reg64) c1, c2 = inout(reg64) c2, c3 = inout(reg64) c3,
                    options(pure, nomem, nostack)
                );
            }
            return [c0, c1, c2, c3];
        }
        let (mut upper, mut lower) = ([c0, c1], [c2, c3]);
        upper = product_8x8x4(a[0], b[0], upper);
        lower = product_8x8x4(a[1], b[0], lower);
        upper = product_8x8x4(a[2], b[1], upper);
        lower = product_8x8x4(a[3], b[1], lower);
        upper = product_8x8x4(a[4], b[2], upper);
        lower = product_8x8x4(a[5], b[2], lower);
        upper = product_8x8x4(a[6], b[3], upper);
        lower = product_8x8x4(a[7], b[3], lower);
        [upper[0], upper[1], lower[0], lower[1]]
    }
}

#[cfg(not(target_os = "cuda"))]
mod imp {
    #[track_caller]
    pub fn product_16x8x16(a: [f64; 8], b: [f64; 4], c: [f64; 4]) -> [f64; 4] {
        let mut fragments = simt::Fragments { a, b, c };
        simt::warp_matrix_product(16, 16, &mut fragments);
        fragments.c
    }
}

/// C + A B of 16 x 16 by 16 x 8 numbers: one `mma.m16n8k16` from sm_90 on, eight `mma.m8n8k4` before.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn product_16x8x16(a: [f64; 8], b: [f64; 4], c: [f64; 4]) -> [f64; 4] {
    imp::product_16x8x16(a, b, c)
}
