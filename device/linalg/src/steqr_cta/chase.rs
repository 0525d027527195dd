//! One implicit QL sweep: the bulge is chased from row `m` up to row `l`.
//!
//! Scalars are computed by every lane of the tile from the same broadcasts. Those read the snapshot taken before
//! the chase, so that no shuffle waits for a rotation; results go to their lanes by selects, since a branch would
//! diverge on every rotation. A tile that names the whole warp goes on, idle, until the longest chase of the warp
//! ends: the padded chase.

use super::{Basis, Recurrence, Tridiagonal};
use crate::givens::lartg;
use cuda_std::math::Real;
use cuda_std::partition::Tile;

/// Where a sweep runs, and how its local indices map to the columns of the basis.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// First row.
    pub l: u32,
    /// Last row.
    pub m: u32,
    /// Column of row `i` is `i`, or `mirror - i` where the block is mirrored.
    pub mirror: Option<u32>,
}

impl Span {
    /// Column of the basis that belongs to row `i`.
    #[inline(always)]
    pub fn column(self, i: u32) -> u32 {
        match self.mirror {
            Some(sum) => sum - i,
            None => i,
        }
    }
}

/// How a sweep updates the band.
pub trait Update {
    /// Chases the bulge of the sweep on `span`, where `due`, and rotates the columns of the basis with it.
    fn sweep<T: Real, B: Basis<T>>(
        tile: Tile,
        rows: &mut Tridiagonal<T>,
        span: Span,
        shift: T,
        basis: B,
        due: bool,
    );
}

/// The explicit form: each rotation is a similarity on its plane.
///
/// With `(c, s)` on plane `(i, i + 1)`: new row `i + 1` is `c row[i+1] + s row[i]`, new row `i` is
/// `c row[i] - s row[i+1]`.
#[derive(Clone, Copy, Debug)]
pub struct Explicit;

/// The form of [`Recurrence`].
#[derive(Clone, Copy, Debug)]
pub struct ParlettGray;

/// What the rotation of plane `(i, i + 1)` leaves in the band.
#[derive(Clone, Copy, Debug)]
struct Landing<T> {
    /// Row `i + 1`: its diagonal element, and its coupling with the row above.
    high: (T, T),
    /// Row `i`, where the sweep ends there: its diagonal element and its coupling.
    lowest: (T, T),
}

impl<T: Real> Landing<T> {
    /// Puts it into the lanes that hold it, where the chase is `going`.
    #[inline(always)]
    fn land(self, rank: u32, rows: &mut Tridiagonal<T>, span: Span, i: u32, going: bool) {
        let above = going && rank == i + 1;
        let lowest = going && i == span.l && rank == i;
        rows.d = if above { self.high.0 } else { rows.d };
        rows.e = if above && i + 1 < span.m { self.high.1 } else { rows.e };
        rows.d = if lowest { self.lowest.0 } else { rows.d };
        rows.e = if lowest { self.lowest.1 } else { rows.e };
    }
}

/// The column that a sweep carries in a register from rotation to rotation.
#[derive(Clone, Copy, Debug)]
struct Streamed<E, B> {
    basis: B,
    carried: E,
}

impl<E: Copy, B> Streamed<E, B> {
    /// Rotates columns `i` and `i + 1`; the one of `i` stays in the register unless the sweep ends here.
    #[inline(always)]
    fn rotate<T: Real>(&mut self, span: Span, i: u32, (c, s): (T, T))
    where
        B: Basis<T, Element = E>,
    {
        let low = self.basis.load(span.column(i));
        self.basis.store(span.column(i + 1), B::combine(c, self.carried, s, low));
        self.carried = B::combine(c, low, -s, self.carried);
        if i == span.l {
            self.basis.store(span.column(i), self.carried);
        }
    }
}

impl Update for Explicit {
    #[inline(always)]
    fn sweep<T: Real, B: Basis<T>>(
        tile: Tile,
        rows: &mut Tridiagonal<T>,
        span: Span,
        shift: T,
        basis: B,
        due: bool,
    ) {
        let snapshot = *rows;
        let rank = tile.rank();
        let mut d_high = tile.shuffle_idx(snapshot.d, span.m);
        let mut e_low = tile.shuffle_idx(snapshot.e, span.m - 1);
        // The first rotation comes from the shifted corner, the later ones from the bulge.
        let mut f = d_high - shift;
        let mut g = e_low;
        let mut columns = Streamed { basis, carried: basis.load(span.column(span.m)) };
        let mut i = span.m - 1;
        let mut going = due;
        while tile.enters(going) {
            let d_low = tile.shuffle_idx(snapshot.d, i);
            let e_next = tile.shuffle_idx(snapshot.e, i.wrapping_sub(1));
            let rotation = lartg(f, g);
            let (c, s) = (rotation.c, rotation.s);

            let t1 = c.mul_add(d_low, -(s * e_low));
            let t2 = c.mul_add(e_low, -(s * d_high));
            let t3 = c.mul_add(e_low, s * d_low);
            let t4 = c.mul_add(d_high, s * e_low);
            let new_high = c.mul_add(t4, s * t3);
            let new_low = c.mul_add(t1, -(s * t2));
            let new_e = c.mul_add(t3, -(s * t4));

            let landing = Landing { high: (new_high, rotation.r), lowest: (new_low, new_e) };
            landing.land(rank, rows, span, i, going);
            if going {
                columns.rotate(span, i, (c, s));
            }
            d_high = new_low;
            f = new_e;
            g = s * e_next;
            e_low = c * e_next;
            going = going && i != span.l;
            i = i.wrapping_sub(1);
        }
    }
}

impl Update for ParlettGray {
    #[inline(always)]
    fn sweep<T: Real, B: Basis<T>>(
        tile: Tile,
        rows: &mut Tridiagonal<T>,
        span: Span,
        shift: T,
        basis: B,
        due: bool,
    ) {
        let snapshot = *rows;
        let rank = tile.rank();
        let mut d_high = tile.shuffle_idx(snapshot.d, span.m);
        let mut recurrence = Recurrence::start(d_high - shift);
        let mut columns = Streamed { basis, carried: basis.load(span.column(span.m)) };
        let mut i = span.m - 1;
        let mut going = due;
        while tile.enters(going) {
            let d_low = tile.shuffle_idx(snapshot.d, i);
            let e = tile.shuffle_idx(snapshot.e, i);
            let (rotation, new_high) = recurrence.advance((d_low, e, d_high), lartg);
            let landing = Landing { high: (new_high, rotation.r), lowest: recurrence.finish(d_low) };
            landing.land(rank, rows, span, i, going);
            if going {
                columns.rotate(span, i, (rotation.c, rotation.s));
            }
            d_high = d_low;
            going = going && i != span.l;
            i = i.wrapping_sub(1);
        }
    }
}
