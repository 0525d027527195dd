//! One problem a tile: in, solve, out. What the cooperative forms share.

use crate::arguments::{Arguments, kronecker};
use cuda_std::partition::Tile;
use cuda_std::prelude::*;
use device_linalg::layout::{item_index, steqr_elements};
use device_linalg::output::{Columns, ascending_position, write_nan};
use device_linalg::steqr_cta::{
    Explicit, Form, NoBasis, Options, ParlettGray, SharedBasis, Shift, Tridiagonal, Update,
};

/// Solves this tile's problem, with dsteqr's recurrence where `PG`. A tile past the batch, or with bad input, goes through as an empty problem, so that
/// collectives may name the whole warp.
#[inline(always)]
pub fn solve<T, F, const P: usize, const PG: bool, const VECTORS: bool, const INTERLEAVED: bool>(
    tile: Tile,
    arguments: Arguments<T>,
) where
    T: Real + Scalar<Real = T>,
    F: Form,
{
    if PG {
        solve_by::<T, F, ParlettGray, P, VECTORS, INTERLEAVED>(tile, arguments);
    } else {
        solve_by::<T, F, Explicit, P, VECTORS, INTERLEAVED>(tile, arguments);
    }
}

#[inline(always)]
fn solve_by<T, F, U, const P: usize, const VECTORS: bool, const INTERLEAVED: bool>(
    tile: Tile,
    arguments: Arguments<T>,
) where
    T: Real + Scalar<Real = T>,
    F: Form,
    U: Update,
{
    let item = item_index(P as u32);
    let live = item < arguments.items.batch;
    let item = if live { item } else { 0 };
    let mut rows = load(tile, &arguments, item, live);
    let bad = tile.any(!(rows.d.is_finite() && rows.e.is_finite()));
    let solved = live && !bad;
    let order = if solved { arguments.items.n } else { 0 };
    if !solved {
        rows = Tridiagonal::zero();
    }
    let options = Options {
        max_sweeps: arguments.items.n * arguments.iteration.sweeps_per_value,
        shift: Shift::from_u32(arguments.iteration.wilkinson),
    };

    let (unconverged, columns) = if VECTORS {
        let columns = columns::<T, P, INTERLEAVED>();
        let basis = SharedBasis { row: columns.first.at(tile.rank()), ld: columns.ld };
        fill::<T, P>(tile, &arguments, item, solved, basis);
        let unconverged = F::solve::<T, U, _>(tile, order, &mut rows, basis, options);
        tile.sync();
        (unconverged, Some(columns))
    } else {
        (F::solve::<T, U, _>(tile, order, &mut rows, NoBasis, options), None)
    };

    let rank = tile.rank();
    let failed = bad || unconverged != 0;
    let ascending = ascending_position(tile, arguments.items.n, rows.d);
    let position = if arguments.iteration.sort != 0 { ascending } else { rank };
    let (matrix, values) = (arguments.basis(item), arguments.diagonal(item));
    if let Some(columns) = columns {
        columns.write::<P>(tile, matrix, arguments.items, position, live && !failed);
    }
    if live && failed {
        write_nan::<T, VECTORS>(rank, matrix, values, arguments.items);
    } else if live && rank < arguments.items.n {
        values.set(position as usize, rows.d);
    }
    if live && rank == 0 {
        arguments.status.set(item as usize, if bad { -1 } else { unconverged as i32 });
    }
}

#[inline(always)]
fn load<T: Real>(tile: Tile, arguments: &Arguments<T>, item: u64, live: bool) -> Tridiagonal<T> {
    let rank = tile.rank();
    let mut rows = Tridiagonal::zero();
    if live && rank < arguments.items.n {
        rows.d = arguments.diagonal(item).get(rank as usize);
    }
    if live && rank + 1 < arguments.items.n {
        rows.e = arguments.coupling(item, rank);
    }
    // The diagonal is overwritten in another order.
    tile.sync();
    rows
}

/// Where the tile's columns lie: `P * P` elements of its own, or column by column beside those of the warp's other
/// tiles, which keeps them in different banks.
#[inline(always)]
fn columns<T: Real + Scalar<Real = T>, const P: usize, const INTERLEAVED: bool>() -> Columns<T> {
    let elements = thread::block_dim_x() as usize / P * steqr_elements(P);
    // SAFETY: the launch gives steqr_elements a tile.
    let all = unsafe { dynamic_shared_mem::<T>(0, elements) };
    let index = thread::thread_idx_x();
    if INTERLEAVED {
        let (warp, lane) = (index / 32, index & 31);
        let first = warp * 32 * P as u32 + (lane & !(P as u32 - 1));
        Columns { first: all.at(first), ld: 32 }
    } else {
        Columns { first: all.at(index / P as u32 * (P * P) as u32), ld: P as u32 }
    }
}

/// This lane's row of the basis to start from; padding is zero, so that the chase runs unguarded on all lanes.
#[inline(always)]
fn fill<T: Real + Scalar<Real = T>, const P: usize>(
    tile: Tile,
    arguments: &Arguments<T>,
    item: u64,
    solved: bool,
    basis: SharedBasis<T>,
) {
    let (rank, n) = (tile.rank(), arguments.items.n);
    let given = arguments.iteration.back_transform != 0 && solved && rank < n;
    let matrix = arguments.basis(item);
    for j in 0..P as u32 {
        let one = T::from_real(kronecker(rank == j && rank < n));
        let mut x = one;
        if given && j < n {
            x = matrix.get(j as usize * arguments.items.ld as usize + rank as usize);
        }
        basis.row.set(j * basis.ld, x);
    }
}
