//! Reduction to tridiagonal form with the matrix in registers: one row a lane.

use crate::reflector::{Reflector, larfg};
use cuda_std::partition::Tile;
use cuda_std::prelude::*;

/// Shared memory of a reduction: the two vectors that every lane reads whole.
#[derive(Clone, Copy, Debug)]
pub struct Vectors<T> {
    /// `P` elements, aligned to 16 bytes.
    pub v: Shared<T>,
    /// `P` elements, aligned to 16 bytes.
    pub w: Shared<T>,
}

/// Applies `A := H^H A H` to the trailing rows and columns `from..P` of a matrix held one row a lane.
///
/// `w = tau A v - (tau / 2)(tau A v)^H v * v`, then `A -= v w^H + w v^H`, as LAPACK's `zhetd2`. Rows before
/// `from` have zero in `v` and stay as they are.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn two_sided_update<T: Scalar, const P: usize>(
    tile: Tile,
    row: &mut [T; P],
    from: usize,
    reflector: Reflector<T>,
    vectors: Vectors<T>,
) {
    let rank = tile.rank();
    let (v, tau) = (reflector.v, reflector.tau);
    vectors.v.set(rank, v);
    tile.sync();
    let mut partial = [T::ZERO; 4];
    quads::<T, P>(vectors.v, from, |c, v_c| partial[c % 4] = row[c].mul_add(v_c, partial[c % 4]));
    let product = tau.mul((partial[0] + partial[1]) + (partial[2] + partial[3]));
    let p = if rank as usize >= from { product } else { T::ZERO };
    let dot = tile.reduce(p.conj().mul(v), |a, b| a + b);
    let half = -<T::Real as Real>::HALF;
    let w = tau.mul(dot).scale(half).mul_add(v, p);
    vectors.w.set(rank, w);
    tile.sync();
    let (minus_v, minus_w) = (-v, -w);
    for start in (from & !3..P).step_by(4) {
        let v4 = vectors.v.get_array::<4>(start as u32);
        let w4 = vectors.w.get_array::<4>(start as u32);
        for c in 0..4 {
            let updated = minus_v.mul_add(w4[c].conj(), row[start + c]);
            row[start + c] = minus_w.mul_add(v4[c].conj(), updated);
        }
    }
}

/// Calls `f(c, x[c])` for the columns from the quad of `from` on, reading four at a time.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn quads<T: Copy, const P: usize>(x: Shared<T>, from: usize, mut f: impl FnMut(usize, T)) {
    for start in (from & !3..P).step_by(4) {
        let four = x.get_array::<4>(start as u32);
        for (c, value) in four.into_iter().enumerate() {
            f(start + c, value);
        }
    }
}

/// The reflector of column `k` of a matrix held one row a lane.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn column_reflector<T: Scalar, const P: usize>(tile: Tile, row: &[T; P], k: usize) -> Reflector<T> {
    larfg(tile, k as u32 + 1, row[k])
}

/// Whether column `k` of a matrix of order `n` needs a reflector: complex types need one more, which makes the
/// last off-diagonal real.
#[inline(always)]
pub fn needs_reflector<T: Scalar>(k: usize, n: u32) -> bool {
    let rows_below = if T::COMPLEX { 1 } else { 2 };
    k as u32 + rows_below < n
}
