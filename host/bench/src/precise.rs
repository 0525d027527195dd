//! Eigenvalues in 106-bit arithmetic.

use faer::fx128;

/// Eigenvalues of a real symmetric matrix given as f64, by cyclic Jacobi
/// rotations over double-double numbers. Those of a graded positive definite
/// matrix have their digits each.
pub fn precise(n: usize, a: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    let mut m: Vec<fx128> = (0..n * n).map(|k| fx128::from(a(k % n, k / n))).collect();
    for _ in 0..30 {
        let size = |i: usize, j: usize| m[j * n + i].0.abs();
        let floor = 1e-45
            * (0..n).flat_map(|j| (0..n).map(move |i| (i, j))).map(|(i, j)| size(i, j)).fold(0.0, f64::max);
        let couples = |p: usize, q: usize| size(p, q) > floor.max(1e-27 * (size(p, p) * size(q, q)).sqrt());
        if !(0..n).any(|q| (0..q).any(|p| couples(p, q))) {
            break;
        }
        for (p, q) in (0..n).flat_map(|q| (0..q).map(move |p| (p, q))) {
            rotate(&mut m, n, p, q);
        }
    }
    let mut values: Vec<f64> = (0..n).map(|k| m[k * n + k].0).collect();
    values.sort_by(f64::total_cmp);
    values
}

/// The rotation of rows and columns p and q that makes element (p, q) zero.
fn rotate(m: &mut [fx128], n: usize, p: usize, q: usize) {
    let x = m[q * n + p];
    // Nothing beside the diagonal, and its quotient's square would overflow.
    if x.0.abs() <= 1e-40 * (m[p * n + p].0 - m[q * n + q].0).abs() || x.0 == 0.0 {
        return;
    }
    let one = fx128::from(1.0);
    let half = (m[q * n + q] - m[p * n + p]) / (x + x);
    let root = (half * half + one).sqrt();
    let t = if half.0 < 0.0 { -(one / (root - half)) } else { one / (root + half) };
    let c = one / (t * t + one).sqrt();
    let s = t * c;
    for k in 0..n {
        let (a, b) = (m[p * n + k], m[q * n + k]);
        (m[p * n + k], m[q * n + k]) = (c * a - s * b, s * a + c * b);
    }
    for k in 0..n {
        let (a, b) = (m[k * n + p], m[k * n + q]);
        (m[k * n + p], m[k * n + q]) = (c * a - s * b, s * a + c * b);
    }
}
