//! `syev_unpack`: a vendor's results in this library's conventions.

use cuda_std::partition::Tile;
use cuda_std::prelude::*;

/// Brings one item's values, vectors and status back.
///
/// # Layout and shapes
/// `packed`: `n * n` elements an item, the routine's vectors column by column. `scale`: by what `syev_pack`
/// multiplied the item. `info`: the routine's report, an item. `a`: items with `ld` and `stride`, overwritten
/// by the vectors (`VECTORS`), else untouched. `w`: `n` values an item, divided by the scale in place.
/// `status`: as `syev_pack` left it; on return also the number of off-diagonals that did not converge.
///
/// # Lanes
/// One block of whole warps an item; a warp takes every k-th column, a lane every 32nd row, of which it reads four
/// before it uses them.
///
/// # Shared memory
/// None.
///
/// # Synchronisation
/// One block barrier, met by all threads, between the read of the status and its write; shuffles of a warp.
///
/// # Numerics
/// Each vector is scaled so that its component of largest modulus is real and positive, ties to the earliest
/// row. An item that is bad or did not converge gets NaN.
///
/// # Safety
/// The views cover the items that the grid counts.
///
/// # Source
/// Ours.
#[kernel(T = [f32, f64, c32, c64], VECTORS = [true, false], launch_bounds(1024))]
pub unsafe fn syev_unpack<T: Scalar, const VECTORS: bool>(
    packed: Global<T>,
    scale: Global<T::Real>,
    info: Global<i32>,
    a: GlobalMut<T>,
    w: GlobalMut<T::Real>,
    status: GlobalMut<i32>,
    n: u32,
    ld: u32,
    stride: u64,
) {
    let item = thread::block_idx_x() as usize;
    let order = n as usize;
    let values = w.at(item * order);
    let bad = status.get(item) < 0;
    let unconverged = info.get(item);
    let failed = bad || unconverged != 0;
    thread::sync_threads();

    let nan = <T::Real as Real>::NAN;
    let unscale = scale.get(item).recip();
    let mut k = thread::thread_idx_x() as usize;
    while k < order {
        values.set(k, if failed { nan } else { values.get(k) * unscale });
        k += thread::block_dim_x() as usize;
    }
    if VECTORS {
        let from = packed.at(item * order * order);
        let to = a.at(item * stride as usize);
        let mut column = (thread::thread_idx_x() / 32) as usize;
        while column < order {
            let to = to.at(column * ld as usize);
            if failed {
                fill_column(to, n, T::from_parts(nan, nan));
            } else {
                copy_column(from.at(column * order), to, n);
            }
            column += (thread::block_dim_x() / 32) as usize;
        }
    }
    if thread::thread_idx_x() == 0 && !bad {
        // Jacobi's n + 1 says only that the sweeps ran out.
        let most = n as i32;
        status.set(item, if unconverged > most { most } else { unconverged });
    }
}

#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
fn fill_column<T: Scalar>(to: GlobalMut<T>, n: u32, value: T) {
    let mut row = thread::thread_idx_x() % 32;
    while row < n {
        to.set(row as usize, value);
        row += 32;
    }
}

/// Copies a vector, turned so that its largest component is real and positive.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
fn copy_column<T: Scalar>(from: Global<T>, to: GlobalMut<T>, n: u32) {
    let lane = thread::thread_idx_x() % 32;
    let largest = largest_component(from, n);
    let turn = largest.turn();
    let mut row = lane;
    while row < n {
        let values = some(from, row, n);
        for i in 0..READ {
            let row = row + 32 * i as u32;
            if row < n {
                let x = values[i].mul(turn);
                // Real by construction, up to a rounding error that goes here.
                to.set(row as usize, if row == largest.row { T::from_real(x.re()) } else { x });
            }
        }
        row += 32 * READ as u32;
    }
}

/// Rows of a column that a lane reads before it uses them.
const READ: usize = 4;

/// Row `row` and every 32nd after it; zero from `n` on.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
fn some<T: Scalar>(from: Global<T>, row: u32, n: u32) -> [T; READ] {
    let (from, mut values) = (from.at(row as usize), [T::ZERO; READ]);
    for i in 0..READ {
        if row + 32 * (i as u32) < n {
            values[i] = from.get(32 * i);
        }
    }
    values
}

/// A vector's component of largest modulus, the earliest of equals.
#[derive(Clone, Copy)]
struct Largest<T: Scalar> {
    square: T::Real,
    row: u32,
    value: T,
}

impl<T: Scalar> Largest<T> {
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        let better = other.square > self.square || (other.square == self.square && other.row < self.row);
        if better { other } else { self }
    }

    /// The factor of modulus 1 that makes the component real and positive.
    #[inline(always)]
    fn turn(self) -> T {
        let one = <T::Real as Real>::ONE;
        if T::COMPLEX {
            self.value.conj().scale(one / self.square.sqrt())
        } else {
            T::from_real(one.copysign(self.value.re()))
        }
    }
}

/// The largest component of a column, known to each lane of the warp.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
fn largest_component<T: Scalar>(from: Global<T>, n: u32) -> Largest<T> {
    let tile = Tile::native(32);
    let zero = <T::Real as Real>::ZERO;
    let mut best = Largest { square: -<T::Real as Real>::ONE, row: n, value: T::ONE };
    let mut row = tile.rank();
    while row < n {
        let values = some(from, row, n);
        for i in 0..READ {
            let (row, value) = (row + 32 * i as u32, values[i]);
            if row < n {
                best = best.or(Largest { square: value.abs_sq_add(zero), row, value });
            }
        }
        row += 32 * READ as u32;
    }
    let mut distance = 16;
    while distance > 0 {
        let other = Largest {
            square: tile.shuffle_xor(best.square, distance),
            row: tile.shuffle_xor(best.row, distance),
            value: tile.shuffle_xor(best.value, distance),
        };
        best = best.or(other);
        distance /= 2;
    }
    best
}
