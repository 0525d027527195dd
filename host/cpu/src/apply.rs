//! Applies a sequence of plane rotations to neighbouring columns.

use crate::element::Real;
use crate::lanes::{Lanes, Plane};

/// One rotation: columns (x, y) become (c x + s y, c y - s x).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rotation<R> {
    pub(crate) c: R,
    pub(crate) s: R,
}

/// Rotation k acts on columns first + k and first + k + 1, in ascending order.
#[inline(always)]
pub(crate) fn ascending<R: Real, const W: usize, const F: bool>(
    plane: &mut Plane<R, W>,
    first: usize,
    rotations: &[Rotation<R>],
) {
    let height = plane.height;
    let columns = &mut plane.columns_mut(first + rotations.len() + 1)[first * height..];
    let mut row = 0;
    while row < height {
        row += match height - row {
            4.. => ascending_strip::<R, W, F, 4>(columns, height, row, rotations),
            2.. => ascending_strip::<R, W, F, 2>(columns, height, row, rotations),
            _ => ascending_strip::<R, W, F, 1>(columns, height, row, rotations),
        };
    }
}

/// Rotation k acts on columns first + k and first + k + 1, the last one first.
#[inline(always)]
pub(crate) fn descending<R: Real, const W: usize, const F: bool>(
    plane: &mut Plane<R, W>,
    first: usize,
    rotations: &[Rotation<R>],
) {
    let height = plane.height;
    let columns = &mut plane.columns_mut(first + rotations.len() + 1)[first * height..];
    let mut row = 0;
    while row < height {
        row += match height - row {
            4.. => descending_strip::<R, W, F, 4>(columns, height, row, rotations),
            2.. => descending_strip::<R, W, F, 2>(columns, height, row, rotations),
            _ => descending_strip::<R, W, F, 1>(columns, height, row, rotations),
        };
    }
}

/// Lanes row..row+B of every column; says how many that is. The column that two
/// neighbouring rotations share stays in registers, so that each rotation loads
/// and stores one column.
#[inline(always)]
fn ascending_strip<R: Real, const W: usize, const F: bool, const B: usize>(
    columns: &mut [Lanes<R, W>],
    height: usize,
    row: usize,
    rotations: &[Rotation<R>],
) -> usize {
    let mut x = load::<R, W, B>(&columns[row..row + B]);
    for (k, rotation) in rotations.iter().enumerate() {
        let at = k * height + row;
        let y = load::<R, W, B>(&columns[at + height..at + height + B]);
        for b in 0..B {
            columns[at + b] = x[b].scaled(rotation.c).add_scaled::<F>(y[b], rotation.s);
            x[b] = y[b].scaled(rotation.c).add_scaled::<F>(x[b], -rotation.s);
        }
    }
    let at = rotations.len() * height + row;
    columns[at..at + B].copy_from_slice(&x);
    B
}

/// As [`ascending_strip`], from the last rotation to the first.
#[inline(always)]
fn descending_strip<R: Real, const W: usize, const F: bool, const B: usize>(
    columns: &mut [Lanes<R, W>],
    height: usize,
    row: usize,
    rotations: &[Rotation<R>],
) -> usize {
    let last = rotations.len() * height + row;
    let mut y = load::<R, W, B>(&columns[last..last + B]);
    for (k, rotation) in rotations.iter().enumerate().rev() {
        let at = k * height + row;
        let x = load::<R, W, B>(&columns[at..at + B]);
        for b in 0..B {
            columns[at + height + b] = y[b].scaled(rotation.c).add_scaled::<F>(x[b], -rotation.s);
            y[b] = x[b].scaled(rotation.c).add_scaled::<F>(y[b], rotation.s);
        }
    }
    columns[row..row + B].copy_from_slice(&y);
    B
}

#[inline(always)]
fn load<R: Real, const W: usize, const B: usize>(from: &[Lanes<R, W>]) -> [Lanes<R, W>; B] {
    let mut out = [Lanes::ZERO; B];
    out.copy_from_slice(from);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_undo_each_other() {
        for n in [2usize, 3, 5, 9, 17] {
            let mut plane = Plane::<f64, 4>::new();
            plane.resize(n);
            plane.clear(n);
            (0..n).for_each(|i| plane.set(i, i, 1.0));
            let turn = |k: usize, sign: f64| Rotation { c: (k as f64).cos(), s: sign * (k as f64).sin() };
            let there: Vec<_> = (0..n - 1).map(|k| turn(k + 1, 1.0)).collect();
            let back: Vec<_> = (0..n - 1).map(|k| turn(k + 1, -1.0)).collect();
            ascending::<f64, 4, false>(&mut plane, 0, &there);
            assert!((plane.get(0, 0) - 1f64.cos()).abs() < 1e-15);
            descending::<f64, 4, false>(&mut plane, 0, &back);
            for j in 0..n {
                for i in 0..n {
                    let wanted = if i == j { 1.0 } else { 0.0 };
                    assert!((plane.get(i, j) - wanted).abs() < 1e-14, "n={n} ({i},{j})");
                }
            }
        }
    }
}
