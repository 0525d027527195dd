//! One problem a tile: in, solve, out. What the cooperative forms share.

use cuda_std::partition::Tile;
use cuda_std::prelude::*;
use device_linalg::layout::{Items, item_index, steqr_elements};
use device_linalg::output::{Columns, ascending_position};
use device_linalg::steqr_cta::{Form, NoBasis, Options, SharedBasis, Shift, Tridiagonal, Update};

/// The kernels' arguments.
#[derive(Clone, Copy)]
pub struct Arguments<T> {
    pub d: GlobalMut<T>,
    pub e: Global<T>,
    pub q: GlobalMut<T>,
    pub status: GlobalMut<i32>,
    pub n: u32,
    pub ld: u32,
    pub stride: u64,
    pub batch: u64,
    pub sweeps_per_value: u32,
    pub wilkinson: u32,
    pub back_transform: u32,
    pub sort: u32,
}

impl<T: Real> Arguments<T> {
    /// The batch of `q`.
    #[inline(always)]
    pub fn items(&self) -> Items {
        Items { n: self.n, ld: self.ld, stride: self.stride, batch: self.batch }
    }

    /// Diagonal, or eigenvalues, of an item.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn diagonal(&self, item: u64) -> GlobalMut<T> {
        self.d.at(item as usize * self.n as usize)
    }

    /// Element `i` of an item's off-diagonal.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn coupling(&self, item: u64, i: u32) -> T {
        self.e.get(item as usize * (self.n as usize - 1) + i as usize)
    }

    /// The item's basis.
    #[inline(always)]
    pub fn basis(&self, item: u64) -> GlobalMut<T> {
        self.q.at((item * self.stride) as usize)
    }
}

/// Solves this tile's problem. A tile past the batch, or with bad input, goes through as an empty problem, so that
/// collectives may name the whole warp.
#[inline(always)]
pub fn solve<T, F, U, const P: usize, const VECTORS: bool, const INTERLEAVED: bool>(
    tile: Tile,
    arguments: Arguments<T>,
) where
    T: Real + Scalar<Real = T>,
    F: Form,
    U: Update,
{
    let item = item_index(P as u32);
    let live = item < arguments.batch;
    let item = if live { item } else { 0 };
    let mut rows = load(tile, &arguments, item, live);
    let bad = tile.any(!(rows.d.is_finite() && rows.e.is_finite()));
    let solved = live && !bad;
    let order = if solved { arguments.n } else { 0 };
    if !solved {
        rows = Tridiagonal::zero();
    }
    let options = Options {
        max_sweeps: arguments.n * arguments.sweeps_per_value,
        shift: Shift::from_u32(arguments.wilkinson),
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
    let ascending = ascending_position(tile, arguments.n, rows.d);
    let position = if arguments.sort != 0 { ascending } else { rank };
    if let Some(columns) = columns {
        let matrix = arguments.basis(item);
        columns.write::<P>(tile, matrix, arguments.items(), position, solved);
        if live && bad && rank < arguments.n {
            for j in 0..arguments.n as usize {
                matrix.set(j * arguments.ld as usize + rank as usize, T::NAN);
            }
        }
    }
    if live && rank < arguments.n {
        arguments.diagonal(item).set(position as usize, if bad { T::NAN } else { rows.d });
    }
    if live && rank == 0 {
        arguments.status.set(item as usize, if bad { -1 } else { unconverged as i32 });
    }
}

#[inline(always)]
fn load<T: Real>(tile: Tile, arguments: &Arguments<T>, item: u64, live: bool) -> Tridiagonal<T> {
    let rank = tile.rank();
    let mut rows = Tridiagonal::zero();
    if live && rank < arguments.n {
        rows.d = arguments.diagonal(item).get(rank as usize);
    }
    if live && rank + 1 < arguments.n {
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
    let (rank, n) = (tile.rank(), arguments.n);
    let given = arguments.back_transform != 0 && solved && rank < n;
    let matrix = arguments.basis(item);
    for j in 0..P as u32 {
        let one = T::from_real(kronecker(rank == j && rank < n));
        let mut x = one;
        if given && j < n {
            x = matrix.get(j as usize * arguments.ld as usize + rank as usize);
        }
        basis.row.set(j * basis.ld, x);
    }
}

#[inline(always)]
fn kronecker<R: Real>(equal: bool) -> R {
    if equal { R::ONE } else { R::ZERO }
}
