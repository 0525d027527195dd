//! The nested form: blocks, eigenvalues, sweeps, as LAPACK's loops are.

use super::block::{Block, split};
use super::chase::{Span, Update};
use super::deflate::{Corner, deflate, solve_pair};
use super::shift::shift;
use super::{Basis, Form, Options, Tridiagonal, unconverged};
use cuda_std::math::Real;
use cuda_std::partition::Tile;

/// Control flow is uniform in the tile and differs between tiles, so the tile must be native, or span the warp.
#[derive(Clone, Copy, Debug)]
pub struct Nested;

impl Form for Nested {
    #[inline(always)]
    fn solve<T: Real, U: Update, B: Basis<T>>(
        tile: Tile,
        n: u32,
        rows: &mut Tridiagonal<T>,
        basis: B,
        options: Options,
    ) -> u32 {
        let mut sweeps_left = options.max_sweeps;
        let mut begin = 0;
        while begin < n {
            let end = split(tile, n, rows, begin, true);
            if end > begin {
                let block = Block::open(tile, rows, begin, end, true);
                solve_block::<T, U, B>(tile, rows, block, basis, options, &mut sweeps_left);
                block.close(tile, rows, true);
            }
            begin = end + 1;
        }
        unconverged(tile, n, rows)
    }
}

#[inline(always)]
fn solve_block<T: Real, U: Update, B: Basis<T>>(
    tile: Tile,
    rows: &mut Tridiagonal<T>,
    block: Block<T>,
    basis: B,
    options: Options,
    sweeps_left: &mut u32,
) {
    let mirror = block.mirror_sum();
    let mut l = block.begin;
    while l < block.end {
        let m = deflate(tile, rows, l, block.end, true);
        if m == l {
            l += 1;
            continue;
        }
        let corner = Corner::at(tile, rows, l);
        let span = Span { l, m, mirror };
        if m == l + 1 {
            solve_pair(tile, rows, span, corner, basis);
            l += 2;
            continue;
        }
        if *sweeps_left == 0 {
            return;
        }
        *sweeps_left -= 1;
        U::sweep(tile, rows, span, shift(options.shift, corner), basis, true);
    }
}
