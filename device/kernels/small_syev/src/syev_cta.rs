//! `syev_cta`: tridiagonal solve and back-transformation after `sytrd_cta`.

use cuda_std::partition::Tile;
use cuda_std::prelude::*;
use device_linalg::layout::{Items, item_index, syev_elements, tile_offset};
use device_linalg::output::{Columns, ascending_position, write_nan};
use device_linalg::reduce::form_q;
use device_linalg::steqr_cta::{Explicit, Form, Nested, NoBasis, Options, SharedBasis, Shift, Tridiagonal};

/// Eigenvalues and vectors of the matrices that `sytrd_cta` reduced.
///
/// # Layout and shapes
/// `a`: as `sytrd_cta` leaves it; overwritten by the eigenvectors, column by column (`VECTORS`), else only read.
/// `w`: `batch * n` eigenvalues, ascending. `status`: `batch` elements; -1 on entry marks an item without a
/// result; on return otherwise the number of off-diagonals that did not converge. Outputs of an item whose status is not
/// 0 are NaN.
///
/// # Lanes
/// `P` lanes an item, lane = row. Any number of items a block.
///
/// # Shared memory
/// [`syev_elements`] elements an item: the basis, and one vector. None for values only.
///
/// # Synchronisation
/// `sync_warp` of the tile; tiles of a warp diverge.
///
/// # Numerics
/// Implicit QL in the nested form. Each vector is scaled so that its component of largest modulus is real
/// and positive, ties to the earliest row.
///
/// # Safety
/// The views cover the items; the launch gives the shared memory; blocks are whole warps.
///
/// # Source
/// LAPACK's `dsteqr` and `dorgtr`; `docs/algorithms/steqr.md`.
#[kernel(T = [f32, f64, c32, c64], P = [4, 8, 16, 32], VECTORS = [true, false], launch_bounds(128))]
pub unsafe fn syev_cta<T: Scalar, const P: usize, const VECTORS: bool>(
    a: GlobalMut<T>,
    w: GlobalMut<T::Real>,
    status: GlobalMut<i32>,
    n: u32,
    ld: u32,
    stride: u64,
    batch: u64,
    sweeps_per_value: u32,
    wilkinson: u32,
) {
    let items = Items { n, ld, stride, batch };
    let tile = Tile::native(P as u32);
    let item = item_index(P as u32);
    if item >= items.batch {
        return;
    }
    let rank = tile.rank();
    let matrix = a.at((item * items.stride) as usize);
    let values = w.at(item as usize * n as usize);
    if status.get(item as usize) < 0 {
        write_nan::<T, VECTORS>(rank, matrix, values, items);
        return;
    }
    // Lane 0 overwrites the status at the end.
    tile.sync();

    let mut rows = Tridiagonal { d: <T::Real as Real>::ZERO, e: <T::Real as Real>::ZERO };
    if rank < n {
        rows.d = matrix.get(rank as usize * ld as usize + rank as usize).re();
    }
    if rank + 1 < n {
        // Row rank + 1 of column rank: written by the lane above in the launch before.
        rows.e = matrix.get(rank as usize * ld as usize + rank as usize + 1).re();
    }
    let options = Options { max_sweeps: n * sweeps_per_value, shift: Shift::from_u32(wilkinson) };

    let (unconverged, columns) = if VECTORS {
        let tiles = thread::block_dim_x() as usize / P;
        let offset = tile_offset(P as u32, syev_elements(P));
        // SAFETY: the launch gives syev_elements an item.
        let shared = unsafe { dynamic_shared_mem::<T>(0, tiles * syev_elements(P)) }.at(offset);
        store_q::<T, P>(tile, matrix, items, shared);
        let basis = SharedBasis { row: shared.at(rank), ld: P as u32 };
        let unconverged = Nested::solve::<_, Explicit, _>(tile, n, &mut rows, basis, options);
        tile.sync();
        (unconverged, Some(Columns { first: shared, ld: P as u32 }))
    } else {
        (Nested::solve::<_, Explicit, _>(tile, n, &mut rows, NoBasis, options), None)
    };

    let position = ascending_position(tile, n, rows.d);
    if let Some(columns) = columns {
        columns.write::<P>(tile, matrix, items, position, unconverged == 0);
    }
    if unconverged != 0 {
        write_nan::<T, VECTORS>(rank, matrix, values, items);
    } else if rank < n {
        values.set(position as usize, rows.d);
    }
    if rank == 0 {
        status.set(item as usize, unconverged as i32);
    }
}

/// Leaves row `rank` of `Q` in shared memory, column by column.
#[inline(always)]
fn store_q<T: Scalar, const P: usize>(tile: Tile, matrix: GlobalMut<T>, items: Items, shared: Shared<T>) {
    let rows = form_q::<T, P, 1>(tile, matrix, items, shared.at((P * P) as u32));
    for slot in 0..P {
        let column = (slot as u32 + items.n - 1) & (P as u32 - 1);
        shared.set(column * P as u32 + tile.rank(), rows.slots[0][slot]);
    }
}
