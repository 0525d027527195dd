//! `syev_jacobi`: the whole eigenproblem by cyclic two-sided Jacobi, resident in one tile.

use cuda_std::partition::Tile;
use cuda_std::prelude::*;
use device_linalg::jacobi_tile::{Basis, Ring, Rotations, rotation_reals};
use device_linalg::layout::{Items, item_index, tile_offset};
use device_linalg::load::{load_square, square_ld};
use device_linalg::output::{Columns, ascending_position, write_nan};

/// Shared elements of a tile for the matrix, and for the vectors on their way out.
const fn square_elements(p: usize) -> usize {
    p * square_ld(p)
}

/// Bytes of shared memory of a block of so many threads.
pub const fn shared_bytes(p: usize, threads: usize, scalar_bytes: usize, complex: bool) -> usize {
    let real_bytes = if complex { scalar_bytes / 2 } else { scalar_bytes };
    threads / p * (square_elements(p) * scalar_bytes + rotation_reals(p, complex) * real_bytes)
}

/// Eigenvalues and vectors of small symmetric or Hermitian matrices by Jacobi, one read and one write of each.
///
/// # Layout and shapes
/// `a`: `batch` column-major matrices of order `n <= P`, leading dimension `ld`, `stride` elements apart; the
/// triangle named by `upper` (0: lower) is read. With `VECTORS` overwritten by the eigenvectors, else left as it
/// is. `w`: `batch * n` eigenvalues, ascending. `status`: `batch` elements: 0, the number of pairs still coupled
/// after `max_sweeps` sweeps, or -1 where an element read is not finite; where it is not 0 the outputs are NaN.
///
/// # Lanes
/// `P` lanes an item, any number of items a block; all lanes of a warp stay to the end. A lane holds the 2x2 blocks
/// of one triangle where its pair of rows meets `P / 8` pairs of columns, and a row of the vectors, in registers.
///
/// # Shared memory
/// [`shared_bytes`]: the matrix once, for the way in and out; the rotations of two rounds.
///
/// # Synchronisation
/// `sync_warp` once a round, a vote every second one. Rounds go on while any item of the warp needs one; a converged
/// item is not turned, and its bits do not depend on its neighbours.
///
/// # Numerics
/// Scaled by powers of two to a norm of [`Real::HIGH_NORM`] and back. A pair is rotated while
/// `|a_pq| > eps sqrt(|a_pp a_qq|)`: small eigenvalues of graded positive definite matrices keep their relative
/// accuracy. After two rounds on end without a rotation all pairs are tested, so that no sweep is run to find that
/// nothing is left to do. The component of largest modulus of each vector is real and positive, ties to the earliest
/// row.
///
/// # Safety
/// The views cover the items; the launch gives the shared memory; blocks are whole warps.
///
/// # Source
/// Demmel and Veselić, "Jacobi's method is more accurate than QR", 1992; Luk and Park, "On parallel Jacobi
/// orderings", 1989, for the order of the pairs; `docs/algorithms/jacobi.md`.
#[kernel(T = [f32, f64, c32, c64], P = [4, 8, 16, 32], VECTORS = [true, false], launch_bounds(128))]
pub unsafe fn syev_jacobi<T: Scalar, const P: usize, const VECTORS: bool>(
    a: GlobalMut<T>,
    w: GlobalMut<T::Real>,
    status: GlobalMut<i32>,
    n: u32,
    ld: u32,
    stride: u64,
    batch: u64,
    upper: u32,
    max_sweeps: u32,
) {
    let items = Items { n, ld, stride, batch };
    let tile = Tile::whole_warp(P as u32);
    let rank = tile.rank();
    let item = item_index(P as u32);
    let live = item < batch;
    let matrix = a.at(if live { (item * stride) as usize } else { 0 });
    let tiles = thread::block_dim_x() as usize / P;
    let reals = const { rotation_reals(P, T::COMPLEX) };
    let squares = tiles * const { square_elements(P) };
    // SAFETY: the launch gives shared_bytes: first the squares, whose size is a multiple of 16 bytes.
    let square = unsafe { dynamic_shared_mem::<T>(0, squares) }.at(tile_offset(P as u32, square_elements(P)));
    // SAFETY: behind them the rotations.
    let numbers = unsafe { dynamic_shared_mem::<T::Real>(squares * size_of::<T>(), tiles * reals) }
        .at(tile_offset(P as u32, reals));

    let largest = load_square::<T, P>(tile, matrix, items, (upper != 0, live), square);
    tile.sync();
    let bad = largest.is_none();
    let scale = largest.unwrap_or(<T::Real as Real>::ONE).normalizer();
    let up = <T::Real as Real>::HIGH_NORM;
    let mut ring = Ring::<T, P>::load(tile, n, |row, column| {
        let x = square.get(column * const { square_ld(P) as u32 } + row).scale(scale).scale(up);
        let zero = <T::Real as Real>::ZERO;
        T::from_parts(if bad { zero } else { x.re() }, if bad { zero } else { x.im() })
    });
    // The basis may keep columns where the matrix was.
    tile.sync();
    let ld_square = const { square_ld(P) as u32 };
    let mut basis = Basis::<T, P>::identity(tile, square, ld_square);

    let mut left = max_sweeps * n.div_ceil(2);
    let coupled = loop {
        let coupled = ring.coupled();
        let converged = !tile.any(coupled != 0);
        if !warp::warp_vote_any(warp::FULL_MASK, !converged) || left == 0 {
            break coupled;
        }
        ring.turn_pairs::<VECTORS>(Rotations::new(numbers), &mut basis, converged, &mut left);
    };
    let coupled = tile.reduce(coupled, |x, y| x + y);

    tile.sync();
    ring.store_diagonal(numbers);
    if VECTORS {
        basis.store(|k| ring.column_at(k));
    }
    tile.sync();
    let d = numbers.get(ring.position_of(rank));
    let position = ascending_position(tile, n, d);
    let failed = bad || coupled != 0;
    if VECTORS {
        let columns = Columns { first: square, ld: ld_square };
        // Whether a zero is -0 may depend on the item's neighbours: it becomes positive.
        columns.write_each::<P>(tile, matrix, items, (position, live && !failed), |x| x + T::ZERO);
    }
    if live {
        let values = w.at(item as usize * n as usize);
        if failed {
            write_nan::<T, VECTORS>(rank, matrix, values, items);
        } else if rank < n {
            // Two steps: the product of both powers of two may be past the largest number. Zeros as above.
            let x = d * up.recip() * scale.recip() + <T::Real as Real>::ZERO;
            values.set(position as usize, x);
        }
        if rank == 0 {
            status.set(item as usize, if bad { -1 } else { coupled as i32 });
        }
    }
}
