//! `sytrd_cta`: reduction of small symmetric or Hermitian matrices to tridiagonal form.

use cuda_std::partition::Tile;
use cuda_std::prelude::*;
use device_linalg::layout::{Items, item_index, sytrd_elements, tile_offset};
use device_linalg::load::{largest_element, load_rows, staging_elements};
use device_linalg::reduce::{Rows, Vectors};

/// Reduces each matrix to a real tridiagonal one, `T = Q^H A Q`, in place.
///
/// # Layout and shapes
/// `a`: `batch` column-major matrices of order `n <= P`, leading dimension `ld`, `stride` elements apart. Only
/// the triangle named by `upper` (0: lower) is read, and the imaginary part of the diagonal is not. On return
/// the diagonal holds `d`, the subdiagonal `e`, both of a norm near 1; column `k` below it the reflector `v_k` (whose
/// first component is 1), and element `(k, k + 1)` its `tau`; `Q = H_0 H_1 ...`, `H_k = I - tau v_k v_k^H`. Values only
/// (`!VECTORS`) leaves out reflectors. `w`: `n` elements an item, the first of which takes the power of two that brings
/// `d` and `e` to the input's scale. `status`: `batch` elements: 0, or -1 where an element read is not finite; such an
/// item is left as it is.
///
/// # Lanes
/// `P` lanes an item, lane = row, in registers. Any number of items a block.
///
/// # Shared memory
/// [`sytrd_elements`] elements an item: the matrix once, to read rows of the other triangle; two vectors.
///
/// # Synchronisation
/// `sync_warp` of the tile: two a column. Tiles of a warp may diverge.
///
/// # Numerics
/// The matrix is scaled by a power of two to norm about 1, which is exact; so squares neither overflow nor lose what
/// matters, and what follows is scaled back last. Backward stable by norm.
///
/// # Safety
/// The views cover the items; the launch gives the shared memory; blocks are whole warps.
///
/// # Source
/// LAPACK's `dsytd2`/`zhetd2` (lower), with the update of both triangles in registers.
#[kernel(T = [f32, f64, c32, c64], P = [4, 8, 16, 32], VECTORS = [true, false], launch_bounds(128))]
pub unsafe fn sytrd_cta<T: Scalar, const P: usize, const VECTORS: bool>(
    a: GlobalMut<T>,
    w: GlobalMut<T::Real>,
    status: GlobalMut<i32>,
    n: u32,
    ld: u32,
    stride: u64,
    batch: u64,
    upper: u32,
) {
    let items = Items { n, ld, stride, batch };
    let tile = Tile::native(P as u32);
    let item = item_index(P as u32);
    if item >= items.batch {
        return;
    }
    let rank = tile.rank();
    let offset = tile_offset(P as u32, sytrd_elements(P));
    let tiles = thread::block_dim_x() as usize / P;
    // SAFETY: the launch gives sytrd_elements an item.
    let shared = unsafe { dynamic_shared_mem::<T>(0, tiles * sytrd_elements(P)) }.at(offset);
    let staging = staging_elements(P) as u32;
    let vectors = Vectors { v: shared.at(staging), w: shared.at(staging + P as u32), tail: shared };
    let matrix = a.at((item * items.stride) as usize);

    let mut rows = Rows { slots: load_rows::<T, P, 1>(tile, matrix, items, upper != 0, shared) };
    let largest = largest_element(tile, &rows.slots);
    if rank == 0 {
        status.set(item as usize, if largest.is_none() { -1 } else { 0 });
    }
    let Some(largest) = largest else {
        return;
    };
    let scale = largest.normalizer();
    if rank == 0 {
        w.set(item as usize * n as usize, scale.recip());
    }
    for c in 0..P {
        rows.slots[0][c] = rows.slots[0][c].scale(scale);
    }

    let column = |k: u32| matrix.at(k as usize * ld as usize);
    let last = rows.reduce(tile, n, vectors, |step| {
        let k = step.k;
        if rank == k {
            column(k).set(rank as usize, T::from_real(step.diagonal[0]));
            if VECTORS {
                column(k + 1).set(rank as usize, step.reflector.tau);
            }
        }
        if rank == k + 1 {
            column(k).set(rank as usize, T::from_real(step.reflector.beta));
        }
        if VECTORS && rank > k + 1 && rank < n {
            column(k).set(rank as usize, step.reflector.v[0]);
        }
    });
    if rank + 1 == n {
        column(rank).set(rank as usize, T::from_real(last[0]));
    }
}
