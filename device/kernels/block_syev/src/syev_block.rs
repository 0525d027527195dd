//! `syev_block`: the whole eigenproblem in one launch, a block of threads a matrix.

use crate::apply::Rows;
use crate::back::{Basis, position, write_vectors};
use crate::bisect::eigenvalue;
use crate::chase::Track;
use crate::reduce::Columns;
use crate::shape::{INDEX, Offsets, WORDS, in_parts, padded, threads};
use cuda_std::partition::Tile;
use cuda_std::prelude::*;
use device_linalg::layout::Item;
use device_linalg::reflector::Reflector;
use device_linalg::rows::row_of;
use device_linalg::train::Chaser as _;

/// Eigenvalues and vectors of symmetric or Hermitian matrices, a block of threads each.
///
/// # Layout and shapes
/// `a`: column-major matrices of order `n <= 32 ROWS`, leading dimension `ld`, `stride` elements apart, one a block; the
/// triangle named by `upper` (0: lower) is read. With `VECTORS` overwritten by the eigenvectors, else left as it is.
/// `reflectors`: where they are kept with `VECTORS`, laid out by `reflector_ld` and `reflector_stride`: `a` itself, or
/// other memory where [`in_parts`] says so. `w`: `n` eigenvalues an item, ascending. `status`:
/// one an item: 0, the number of couplings that did not converge, or -1 where an element read is not finite; where
/// it is not 0 the outputs are NaN.
///
/// # Lanes
/// Reduction: a warp holds `COLUMNS` columns, lane = row. QL: warp 0 chases, threads of the others take a row, or two.
/// Bisection: a thread a value. Back-transform: `PADDED / (ROWS COLUMNS)` lanes a column.
///
/// # Shared memory
/// [`Offsets`]: tridiagonal matrix; then in turn the reduction's exchange, basis and rotation log, staged reflectors.
///
/// # Synchronisation
/// A block barrier a column of the reduction, a barrier of roles a round of the chase, a block barrier for every
/// eight reflectors of the back-transform. Bad items leave as a block.
///
/// # Numerics
/// Scaled by a power of two to norm 1 and back. Householder reduction, implicit QL from the end of smaller magnitude:
/// decided once a matrix, by reversing it. Values only: bisection. Backward stable by norm. The component of largest
/// modulus of each vector is real and positive.
///
/// # Safety
/// The views cover the items; the launch gives a block an item, [`threads`] threads, [`Offsets::end`] bytes.
///
/// # Source
/// LAPACK's `zhetd2`, `dsteqr`, `dstebz`; `docs/algorithms/block.md`.
#[kernel(
    group(T = [f32], ROWS = [2], COLUMNS = [32], VECTORS = [true, false], launch_bounds(64, 6)),
    group(T = [f32], ROWS = [2], COLUMNS = [16], VECTORS = [true, false], launch_bounds(128, 5)),
    group(T = [f64, c32], ROWS = [2], COLUMNS = [32], VECTORS = [true, false], launch_bounds(64, 4)),
    group(T = [f64, c32], ROWS = [2], COLUMNS = [16], VECTORS = [true, false], launch_bounds(128, 3)),
    group(T = [c64], ROWS = [2], COLUMNS = [16], VECTORS = [true, false], launch_bounds(128, 2)),
    group(T = [c64], ROWS = [2], COLUMNS = [8], VECTORS = [true, false], launch_bounds(256, 1)),
    group(T = [f32], ROWS = [4], COLUMNS = [16], VECTORS = [true, false], launch_bounds(256, 2)),
    group(T = [f64, c32, c64], ROWS = [4], COLUMNS = [16], VECTORS = [true, false], launch_bounds(256, 1))
)]
pub unsafe fn syev_block<T: Scalar, const ROWS: usize, const COLUMNS: usize, const VECTORS: bool>(
    a: GlobalMut<T>,
    w: GlobalMut<T::Real>,
    status: GlobalMut<i32>,
    reflectors: GlobalMut<T>,
    n: u32,
    ld: u32,
    stride: u64,
    reflector_ld: u32,
    reflector_stride: u64,
    upper: u32,
    sweeps_per_value: u32,
) {
    let offsets = Offsets::new(ROWS, COLUMNS, size_of::<T>(), size_of::<T::Real>(), n as usize, VECTORS);
    let first = thread::block_idx_x();
    let item_at = |index: u32| Item { matrix: a.at((index as u64 * stride) as usize), n, ld };
    let mut columns = Columns::<T, ROWS, COLUMNS>::load(item_at(first), upper != 0, &offsets);
    // SAFETY: the launch gives Offsets::end bytes; the part is aligned.
    let words = unsafe { dynamic_shared_mem::<u32>(offsets.words, WORDS) };
    if thread::thread_idx_x() == 0 {
        words.set(INDEX, first);
    }
    // Read again where it is needed: no phase has the registers for addresses that another one needs.
    let index = || words.get(INDEX);
    let Some(scale) = columns.normalize() else {
        write_nan::<T, VECTORS>(item_at(first), w.at(first as usize * n as usize));
        if thread::thread_idx_x() == 0 {
            status.set(first as usize, -1);
        }
        return;
    };
    let kept_at = || {
        let offset = index() as u64 * reflector_stride;
        Item { matrix: reflectors.at(offset as usize), n, ld: reflector_ld }
    };
    columns.reduce(|k, reflector| {
        if VECTORS {
            keep::<T, ROWS>(kept_at(), k, reflector);
        }
    });
    thread::sync_threads();

    let track = Track::<T::Real>::new(n, ROWS, &offsets);
    let thread = thread::thread_idx_x();
    let mut unconverged = 0;
    let descale = scale.recip();
    if VECTORS {
        track.prepare();
        let basis = identity::<T::Real>(n, &offsets);
        thread::sync_threads();
        iterate::<T::Real, ROWS, COLUMNS>(&track, basis, n, n * sweeps_per_value);
        unconverged = track.spans().unconverged();
    } else {
        let mut value = <T::Real as Real>::ZERO;
        if thread < n {
            value = eigenvalue(track.band.d, track.band.e, n, thread);
        }
        thread::sync_threads();
        if thread < n {
            track.band.d.set(thread, value);
        }
        thread::sync_threads();
    }
    if thread < n {
        // Two steps: the product of both powers of two may be past the largest number.
        let mut x = track.band.d.get(thread);
        if VECTORS {
            x *= <T::Real as Real>::HIGH_NORM.recip();
        }
        let nan = <T::Real as Real>::NAN;
        let at = position(track.band.d, n, thread) as usize;
        let values = w.at(index() as usize * n as usize);
        values.set(at, if unconverged != 0 { nan } else { x * descale });
    }
    if thread == 0 {
        status.set(index() as usize, unconverged as i32);
    }
    if VECTORS {
        let basis = Basis {
            elements: basis_elements::<T::Real>(n, &offsets),
            values: track.band.d,
            reversed: track.is_reversed(),
            spans: track.spans(),
        };
        if in_parts(size_of::<T>(), ROWS) {
            write_vectors::<T, ROWS, COLUMNS, 1>(basis, item_at(index()), kept_at(), &offsets);
        } else {
            write_vectors::<T, ROWS, COLUMNS, ROWS>(basis, item_at(index()), kept_at(), &offsets);
        }
    }
}

/// Leaves reflector `k` below the subdiagonal of column `k`, and its factor to the right of diagonal element `k`.
#[inline(always)]
fn keep<T: Scalar, const ROWS: usize>(kept: Item<T>, k: u32, reflector: &Reflector<T, ROWS>) {
    let tile = Tile::native(32);
    for r in 0..ROWS {
        let row = row_of(tile, r);
        if row > k + 1 && row < kept.n {
            kept.column(k).set(row as usize, reflector.v[r]);
        }
    }
    if tile.rank() == 0 {
        kept.column(k + 1).set(k as usize, reflector.tau);
    }
}

/// Writes NaN to all outputs of an item, by all threads.
#[inline(always)]
fn write_nan<T: Scalar, const VECTORS: bool>(item: Item<T>, values: GlobalMut<T::Real>) {
    let nan = <T::Real as Real>::NAN;
    let mut row = thread::thread_idx_x();
    while row < item.n {
        values.set(row as usize, nan);
        if VECTORS {
            for k in 0..item.n {
                item.column(k).set(row as usize, T::from_parts(nan, nan));
            }
        }
        row += thread::block_dim_x();
    }
}

/// The basis in shared memory.
#[inline(always)]
fn basis_elements<R: Real>(n: u32, offsets: &Offsets) -> Shared<R> {
    // SAFETY: the launch gives Offsets::end bytes; the part is aligned.
    unsafe { dynamic_shared_mem::<R>(offsets.basis, (n * n) as usize) }
}

/// The basis, set to the identity by all threads.
#[inline(always)]
fn identity<R: Real>(n: u32, offsets: &Offsets) -> Shared<R> {
    let basis = basis_elements::<R>(n, offsets);
    let mut element = thread::thread_idx_x();
    while element < n * n {
        basis.set(element, R::ZERO);
        element += thread::block_dim_x();
    }
    thread::sync_threads();
    if thread::thread_idx_x() < n {
        basis.set(thread::thread_idx_x() * (n + 1), R::ONE);
    }
    basis
}

/// Implicit QL: warp 0 chases, a thread a row of the basis follows.
#[inline(always)]
fn iterate<R: Real, const ROWS: usize, const COLUMNS: usize>(
    track: &Track<R>,
    basis: Shared<R>,
    n: u32,
    max_sweeps: u32,
) {
    let warp = thread::thread_idx_x() / 32;
    if warp == 0 {
        track.lead(max_sweeps);
        return;
    }
    let row = thread::thread_idx_x() - 32;
    let followers = const { threads(ROWS, COLUMNS) - 32 };
    // The first round is logged with nothing to apply.
    let mut more = thread::sync_roles_or(false);
    let mut buffer = 0;
    while more {
        if row < n {
            let (first, distance) = (basis.at(row), followers as u32);
            // Two rows a lane where the warps are few.
            if followers < padded(ROWS) {
                Rows::<R, 2> { first, ld: n, row, distance }.apply_round(track, buffer);
            } else {
                Rows::<R, 1> { first, ld: n, row, distance }.apply_round(track, buffer);
            }
        }
        more = thread::sync_roles_or(false);
        buffer ^= 1;
    }
}
