//! `gemm_direct`: no staging.

use crate::operand::{Side, Target};
use crate::shape::DIRECT_COLUMNS;
use cuda_std::prelude::*;

/// C = alpha op(A) op(B) + beta C, for few rows and columns.
///
/// # Layout and shapes
/// Column-major with leading dimension and stride, op(A) of m by k, op(B) of k by n; see the crate. An item is
/// m times n / 4 tasks, rounded up. Either `per_item` blocks share an item or a block has `per_block` items, and the
/// other number is 1.
///
/// # Lanes
/// A thread a task: one row and 4 columns of C. Threads follow each other along the rows.
///
/// # Shared memory
/// None.
///
/// # Synchronisation
/// None.
///
/// # Numerics
/// A chain of fused multiply-adds in the order of k from 0 on; then alpha, then beta C.
///
/// # Safety
/// The views cover `batch` items, and m times n / 4 fits 32 bits.
///
/// # Source
/// Ours.
#[kernel(T = [f32, f64, c32, c64], launch_bounds(128))]
pub unsafe fn gemm_direct<T: Scalar>(
    a: Global<T>,
    b: Global<T>,
    c: GlobalMut<T>,
    m: u32,
    n: u32,
    k: u32,
    flags: u32,
    lda: usize,
    ldb: usize,
    ldc: usize,
    stride_a: usize,
    stride_b: usize,
    stride_c: usize,
    alpha_re: f64,
    alpha_im: f64,
    beta_re: f64,
    beta_im: f64,
    batch: u32,
    per_item: u32,
    per_block: u32,
) {
    let (block, rank) = (thread::block_idx_x(), thread::thread_idx_x());
    // Never 0, which lets the compiler drop the checks of divisions.
    let rows = if m == 0 { 1 } else { m };
    let groups = n.div_ceil(DIRECT_COLUMNS as u32);
    let tasks = if groups == 0 { 1 } else { rows * groups };
    let tasks = if tasks == 0 { 1 } else { tasks };
    let (within, part) = if per_block > 1 {
        (rank / tasks, rank % tasks)
    } else {
        let per_item = if per_item == 0 { 1 } else { per_item };
        (0, block % per_item * thread::block_dim_x() + rank)
    };
    let per_item = if per_item == 0 { 1 } else { per_item };
    let item = block / per_item * per_block + within;
    if within >= per_block || item >= batch || part >= tasks {
        return;
    }
    let (row, group, item) = (part % rows, part / rows, item as usize);
    let column = group * DIRECT_COLUMNS as u32;
    let left = Side::left(a.at(item * stride_a), lda, m, flags).from_row(row);
    let right = Side::right(b.at(item * stride_b), ldb, n, flags).from_row(column);
    let target = c.at(item * stride_c);
    let target = Target::new(target, ldc, m, n, [alpha_re, alpha_im], [beta_re, beta_im]).from(row, column);

    let mut sums = [T::ZERO; DIRECT_COLUMNS];
    for depth in 0..k {
        let x = left.get(0, depth);
        for j in 0..DIRECT_COLUMNS {
            if (j as u32) < right.rows {
                sums[j] = x.mul_add(right.get(j as u32, depth), sums[j]);
            }
        }
    }
    for j in 0..DIRECT_COLUMNS {
        if target.is_read() {
            target.put::<true>(0, j as u32, sums[j]);
        } else {
            target.put::<false>(0, j as u32, sums[j]);
        }
    }
}
