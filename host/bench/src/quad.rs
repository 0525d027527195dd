//! Eigenvalues in 106-bit arithmetic by reduction and QL: as [`crate::precise`], and fast enough for hundreds of rows.
//!
//! Written out, since faer's solver of the same arithmetic stops in its vectorised products from some twenty rows on.

// Matrices are indexed as the formulas are.
#![allow(clippy::needless_range_loop)]

use faer::fx128;

/// What is below this, beside elements of modulus 1, changes no bit that matters: 106 bits resolve 1e-32.
const NOTHING: f64 = 1e-33;
/// Sweeps an eigenvalue may take.
const SWEEPS: usize = 60;

/// Eigenvalues of a real symmetric matrix whose largest element is about 1, in ascending order: `a` holds both
/// triangles, and is overwritten. `None` where the iteration does not converge.
pub(crate) fn eigenvalues(n: usize, mut a: Vec<fx128>) -> Option<Vec<f64>> {
    let (mut d, mut e) = reduce(n, &mut a);
    for l in 0..n {
        let mut sweeps = 0;
        loop {
            let m = (l..n).find(|m| m + 1 == n || e[*m].0.abs() <= NOTHING)?;
            if m == l {
                break;
            }
            sweeps += 1;
            if sweeps > SWEEPS {
                return None;
            }
            sweep(&mut d, &mut e, l, m);
        }
    }
    let mut values: Vec<f64> = d.iter().map(|x| x.0).collect();
    values.sort_by(f64::total_cmp);
    Some(values)
}

/// Householder's reduction: diagonal and off-diagonal of a similar matrix.
fn reduce(n: usize, a: &mut [fx128]) -> (Vec<fx128>, Vec<fx128>) {
    let zero = fx128::from(0.0);
    let (mut e, mut v, mut p) = (vec![zero; n], vec![zero; n], vec![zero; n]);
    for k in 0..n.saturating_sub(1) {
        let mut square = zero;
        for i in k + 1..n {
            v[i] = a[k * n + i];
            square += v[i] * v[i];
        }
        let norm = square.sqrt();
        if norm.0 <= NOTHING {
            continue;
        }
        e[k] = if v[k + 1].0 < 0.0 { norm } else { -norm };
        v[k + 1] -= e[k];
        // 2 / (v, v), where (v, v) = 2 norm (norm + |x|).
        let beta = -(fx128::from(1.0) / (e[k] * v[k + 1]));
        let mut overlap = zero;
        for i in k + 1..n {
            let mut sum = zero;
            for j in k + 1..n {
                sum += a[i * n + j] * v[j];
            }
            p[i] = beta * sum;
            overlap += p[i] * v[i];
        }
        let half = fx128::from(0.5) * beta * overlap;
        for i in k + 1..n {
            p[i] -= half * v[i];
        }
        for j in k + 1..n {
            for i in k + 1..n {
                a[j * n + i] -= v[i] * p[j] + p[i] * v[j];
            }
        }
    }
    ((0..n).map(|k| a[k * n + k]).collect(), e)
}

/// One implicit QL sweep over rows l to m, with Wilkinson's shift.
fn sweep(d: &mut [fx128], e: &mut [fx128], l: usize, m: usize) {
    let one = fx128::from(1.0);
    let half = (d[l + 1] - d[l]) / (e[l] + e[l]);
    let root = (half * half + one).sqrt();
    let turned = if half.0 < 0.0 { half - root } else { half + root };
    let mut g = d[m] - d[l] + e[l] / turned;
    let (mut c, mut s, mut p) = (one, one, fx128::from(0.0));
    for i in (l..m).rev() {
        let (f, b) = (s * e[i], c * e[i]);
        let r = (f * f + g * g).sqrt();
        e[i + 1] = r;
        if r.0 == 0.0 {
            d[i + 1] -= p;
            e[m] = r;
            return;
        }
        (s, c) = (f / r, g / r);
        g = d[i + 1] - p;
        let r = (d[i] - g) * s + (c * b + c * b);
        p = s * r;
        d[i + 1] = g + p;
        g = c * r - b;
    }
    d[l] -= p;
    e[l] = g;
    e[m] = fx128::from(0.0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classes::dense::CLASSES;
    use crate::precise::precise;
    use crate::random::Random;
    use batchlas::Dtype;

    /// Against Jacobi rotations over the same numbers: what differs is the last rounding to double.
    #[test]
    fn two_solvers_agree() {
        for n in [1, 2, 3, 5, 12, 33] {
            for (name, make) in CLASSES.iter().filter(|(name, _)| !["tiny", "huge"].contains(name)) {
                let m = make(&mut Random::new(n as u64), n, Dtype::F64);
                let values = eigenvalues(n, m.re.iter().map(|x| fx128::from(*x)).collect()).unwrap();
                let exact = precise(n, |i, j| m.re[j * n + i]);
                let norm = exact.iter().fold(0.0f64, |m, x| m.max(x.abs()));
                for (x, y) in values.iter().zip(&exact) {
                    let last = f64::EPSILON * x.abs().max(y.abs());
                    assert!((x - y).abs() <= last + 1e-29 * norm, "{name} n={n}: {x:e} {y:e}");
                }
            }
        }
    }
}
