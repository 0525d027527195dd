//! The arithmetic units that `stedc_apply` multiplies with: a block's product of a slab of its tile.

use cuda_std::prelude::*;
use device_linalg::fragments;

/// Slots of a slab.
pub const SLAB: u32 = 16;

/// Columns of a block's tile.
pub const COLUMNS: u32 = 64;

/// Columns of a thread's sums.
pub const WIDTH: usize = 4;

/// Rows of a block's tile, `rows` rows a thread.
pub const fn tile_rows(rows: usize) -> u32 {
    16 * rows as u32
}

/// Elements from a slot's line of a slab to the next, for lines of `count` elements. The tensor cores' fragments reach
/// over four lines at a time, which must begin in different banks.
pub const fn pitch(count: u32, real_bytes: usize) -> u32 {
    if real_bytes == 8 { count + 4 } else { count }
}

/// A type with its units.
pub trait Units: Real {
    /// Adds the product of a slab, 16 slots of `16 ROWS` rows and of 64 columns in lines [`pitch`] apart, to the sums of
    /// each thread of 256. A collective of whole warps.
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn accumulate<const ROWS: usize>(
        left: Shared<Self>,
        right: Shared<Self>,
        sums: &mut [[Self; ROWS]; WIDTH],
    );

    /// Row of the tile that sums `r` of this thread belong to.
    fn row<const ROWS: usize>(r: usize) -> u32;

    /// Column of the tile that sums `c` of this thread belong to.
    fn column(c: usize) -> u32;
}

/// By multiply-adds: threads 16 by 16, `ROWS` rows by 4 columns each.
impl Units for f32 {
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn accumulate<const ROWS: usize>(
        left: Shared<Self>,
        right: Shared<Self>,
        sums: &mut [[Self; ROWS]; WIDTH],
    ) {
        let (rows, columns) = (pitch(tile_rows(ROWS), 4), pitch(COLUMNS, 4));
        let (x, y) = (thread::thread_idx_x() % 16, thread::thread_idx_x() / 16);
        for s in 0..SLAB {
            let a = load::<ROWS>(left.at(s * rows), x);
            let b = load::<WIDTH>(right.at(s * columns), y);
            for c in 0..WIDTH {
                for r in 0..ROWS {
                    sums[c][r] = Real::mul_add(a[r], b[c], sums[c][r]);
                }
            }
        }
    }

    #[inline(always)]
    fn row<const ROWS: usize>(r: usize) -> u32 {
        spread::<ROWS>(r, thread::thread_idx_x() % 16)
    }

    #[inline(always)]
    fn column(c: usize) -> u32 {
        spread::<WIDTH>(c, thread::thread_idx_x() / 16)
    }
}

/// Row or column of element `i` of `N` of lane `x` of 16: four neighbours a load, so that the lanes' loads meet different
/// banks.
#[inline(always)]
fn spread<const N: usize>(i: usize, x: u32) -> u32 {
    let side = if N < 4 { N } else { 4 };
    ((i / side) * 16 * side + i % side) as u32 + x * side as u32
}

/// The `N` elements of lane `x`, as [`spread`] has them.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
fn load<const N: usize>(row: Shared<f32>, x: u32) -> [f32; N] {
    let mut elements = [0.0; N];
    if N < 4 {
        let two: [f32; 2] = row.as_pairs().get(spread::<N>(0, x) / 2).into();
        for i in 0..2 {
            elements[i % N] = two[i];
        }
    } else {
        for start in (0..N).step_by(4) {
            let four = row.get_array::<4>(spread::<N>(start, x));
            for i in 0..4 {
                elements[(start + i) % N] = four[i];
            }
        }
    }
    elements
}

/// By the tensor cores: warps 2 by 4, `8 ROWS` rows by 16 columns each.
impl Units for f64 {
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn accumulate<const ROWS: usize>(
        left: Shared<Self>,
        right: Shared<Self>,
        sums: &mut [[Self; ROWS]; WIDTH],
    ) {
        let (rows, columns) = (pitch(tile_rows(ROWS), 8), pitch(COLUMNS, 8));
        fragments::add_product(
            (warp_row::<ROWS>(), warp_column()),
            ROWS,
            |i, k| left.get(k * rows + i),
            |k, j| right.get(k * columns + j),
            sums,
        );
    }

    #[inline(always)]
    fn row<const ROWS: usize>(r: usize) -> u32 {
        warp_row::<ROWS>() + fragments::row(r)
    }

    #[inline(always)]
    fn column(c: usize) -> u32 {
        warp_column() + fragments::column(c)
    }
}

/// First row of this warp's part of the tile.
#[inline(always)]
fn warp_row<const ROWS: usize>() -> u32 {
    warp::warp_id() % 2 * 8 * ROWS as u32
}

/// First column of this warp's part of the tile.
#[inline(always)]
fn warp_column() -> u32 {
    warp::warp_id() / 2 * 16
}
