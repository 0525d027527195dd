//! The flat form, and with it the lockstep form: a cursor walks the blocks and eigenvalues, and all tiles of a warp
//! sweep in the same pass.
//!
//! The operations on a matrix and their order are those of the nested form, so the bits are too.

use super::block::{Block, split};
use super::chase::{Span, Update};
use super::deflate::{Corner, deflate, solve_pair};
use super::shift::shift;
use super::{Basis, Form, Options, Tridiagonal, unconverged};
use cuda_std::math::Real;
use cuda_std::partition::Tile;

/// A native tile settles by itself until it has a sweep; then the warp converges and all chase at once.
///
/// With a tile that names the whole warp this is the lockstep form: every phase runs where any tile of the warp needs
/// it, under a vote, with masked results, and the chase is padded to the longest of the warp.
#[derive(Clone, Copy, Debug)]
pub struct Flat;

impl Form for Flat {
    #[inline(always)]
    fn solve<T: Real, U: Update, B: Basis<T>>(
        tile: Tile,
        n: u32,
        rows: &mut Tridiagonal<T>,
        basis: B,
        options: Options,
    ) -> u32 {
        let mut cursor = Cursor::new(n, options);
        loop {
            let mut sweep = None;
            while tile.enters(sweep.is_none() && !cursor.done()) {
                let due = sweep.is_none() && !cursor.done();
                cursor.close_or_open(tile, rows, due);
                sweep = cursor.test(tile, rows, basis, due).or(sweep);
            }
            if !tile.enters(sweep.is_some()) {
                return unconverged(tile, n, rows);
            }
            let due = sweep.is_some();
            let (span, corner) = sweep.unwrap_or((Span { l: 0, m: 1, mirror: None }, Corner::unit()));
            U::sweep(tile, rows, span, shift(options.shift, corner), basis, due);
        }
    }
}

/// A place in the nest of loops over blocks and eigenvalues.
#[derive(Clone, Copy, Debug)]
struct Cursor<T> {
    n: u32,
    /// First row past the blocks opened so far.
    next: u32,
    /// The open block; empty (`begin == end`) before the first and between two.
    block: Block<T>,
    /// First row of the open block that is not settled.
    l: u32,
    open: bool,
    sweeps_left: u32,
}

impl<T: Real> Cursor<T> {
    #[inline(always)]
    fn new(n: u32, options: Options) -> Self {
        Cursor { n, next: 0, block: Block::none(), l: 0, open: false, sweeps_left: options.max_sweeps }
    }

    #[inline(always)]
    fn done(&self) -> bool {
        !self.open && self.next >= self.n
    }

    /// Closes a block that is through, then opens the next one.
    #[inline(always)]
    fn close_or_open(&mut self, tile: Tile, rows: &mut Tridiagonal<T>, due: bool) {
        let closes = due && self.open && self.l >= self.block.end;
        if tile.enters(closes) {
            self.block.close(tile, rows, closes);
            self.open = self.open && !closes;
        }
        let opens = due && !self.open && self.next < self.n;
        if tile.enters(opens) {
            let begin = self.next;
            let end = split(tile, self.n, rows, begin, opens);
            let coupled = opens && end > begin;
            if tile.enters(coupled) {
                let block = Block::open(tile, rows, begin, end, coupled);
                self.block = if coupled { block } else { self.block };
                self.l = if coupled { begin } else { self.l };
                self.open = self.open || coupled;
            }
            self.next = if opens { end + 1 } else { self.next };
        }
    }

    /// Tests the open block once: settles an eigenvalue or two, or returns the sweep that is due.
    #[inline(always)]
    fn test<B: Basis<T>>(
        &mut self,
        tile: Tile,
        rows: &mut Tridiagonal<T>,
        basis: B,
        due: bool,
    ) -> Option<(Span, Corner<T>)> {
        let tests = due && self.open && self.l < self.block.end;
        if !tile.enters(tests) {
            return None;
        }
        let l = self.l;
        let m = deflate(tile, rows, l, self.block.end, tests);
        let corner = Corner::at(tile, rows, l);
        let span = Span { l, m, mirror: self.block.mirror_sum() };
        if !tests {
            return None;
        }
        if m == l {
            self.l = l + 1;
            None
        } else if m == l + 1 {
            solve_pair(tile, rows, span, corner, basis);
            self.l = l + 2;
            None
        } else if self.sweeps_left == 0 {
            self.l = self.block.end;
            None
        } else {
            self.sweeps_left -= 1;
            Some((span, corner))
        }
    }
}
