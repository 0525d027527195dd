//! One implicit QL sweep: the bulge is chased from row `m` up to row `l`.

use super::{Basis, Tridiagonal};
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
    #[inline(always)]
    pub fn column(self, i: u32) -> u32 {
        match self.mirror {
            Some(sum) => sum - i,
            None => i,
        }
    }
}

/// The sweep in explicit form: each rotation is a similarity on its plane.
///
/// With `(c, s)` on plane `(i, i + 1)`: new row `i + 1` is `c row[i+1] + s row[i]`, new row `i` is
/// `c row[i] - s row[i+1]`. Broadcasts read the snapshot taken before the chase, so that no shuffle waits for a
/// rotation; results go to their lanes by selects, since a branch would diverge on every rotation.
#[inline(always)]
pub fn sweep_exp<T: Real, B: Basis<T>>(
    tile: Tile,
    rows: &mut Tridiagonal<T>,
    span: Span,
    shift: T,
    basis: B,
) {
    let snapshot = *rows;
    let rank = tile.rank();
    let mut d_high = tile.shuffle_idx(snapshot.d, span.m);
    let mut e_low = tile.shuffle_idx(snapshot.e, span.m - 1);
    // The first rotation comes from the shifted corner, the later ones from the bulge.
    let mut f = d_high - shift;
    let mut g = e_low;
    let mut column_high = basis.load(span.column(span.m));
    let mut i = span.m - 1;
    loop {
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

        let owner = rank == i + 1;
        rows.d = if owner { new_high } else { rows.d };
        rows.e = if owner && i + 1 < span.m { rotation.r } else { rows.e };

        let low = basis.load(span.column(i));
        basis.store(span.column(i + 1), B::combine(c, column_high, s, low));
        column_high = B::combine(c, low, -s, column_high);
        d_high = new_low;
        if i == span.l {
            let owner = rank == i;
            rows.d = if owner { new_low } else { rows.d };
            rows.e = if owner { new_e } else { rows.e };
            basis.store(span.column(i), column_high);
            return;
        }
        f = new_e;
        g = s * e_next;
        e_low = c * e_next;
        i -= 1;
    }
}
