//! Classes of symmetric tridiagonal matrices.

use batchlas::Dtype;

use super::huge;
use crate::random::Random;

/// A tridiagonal matrix in double precision.
#[derive(Clone, Debug)]
pub struct Tridiagonal {
    /// The diagonal.
    pub d: Vec<f64>,
    /// The off-diagonal, one element fewer.
    pub e: Vec<f64>,
}

impl Tridiagonal {
    /// d(k) and e(k), in this order of calls: all of d first.
    pub fn new(n: usize, d: impl FnMut(usize) -> f64, e: impl FnMut(usize) -> f64) -> Self {
        Tridiagonal { d: (0..n).map(d).collect(), e: (0..n.saturating_sub(1)).map(e).collect() }
    }

    /// Every element times s.
    pub fn scaled(mut self, s: f64) -> Self {
        self.d.iter_mut().chain(&mut self.e).for_each(|x| *x *= s);
        self
    }
}

/// Normal random diagonals and off-diagonals.
pub fn random(r: &mut Random, n: usize) -> Tridiagonal {
    let d: Vec<f64> = (0..n).map(|_| r.normal()).collect();
    Tridiagonal::new(n, |k| d[k], |_| r.normal())
}

/// A class: its name, and one matrix of order n.
pub type Class = (&'static str, fn(&mut Random, usize, Dtype) -> Tridiagonal);

/// Rows fall by `ratio` each, elements with them.
fn graded(r: &mut Random, n: usize, ratio: f64) -> Tridiagonal {
    let t = random(r, n);
    Tridiagonal::new(n, |k| t.d[k] * ratio.powi(k as i32), |k| t.e[k] * ratio.powf(k as f64 + 0.5))
}

/// By how much the rows of a graded matrix fall, so that all of it spans twice the type's digits.
fn ratio(n: usize, t: Dtype) -> f64 {
    t.epsilon().powf(2.0 / n.max(2) as f64)
}

fn reversed(mut t: Tridiagonal) -> Tridiagonal {
    t.d.reverse();
    t.e.reverse();
    t
}

/// The factor to the middle of the range: 1e±18, which squares in f32 overflow at, and for f64 1e±150.
fn large(t: Dtype) -> f64 {
    if t == Dtype::F32 { 1e18 } else { 1e150 }
}

/// Nothing on the diagonal, and couplings that fall at once by so much that the product of two of them is no number of
/// the type any more: an implicit sweep loses its shift there, and then the rows beyond cannot converge.
fn faint_tail(r: &mut Random, n: usize, t: Dtype) -> Tridiagonal {
    let (least, most) = if t == Dtype::F32 { (10.0, 30.0) } else { (100.0, 290.0) };
    let e = |k: usize| if k < n / 2 { 1.0 } else { 10f64.powf(-least - (most - least) * r.unit()) };
    Tridiagonal::new(n, |_| 0.0, e)
}

/// Elements of every magnitude of the type, in no order, some of them 0.
fn scattered(r: &mut Random, n: usize, t: Dtype) -> Tridiagonal {
    let decades = if t == Dtype::F32 { 36.0 } else { 300.0 };
    let mut any = |zeros: f64| {
        let x = r.symmetric().signum() * 10f64.powf(-decades * r.unit());
        if r.unit() < zeros { 0.0 } else { x }
    };
    let d: Vec<f64> = (0..n).map(|_| any(0.5)).collect();
    Tridiagonal::new(n, |k| d[k], |_| any(0.1))
}

/// The classes of the contract.
pub const CLASSES: &[Class] = &[
    ("random", |r, n, _| random(r, n)),
    ("graded", |r, n, t| graded(r, n, ratio(n, t))),
    ("graded upwards", |r, n, t| reversed(graded(r, n, ratio(n, t)))),
    ("split", |r, n, _| {
        let t = random(r, n);
        Tridiagonal::new(n, |k| t.d[k], |k| if k % 3 == 1 { 0.0 } else { t.e[k] })
    }),
    ("nearly split", |r, n, t| {
        let m = random(r, n);
        Tridiagonal::new(n, |k| m.d[k], |k| if k % 4 == 1 { m.e[k] * 0.3 * t.epsilon() } else { m.e[k] })
    }),
    ("pairs", |r, n, _| {
        let t = random(r, n);
        Tridiagonal::new(n, |k| t.d[k], |k| if k % 2 == 1 { 0.0 } else { t.e[k] })
    }),
    ("zero", |_, n, _| Tridiagonal::new(n, |_| 0.0, |_| 0.0)),
    ("identity", |_, n, _| Tridiagonal::new(n, |_| 1.0, |_| 0.0)),
    ("falling diagonal", |_, n, _| Tridiagonal::new(n, |k| (n - k) as f64, |_| 0.0)),
    ("zero diagonal", |_, n, _| Tridiagonal::new(n, |_| 0.0, |_| 1.0)),
    ("second difference", |_, n, _| Tridiagonal::new(n, |_| 2.0, |_| -1.0)),
    ("clustered", |r, n, t| {
        let eps = t.epsilon();
        let e: Vec<f64> = (0..n).map(|_| 8.0 * eps * r.symmetric()).collect();
        Tridiagonal::new(n, |k| if k % 3 == 0 { 2.0 } else { 1.0 + eps * (k % 7) as f64 }, |k| e[k])
    }),
    ("glued Wilkinson", |_, n, t| {
        let (m, glue) = (n.min(11), t.epsilon().sqrt());
        Tridiagonal::new(
            n,
            |k| ((k % m) as f64 - (m / 2) as f64).abs(),
            |k| if (k + 1) % m == 0 { glue } else { 1.0 },
        )
    }),
    ("times 1e18", |r, n, _| random(r, n).scaled(1e18)),
    ("times 1e-18", |r, n, _| random(r, n).scaled(1e-18)),
    ("large", |r, n, t| random(r, n).scaled(large(t))),
    ("small", |r, n, t| random(r, n).scaled(1.0 / large(t))),
    ("huge", |r, n, t| {
        let t_huge = huge(t);
        Tridiagonal::new(n, |_| r.symmetric(), |_| 0.5).scaled(t_huge)
    }),
    ("tiny", |r, n, t| random(r, n).scaled(1.0 / huge(t))),
    ("tiny block beside one", |r, n, t| {
        let m = random(r, n);
        let half = n / 2;
        let s = |k: usize| if k < half { 1.0 } else { 1.0 / huge(t) };
        Tridiagonal::new(n, |k| m.d[k] * s(k), |k| if k + 1 == half { 0.0 } else { m.e[k] * s(k) })
    }),
    ("faint tail", faint_tail),
    ("faint head", |r, n, t| reversed(faint_tail(r, n, t))),
    ("scattered", scattered),
];
