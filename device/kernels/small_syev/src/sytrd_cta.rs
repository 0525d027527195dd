//! `sytrd_cta`: reduction of small symmetric or Hermitian matrices to tridiagonal form.

use device_linalg::layout::{Items, item_index, sytrd_elements, tile_offset};
use device_linalg::reduce::{Vectors, column_reflector, needs_reflector, two_sided_update};
use cuda_std::partition::Tile;
use cuda_std::prelude::*;

/// Reduces each matrix to a real tridiagonal one, `T = Q^H A Q`, in place.
///
/// # Layout and shapes
/// `a`: `batch` column-major matrices of order `n <= P`, leading dimension `ld`, `stride` elements apart. Only
/// the triangle named by `upper` (0: lower) is read, and the imaginary part of the diagonal is not. On return
/// the diagonal holds `d`, the subdiagonal `e`, column `k` below it the reflector `v_k` (whose first component is
/// 1), and element `(k, k + 1)` its `tau`; `Q = H_0 H_1 ...`, `H_k = I - tau v_k v_k^H`. Values only
/// (`!VECTORS`) leaves out reflectors. `status`: `batch` elements: 0, or -1 where an element read is not finite; such an
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
/// The matrix is scaled by a power of two to norm about 1 and back, which is exact; so squares neither
/// overflow nor lose what matters. Backward stable by norm.
///
/// # Safety
/// The views cover the items; the launch gives the shared memory; blocks are whole warps.
///
/// # Source
/// LAPACK's `dsytd2`/`zhetd2` (lower), with the update of both triangles in registers.
#[kernel(T = [f32, f64, c32, c64], P = [4, 8, 16, 32], VECTORS = [true, false], launch_bounds(128))]
pub unsafe fn sytrd_cta<T: Scalar, const P: usize, const VECTORS: bool>(
    a: GlobalMut<T>,
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
    let offset = tile_offset(P as u32, sytrd_elements(P as u32));
    let tiles = thread::block_dim_x() as usize / P;
    // SAFETY: the launch gives sytrd_elements an item.
    let shared = unsafe { dynamic_shared_mem::<T>(0, tiles * sytrd_elements(P as u32) as usize) }.at(offset);
    let vectors = Vectors { v: shared.at((P * (P + 1)) as u32), w: shared.at((P * (P + 1) + P) as u32) };
    let matrix = a.at((item * items.stride) as usize);

    let mut row = load_row::<T, P>(tile, matrix, items, upper != 0, shared);
    let mut finite = true;
    let mut largest = <T::Real as Real>::ZERO;
    for x in row {
        let magnitude = x.abs1();
        finite &= magnitude.is_finite();
        largest = largest.max(magnitude);
    }
    let bad = tile.any(!finite);
    if rank == 0 {
        status.set(item as usize, if bad { -1 } else { 0 });
    }
    if bad {
        return;
    }
    let scale = tile.reduce(largest, Real::max).normalizer();
    let unscale = scale.recip();
    for x in &mut row {
        *x = x.scale(scale);
    }

    for k in 0..P - 1 {
        if needs_reflector::<T>(k, n) {
            let reflector = column_reflector(tile, &row, k);
            two_sided_update(tile, &mut row, k + 1, reflector, vectors);
            if VECTORS && rank as usize > k + 1 && rank < n {
                matrix.set(k * ld as usize + rank as usize, reflector.v);
            }
            if VECTORS && rank as usize == k {
                matrix.set((k + 1) * ld as usize + rank as usize, reflector.tau);
            }
            if rank as usize == k + 1 {
                matrix.set(k * ld as usize + rank as usize, T::from_real(reflector.beta * unscale));
            }
        } else if rank as usize == k + 1 && rank < n {
            matrix.set(k * ld as usize + rank as usize, T::from_real(row[k].re() * unscale));
        }
    }
    let mut d = T::ZERO;
    for (c, x) in row.into_iter().enumerate() {
        d = if rank as usize == c { x } else { d };
    }
    if rank < n {
        matrix.set(rank as usize * ld as usize + rank as usize, T::from_real(d.re() * unscale));
    }
}

/// This lane's row of the full matrix, from one triangle; zero on lanes and columns past `n`.
///
/// Each column is read by consecutive lanes; the other half of the row comes transposed from shared memory.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
fn load_row<T: Scalar, const P: usize>(
    tile: Tile,
    matrix: GlobalMut<T>,
    items: Items,
    upper: bool,
    shared: Shared<T>,
) -> [T; P] {
    let rank = tile.rank() as usize;
    let n = items.n as usize;
    let mut row = [T::ZERO; P];
    for c in 0..P {
        let stored = if upper { rank <= c } else { rank >= c };
        if stored && rank < n && c < n {
            row[c] = matrix.get(c * items.ld as usize + rank);
        }
        row[c] = if rank == c { T::from_real(row[c].re()) } else { row[c] };
        shared.set((rank * (P + 1) + c) as u32, row[c]);
    }
    tile.sync();
    for c in 0..P {
        let mirrored = shared.get((c * (P + 1) + rank) as u32).conj();
        let stored = if upper { rank <= c } else { rank >= c };
        row[c] = if stored { row[c] } else { mirrored };
    }
    tile.sync();
    row
}
