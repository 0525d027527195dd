//! A warp's part of a product in f64 on the tensor cores, two tiles of 8 columns wide, as sums of its lanes.
//!
//! Sum `[c][r]` of a lane belongs to row [`row`]`(r)` and column [`column()`]`(c)` of the part.

use cuda_std::matrix::product_16x8x16;
use cuda_std::prelude::*;

/// Row of the part that sums `r` of this lane belong to.
#[inline(always)]
pub fn row(r: usize) -> u32 {
    warp::lane_id() / 4 + row_offset(r)
}

/// From the first of this lane's rows to that of sums `r`: a constant.
#[inline(always)]
fn row_offset(r: usize) -> u32 {
    (16 * (r / 2) + 8 * (r % 2)) as u32
}

/// Column of the part that sums `c` of this lane belong to.
#[inline(always)]
pub fn column(c: usize) -> u32 {
    2 * (warp::lane_id() % 4) + (8 * (c / 2) + c % 2) as u32
}

/// Adds the product of `left(row, k)` and `right(k, column)` over 16 `k`, where the part begins with row and column `corner`: of
/// `rows` / 2 tiles of 16 rows (at most as many as the sums have) and two of 8 columns. A collective of the whole warp.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn add_product<const ROWS: usize>(
    corner: (u32, u32),
    rows: usize,
    left: impl Fn(u32, u32) -> f64,
    right: impl Fn(u32, u32) -> f64,
    sums: &mut [[f64; ROWS]; 4],
) {
    let (group, within) = (warp::lane_id() / 4, warp::lane_id() % 4);
    let mut b = [[0.0; 4]; 2];
    for tile in 0..2 {
        for s in 0..4 {
            b[tile][s] = right(within + 4 * s as u32, corner.1 + 8 * tile as u32 + group);
        }
    }
    for part in 0..rows / 2 {
        let mut a = [0.0; 8];
        for e in 0..8 {
            let (h, s) = ((e % 2) as u32, (e / 2) as u32);
            a[e] = left(corner.0 + 16 * part as u32 + group + 8 * h, within + 4 * s);
        }
        for tile in 0..2 {
            let mut c = [0.0; 4];
            for e in 0..4 {
                c[e] = sums[2 * tile + e % 2][2 * part + e / 2];
            }
            c = product_16x8x16(a, b[tile], c);
            for e in 0..4 {
                sums[2 * tile + e % 2][2 * part + e / 2] = c[e];
            }
        }
    }
}
