//! One item of a batch: what is read of it, and how results are written.

use crate::element::{Element, Real};
use crate::lanes::Plane;
use crate::scale::to_one;

/// Where an item's elements lie, and which triangle holds the matrix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) n: usize,
    pub(crate) ld: usize,
    pub(crate) upper: bool,
}

impl Shape {
    /// Offset of element (i, j) with i >= j of the lower triangle's matrix; the
    /// upper triangle holds its conjugate transpose.
    #[inline(always)]
    pub(crate) fn at(&self, i: usize, j: usize) -> usize {
        if self.upper { i * self.ld + j } else { j * self.ld + i }
    }
}

/// The scaling that makes squares safe: a power of two, 1 for ordinary input.
/// Nothing is scaled within 2^-`band` to 2^`band`.
/// `None` where the triangle holds a NaN or an infinity. The imaginary parts of
/// the diagonal are not read.
#[inline(always)]
pub(crate) fn scaling<E: Element>(a: &[E], shape: Shape, band: i32) -> Option<E::Part> {
    let mut max = E::Part::ZERO;
    // A product with zero is NaN for a NaN or an infinity, and the sum keeps it.
    let mut poison = E::Part::ZERO;
    for outer in 0..shape.n {
        let rows = if shape.upper { 0..outer } else { outer + 1..shape.n };
        let diagonal = a[outer * shape.ld + outer].re();
        max = max.max(diagonal.abs());
        poison += diagonal * E::Part::ZERO;
        for &x in &a[outer * shape.ld..][rows] {
            max = max.max(x.re().abs());
            poison += x.re() * E::Part::ZERO;
            if E::COMPLEX {
                max = max.max(x.im().abs());
                poison += x.im() * E::Part::ZERO;
            }
        }
    }
    if poison != E::Part::ZERO {
        return None;
    }
    Some(to_one(max, band))
}

/// The band within which our own code needs no scaling: squares of the elements, and sums of them, stay far from
/// both ends of the range.
pub(crate) const fn safe_band<R: Real>() -> i32 {
    R::MAX_EXPONENT / 4
}

/// Fills both triangles of the planes with the scaled matrix, and the padding
/// with zeros.
#[inline(always)]
pub(crate) fn load<E: Element, const W: usize, const C: bool>(
    a: &[E],
    shape: Shape,
    scale: E::Part,
    planes: &mut [Plane<E::Part, W>; 2],
) {
    let n = shape.n;
    let [re, im] = planes;
    re.clear(n);
    if C {
        im.clear(n);
    }
    for j in 0..n {
        re.set(j, j, a[shape.at(j, j)].re() * scale);
        for i in j + 1..n {
            let x = a[shape.at(i, j)];
            let r = x.re() * scale;
            re.set(i, j, r);
            re.set(j, i, r);
            if C {
                let y = if shape.upper { -x.im() } else { x.im() } * scale;
                im.set(i, j, y);
                im.set(j, i, -y);
            }
        }
    }
}

/// The order in which eigenvalues ascend; equal ones keep theirs.
#[inline(always)]
pub(crate) fn ascending_order<R: Real>(values: &[R], order: &mut Vec<usize>) {
    order.clear();
    order.extend(0..values.len());
    if values.len() > 64 {
        order.sort_by(|&x, &y| values[x].total_cmp(&values[y]));
        return;
    }
    for k in 1..order.len() {
        let moving = order[k];
        let mut at = k;
        while at > 0 && values[moving] < values[order[at - 1]] {
            order[at] = order[at - 1];
            at -= 1;
        }
        order[at] = moving;
    }
}

/// The factor that turns a vector to the library's sign: its component of
/// largest modulus, the first of equal ones, becomes real and positive. The
/// component's row comes with it.
#[inline(always)]
pub(crate) fn sign_factor<R: Real>(
    n: usize,
    part: impl Fn(usize) -> [R; 2],
    complex: bool,
) -> ([R; 2], usize) {
    let mut best = R::ZERO;
    let mut row = 0;
    for i in 0..n {
        let [re, im] = part(i);
        let square = if complex { re * re + im * im } else { re * re };
        if square > best {
            best = square;
            row = i;
        }
    }
    let [re, im] = part(row);
    if !complex {
        return ([R::ONE.copysign(re), R::ZERO], row);
    }
    let modulus = best.sqrt();
    ([re / modulus, -im / modulus], row)
}

/// Writes the vectors over the item, in ascending order and with the library's sign.
#[inline(always)]
pub(crate) fn store_vectors<E: Element, const W: usize, const C: bool>(
    planes: &[Plane<E::Part, W>; 2],
    order: &[usize],
    a: &mut [E],
    shape: Shape,
) {
    let [re, im] = planes;
    for (to, &from) in order.iter().enumerate() {
        let part = |i: usize| [re.get(i, from), if C { im.get(i, from) } else { E::Part::ZERO }];
        let (factor, row) = sign_factor(shape.n, part, C);
        let column = &mut a[to * shape.ld..to * shape.ld + shape.n];
        for (i, out) in column.iter_mut().enumerate() {
            let [x, y] = part(i);
            *out = if C {
                E::from_parts(x * factor[0] - y * factor[1], x * factor[1] + y * factor[0])
            } else {
                E::from_parts(x * factor[0], E::Part::ZERO)
            };
        }
        if C {
            column[row] = E::from_parts(column[row].re(), E::Part::ZERO);
        }
    }
}

/// Writes the eigenvalues in ascending order, with the scaling undone.
#[inline(always)]
pub(crate) fn store_values<R: Real>(d: &[R], order: &[usize], scale: R, w: &mut [R]) {
    let inverse = R::ONE / scale;
    for (out, &from) in w.iter_mut().zip(order) {
        *out = d[from] * inverse;
    }
}

/// NaN outputs of an item without a result.
pub(crate) fn store_failure<E: Element>(a: &mut [E], w: &mut [E::Part], shape: Shape, vectors: bool) {
    w.fill(E::Part::NAN);
    if vectors {
        for j in 0..shape.n {
            a[j * shape.ld..j * shape.ld + shape.n].fill(E::from_parts(E::Part::NAN, E::Part::NAN));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unread_triangle_may_hold_anything() {
        let nan = f64::NAN;
        let lower = [1.0, 2.0, 3.0, nan, 4.0, 5.0, nan, nan, 6.0];
        let upper = [1.0, nan, nan, 2.0, 4.0, nan, 3.0, 5.0, 6.0];
        for (a, is_upper) in [(lower, false), (upper, true)] {
            let shape = Shape { n: 3, ld: 3, upper: is_upper };
            assert_eq!(scaling(&a, shape, 250), Some(1.0));
            let mut planes = [Plane::<f64, 4>::new(), Plane::new()];
            planes[0].resize(3);
            load::<f64, 4, false>(&a, shape, 1.0, &mut planes);
            assert_eq!((planes[0].get(2, 1), planes[0].get(1, 2)), (5.0, 5.0));
            assert_eq!(scaling(&a, Shape { upper: !is_upper, ..shape }, 250), None);
        }
        assert_eq!(scaling(&[f64::INFINITY], Shape { n: 1, ld: 1, upper: false }, 250), None);
    }

    #[test]
    fn extreme_input_is_scaled_to_about_one() {
        let shape = Shape { n: 1, ld: 1, upper: false };
        for x in [1e-300, 1e300, -3e-320, f64::MAX] {
            let scaled = (x * scaling(&[x], shape, 250).unwrap()).abs();
            assert!((1e-30..=1e8).contains(&scaled), "{x}: {scaled}");
        }
    }

    #[test]
    fn order_is_stable() {
        let mut order = Vec::new();
        ascending_order(&[3.0, 1.0, 2.0, 1.0], &mut order);
        assert_eq!(order, [1, 3, 2, 0]);
        let many: Vec<f64> = (0..100).map(|k| ((k * 37) % 10) as f64).collect();
        ascending_order(&many, &mut order);
        assert!(order.windows(2).all(|p| (many[p[0]], p[0]) < (many[p[1]], p[1])));
    }
}
