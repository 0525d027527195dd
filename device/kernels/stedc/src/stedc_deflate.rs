//! `stedc_deflate`: the secular equation of each node, without what need not be in it.

use crate::deflate::Sorted;
use crate::fields::{Fields, NONE, RealField};
use crate::tree::{Kept, Node};
use cuda_std::prelude::*;

pub use crate::deflate::shared_bytes;
pub use crate::tree::THREADS;

/// Sets up the merges of a level and deflates.
///
/// # Layout and shapes
/// `below`: eigenvalues of the children, ascending, at the place of their columns, items `below_stride` apart; `vectors`:
/// their vectors, or first and last rows (`whole` 0), leading dimension `ld`, items `stride` apart. `leaf`: columns of a
/// leaf where the children are leaves, else 0. `reals`, `words`: [`Fields`]: `Cut` is read, all that describes the secular
/// equation, its slots, the deflated values and the rotations is written.
///
/// # Lanes
/// A block a node, for loading and sorting; then one warp; one lane where poles are close to each other.
///
/// # Shared memory
/// [`shared_bytes`]: the sorted poles.
///
/// # Synchronisation
/// Two block barriers, then those of the warp.
///
/// # Numerics
/// A pole is left out where its weight is negligible, or by a rotation with its neighbour where what that leaves off the
/// diagonal is: below 8 units of roundoff of the largest pole or weight. A value that is not finite, of a leaf that failed,
/// counts as 0.
///
/// # Safety
/// The views cover the items; the launch gives a block of [`THREADS`] a node and [`shared_bytes`].
///
/// # Source
/// Dongarra and Sorensen, 1987; LAPACK's `dlaed2`; `docs/algorithms/stedc.md`.
#[kernel(T = [f32, f64], launch_bounds(128))]
pub unsafe fn stedc_deflate<T: Real>(
    below: Global<T>,
    vectors: Global<T>,
    reals: GlobalMut<T>,
    words: GlobalMut<u32>,
    n: u32,
    batch: u64,
    level: u32,
    leaf: u32,
    whole: u32,
    below_stride: u64,
    ld: u32,
    stride: u64,
    largest: u32,
) {
    let node = Node::new(thread::block_idx_x() as u64, n, level, leaf);
    let kept = Kept { whole: whole != 0, leaves: leaf > 0 };
    let fields = Fields::new(reals, words, n, batch);
    let sorted = Sorted::<T>::new(node.rows(), largest);
    let (rows, top) = (node.rows(), node.top());
    let below = below.at((node.item * below_stride) as usize);
    let vectors = vectors.at((node.item * stride) as usize);
    let column = |i: u32| if i < top { node.columns[0] + i } else { node.columns[1] + i - top };

    let mut i = thread::thread_idx_x();
    while i < rows {
        sorted.raw.set(i, finite_or_zero(below.get(column(i) as usize)));
        i += THREADS;
    }
    thread::sync_threads();
    let rho = fields.item_reals(RealField::Cut, node.item).get(node.middle as usize);
    // Of unit length: each child's row has norm 1.
    let half_root = T::HALF.sqrt();
    let mut i = thread::thread_idx_x();
    while i < rows {
        let (x, is_top) = (sorted.raw.get(i), i < top);
        let at = if is_top {
            i + position(sorted.raw, top, rows, |y| y < x)
        } else {
            i - top + position(sorted.raw, 0, top, |y| y <= x)
        };
        let row = if is_top { kept.last_of_top(node) } else { 0 };
        let z = finite_or_zero(vectors.get(column(i) as usize * ld as usize + row as usize)) * half_root;
        sorted.pole.set(at, x);
        sorted.weight.set(at, if is_top || rho >= T::ZERO { z } else { -z });
        sorted.top.set(at, if is_top { column(i) } else { NONE });
        sorted.bottom.set(at, if is_top { NONE } else { column(i) });
        i += THREADS;
    }
    thread::sync_threads();
    if thread::thread_idx_x() < 32 {
        sorted.deflate(node, fields, rho.abs() * T::TWO);
    }
}

#[inline(always)]
fn finite_or_zero<T: Real>(x: T) -> T {
    if x.is_finite() { x } else { T::ZERO }
}

/// How many of the ascending elements `from..to` come first, as `before` has it.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
fn position<T: Real>(x: Shared<T>, from: u32, to: u32, before: impl Fn(T) -> bool) -> u32 {
    let (mut low, mut high) = (from, to);
    while low < high {
        let middle = (low + high) / 2;
        if before(x.get(middle)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low - from
}
