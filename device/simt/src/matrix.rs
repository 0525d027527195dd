//! Products of small matrices by a warp, as `mma.sync` of PTX defines their fragments.

use std::panic::Location;

use crate::clocks::lanes;
use crate::{Collective, lane};

/// What a lane brings to a product of `rows` x `depth` by `depth` x 8 numbers (`rows` is 8 or 16, `depth` 4, 8 or 16).
///
/// With `g = lane / 4`, `t = lane % 4` and `h` up to `rows / 8`, element `a[h + s * rows / 8]` is A(g + 8 h, t + 4 s),
/// `b[s]` is B(t + 4 s, g), and `c[2 h + j]` is C(g + 8 h, 2 t + j).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Fragments {
    /// Of the left matrix.
    pub a: [f64; 8],
    /// Of the right matrix.
    pub b: [f64; 4],
    /// Of the sum: the product is added to it.
    pub c: [f64; 4],
}

/// Takes part in C += A B with all lanes of the warp. Each element is a chain of fused multiply-adds from k = 0 on.
#[track_caller]
pub fn warp_matrix_product(rows: u8, depth: u8, fragments: &mut Fragments) {
    let kind = Collective::MatrixProduct { rows, depth };
    let address = std::ptr::from_mut(fragments) as u64;
    lane::current().collective(kind, u32::MAX, address, 0, 32, Location::caller());
}

/// Computes a product over the fragments whose addresses the lanes brought.
pub(crate) fn product(rows: u8, depth: u8, mask: u32, addresses: &[u64; 32]) {
    let (halves, steps) = (usize::from(rows) / 8, usize::from(depth) / 4);
    // SAFETY: each address is that of a `Fragments` on the stack of a lane that is suspended in
    // `warp_matrix_product`; the lanes of a warp run on one thread, and no reference to it is in use.
    let read = |lane: usize| unsafe { *(addresses[lane] as *const Fragments) };
    let mut all = [Fragments::default(); 32];
    lanes(mask).for_each(|lane| all[lane] = read(lane));
    for lane in lanes(mask) {
        let (g, t) = (lane / 4, lane % 4);
        let mut c = all[lane].c;
        for h in 0..halves {
            for j in 0..2 {
                for k in 0..4 * steps {
                    let a = all[4 * g + k % 4].a[h + k / 4 * halves];
                    let b = all[4 * (2 * t + j) + k % 4].b[k / 4];
                    c[2 * h + j] = a.mul_add(b, c[2 * h + j]);
                }
            }
        }
        // SAFETY: as above.
        unsafe { (*(addresses[lane] as *mut Fragments)).c = c };
    }
}
