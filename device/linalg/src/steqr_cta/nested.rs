//! The nested form: blocks, eigenvalues, sweeps, as LAPACK's loops are.

use super::block::{Block, split};
use super::chase::{Span, sweep_exp};
use super::shift::shift;
use super::{Basis, Options, Tridiagonal};
use crate::givens::laev2;
use cuda_std::math::Real;
use cuda_std::partition::Tile;

/// Diagonalises the matrix of order `n` in `rows`; returns how many off-diagonals did not converge.
///
/// On return `rows.d` holds the eigenvalues, unsorted, and the columns of `basis` are rotated to match. Control
/// flow is uniform in the tile and differs between tiles, so the tile must be native, or span the warp.
#[inline(always)]
pub fn solve_nested<T: Real, B: Basis<T>>(
    tile: Tile,
    n: u32,
    rows: &mut Tridiagonal<T>,
    basis: B,
    options: Options,
) -> u32 {
    let mut sweeps_left = options.max_sweeps;
    let mut begin = 0;
    while begin < n {
        let end = split(tile, n, rows, begin);
        if end > begin
            && let Some(block) = Block::open(tile, rows, begin, end)
        {
            solve_block(tile, rows, block, basis, options, &mut sweeps_left);
            block.close(tile, rows);
        }
        begin = end + 1;
    }
    tile.ballot(tile.rank() + 1 < n && rows.e != T::ZERO).count_ones()
}

#[inline(always)]
fn solve_block<T: Real, B: Basis<T>>(
    tile: Tile,
    rows: &mut Tridiagonal<T>,
    block: Block<T>,
    basis: B,
    options: Options,
    sweeps_left: &mut u32,
) {
    let mirror = if block.mirrored { Some(block.begin + block.end) } else { None };
    let mut l = block.begin;
    while l < block.end {
        let m = deflate(tile, rows, l, block.end);
        if m == l {
            l += 1;
            continue;
        }
        let d0 = tile.shuffle_idx(rows.d, l);
        let e0 = tile.shuffle_idx(rows.e, l);
        let d1 = tile.shuffle_idx(rows.d, l + 1);
        let span = Span { l, m, mirror };
        if m == l + 1 {
            solve_pair(tile, rows, span, (d0, e0, d1), basis);
            l += 2;
            continue;
        }
        if *sweeps_left == 0 {
            return;
        }
        *sweeps_left -= 1;
        sweep_exp(tile, rows, span, shift(options.shift, d0, e0, d1), basis);
    }
}

/// First row at or after `l` whose coupling has become negligible, else `end`; the coupling is set to 0.
#[inline(always)]
fn deflate<T: Real>(tile: Tile, rows: &mut Tridiagonal<T>, l: u32, end: u32) -> u32 {
    let rank = tile.rank();
    let d_next = tile.shuffle_down(rows.d, 1);
    let relative = T::UNIT_ROUNDOFF * rows.d.abs() * (T::UNIT_ROUNDOFF * d_next.abs());
    let negligible = rows.e * rows.e <= relative + T::SAFE_MIN;
    let m = tile.ballot(rank >= l && (rank >= end || negligible)).trailing_zeros();
    rows.e = if rank == m && rank < end { T::ZERO } else { rows.e };
    m
}

/// Solves the 2x2 block at rows `span.l`, `span.m` in closed form.
#[inline(always)]
fn solve_pair<T: Real, B: Basis<T>>(
    tile: Tile,
    rows: &mut Tridiagonal<T>,
    span: Span,
    (d0, e0, d1): (T, T, T),
    basis: B,
) {
    let pair = laev2(d0, e0, d1);
    let rank = tile.rank();
    rows.d = if rank == span.l { pair.rt1 } else { rows.d };
    rows.d = if rank == span.m { pair.rt2 } else { rows.d };
    rows.e = if rank == span.l { T::ZERO } else { rows.e };
    let (first, second) = (span.column(span.l), span.column(span.m));
    let (x, y) = (basis.load(first), basis.load(second));
    basis.store(first, B::combine(pair.cs1, x, pair.sn1, y));
    basis.store(second, B::combine(pair.cs1, y, -pair.sn1, x));
}
