//! `steqr_wg`: a block of threads a matrix, any order that shared memory takes.

use crate::arguments::{Arguments, Iteration, kronecker};
use crate::front::Row;
use crate::train::{Chasing, Track};
use cuda_std::prelude::*;
use device_linalg::layout::Items;
use device_linalg::output::is_turned;
use device_linalg::train::Chaser as _;

pub use crate::train::shared_bytes;

/// Threads of a block: a chasing warp, and with vectors those that rotate.
pub const fn threads(vectors: bool) -> u32 {
    if vectors { 256 } else { 32 }
}

/// Eigenvalues and vectors of real symmetric tridiagonal matrices.
///
/// # Layout and shapes
/// As `steqr_cta_decoupled`, `n <= 65535`.
///
/// # Lanes
/// A block an item. Warp 0 chases, a lane a sweep of a train; with `VECTORS` each thread of the others takes every 224th row
/// of the basis, which stays in `q`.
///
/// # Shared memory
/// [`shared_bytes`]: the matrix, two rounds of rotations, the order of the columns.
///
/// # Synchronisation
/// A barrier of roles a round of the chase; block barriers before and after.
///
/// # Numerics
/// Implicit QL in Parlett and Gray's form from the end of smaller magnitude of the whole matrix, scaled by a power of two;
/// trains of four sweeps with the shift of the first, and single sweeps where half of `n * sweeps_per_value` sweeps are
/// spent. The shift is the eigenvalue of the leading 2x2 block, whatever `wilkinson` says. The component of largest modulus of each vector is positive.
///
/// # Safety
/// The views cover the items; the launch gives a block of [`threads`] an item and [`shared_bytes`].
///
/// # Source
/// LAPACK's `dsteqr`; trains: `docs/algorithms/steqr.md`.
#[kernel(
    group(T = [f32, f64], VECTORS = [true], launch_bounds(256)),
    group(T = [f32, f64], VECTORS = [false], launch_bounds(32))
)]
pub unsafe fn steqr_wg<T: Real, const VECTORS: bool>(
    d: GlobalMut<T>,
    e: Global<T>,
    q: GlobalMut<T>,
    status: GlobalMut<i32>,
    n: u32,
    ld: u32,
    stride: u64,
    batch: u64,
    sweeps_per_value: u32,
    wilkinson: u32,
    back_transform: u32,
    sort: u32,
) {
    let items = Items { n, ld, stride, batch };
    let iteration = Iteration { sweeps_per_value, wilkinson, back_transform, sort };
    let arguments = Arguments { d, e, q, status, items, iteration };
    let item = thread::block_idx_x() as u64;
    let track = Track::<T>::new(n, VECTORS);
    let Some(start) = load(&arguments, item, track) else {
        fail::<T, VECTORS>(&arguments, item, -1);
        return;
    };
    let basis = Row { first: arguments.basis(item), ld, n, reversed: start.reversed };
    if VECTORS && back_transform == 0 {
        identity(basis);
    }
    thread::sync_threads();
    if thread::thread_idx_x() < 32 {
        Chasing::<T, VECTORS>(track).lead(n * sweeps_per_value);
    } else if VECTORS {
        follow(track, basis);
    }
    let unconverged = track.spans.unconverged();
    if unconverged != 0 {
        fail::<T, VECTORS>(&arguments, item, unconverged as i32);
        return;
    }
    // By all threads: places of values, then of columns.
    let values = arguments.diagonal(item);
    let mut j = thread::thread_idx_x();
    while j < n {
        let column = if start.reversed { n - 1 - j } else { j };
        let place = if sort != 0 { position(track.band.d, n, j) } else { column };
        track.source.set(place, column);
        // Two steps: the product of both powers of two may be past the largest number.
        values.set(place as usize, track.band.d.get(j) * T::HIGH_NORM.recip() * start.descale);
        j += thread::block_dim_x();
    }
    if thread::thread_idx_x() == 0 {
        status.set(item as usize, 0);
    }
    if VECTORS {
        thread::sync_threads();
        find_leaders(track, n);
        thread::sync_threads();
        let mut row = thread::thread_idx_x();
        while row < n {
            Row { first: basis.first.at(row as usize), ..basis }.permute(&track);
            row += thread::block_dim_x();
        }
        thread::sync_threads();
        fix_signs(basis);
    }
}

/// How the matrix was brought to shared memory.
#[derive(Clone, Copy)]
struct Start<T> {
    /// Row `i` there is row `n - 1 - i` of the item.
    reversed: bool,
    /// The inverse of the scale to norm 1.
    descale: T,
}

/// Brings the item to shared memory, its end of smaller magnitude first, at [`Real::HIGH_NORM`]; nothing where an element is
/// not finite. A barrier must follow.
#[inline(always)]
fn load<T: Real>(arguments: &Arguments<T>, item: u64, track: Track<T>) -> Option<Start<T>> {
    let n = arguments.items.n;
    let d = arguments.diagonal(item);
    let coupling = |i: u32| if i + 1 < n { arguments.coupling(item, i) } else { T::ZERO };
    let (mut largest, mut finite) = (T::ZERO, true);
    // Every warp looks at all of it: no exchange, and the item is read from the cache.
    let tile = tiled_partition::<32>();
    let mut i = tile.rank();
    while i < n {
        let (x, y) = (d.get(i as usize), coupling(i));
        largest = largest.max(x.abs()).max(y.abs());
        finite &= x.is_finite() && y.is_finite();
        i += 32;
    }
    let finite = tile.all(finite);
    let scale = tile.reduce(largest, |a, b| a.max(b)).normalizer();
    if !finite {
        return None;
    }
    let reversed = d.get(n as usize - 1).abs() < d.get(0).abs();
    let mut i = thread::thread_idx_x();
    while i < n {
        let row = if reversed { n - 1 - i } else { i };
        track.band.d.set(i, d.get(row as usize) * scale * T::HIGH_NORM);
        if i + 1 < n {
            let below = if reversed { n - 2 - i } else { i };
            track.band.e.set(i, coupling(below) * scale * T::HIGH_NORM);
        }
        i += thread::block_dim_x();
    }
    Some(Start { reversed, descale: scale.normalizer() })
}

/// The role of the warps that rotate.
#[inline(always)]
fn follow<T: Real>(track: Track<T>, basis: Row<T>) {
    // The first round is logged with nothing to apply.
    let mut more = thread::sync_roles_or(false);
    let mut buffer = 0;
    while more {
        let mut row = thread::thread_idx_x() - 32;
        while row < basis.n {
            Row { first: basis.first.at(row as usize), ..basis }.apply_round(&track, buffer);
            row += thread::block_dim_x() - 32;
        }
        more = thread::sync_roles_or(false);
        buffer ^= 1;
    }
}

/// The identity, by all threads.
#[inline(always)]
fn identity<T: Real>(basis: Row<T>) {
    for column in 0..basis.n {
        let mut row = thread::thread_idx_x();
        while row < basis.n {
            basis.first.set(column as usize * basis.ld as usize + row as usize, kronecker(row == column));
            row += thread::block_dim_x();
        }
    }
}

/// Place of value `k` in ascending order; ties keep their order.
#[inline(always)]
fn position<T: Real>(values: Shared<T>, n: u32, k: u32) -> u32 {
    let own = values.get(k);
    let mut position = 0;
    for j in 0..n {
        let other = values.get(j);
        position += (other < own || (other == own && j < k)) as u32;
    }
    position
}

/// Marks one column of each cycle of the order, unless it stays where it is.
#[inline(always)]
fn find_leaders<T: Real>(track: Track<T>, n: u32) {
    let mut k = thread::thread_idx_x();
    while k < n {
        let mut at = track.source.get(k);
        let moves = at != k;
        while at > k {
            at = track.source.get(at);
        }
        track.leads.set(k, (moves && at == k) as u32);
        k += thread::block_dim_x();
    }
}

/// Turns each column so that its component of largest modulus, the first of equals, is positive: a warp a column.
#[inline(always)]
fn fix_signs<T: Real>(basis: Row<T>) {
    let tile = tiled_partition::<32>();
    let mut column = thread::thread_idx_x() / 32;
    while column < basis.n {
        let elements = basis.first.at(column as usize * basis.ld as usize);
        if is_turned(tile, elements, basis.n, true) {
            let mut i = tile.rank();
            while i < basis.n {
                elements.set(i as usize, -elements.get(i as usize));
                i += 32;
            }
        }
        column += thread::block_dim_x() / 32;
    }
}

/// NaN in all outputs of an item, and its status, by all threads.
#[inline(always)]
fn fail<T: Real, const VECTORS: bool>(arguments: &Arguments<T>, item: u64, code: i32) {
    // Warps may still read what is overwritten.
    thread::sync_threads();
    let (values, basis) = (arguments.diagonal(item), arguments.basis(item));
    let mut row = thread::thread_idx_x();
    while row < arguments.items.n {
        values.set(row as usize, T::NAN);
        if VECTORS {
            for column in 0..arguments.items.n {
                basis.set(column as usize * arguments.items.ld as usize + row as usize, T::NAN);
            }
        }
        row += thread::block_dim_x();
    }
    if thread::thread_idx_x() == 0 {
        arguments.status.set(item as usize, code);
    }
}
