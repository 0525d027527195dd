//! Gauss quadrature by Golub and Welsch: nodes are the eigenvalues of the Jacobi matrix, weights the squares of the
//! first components of its vectors, times the weight function's integral.
//!
//! The reference is Newton's iteration on the polynomials in 106-bit arithmetic, which a test below holds to the
//! tables of Abramowitz and Stegun, Handbook of Mathematical Functions, 25.4 and 25.10.

use batchlas::{Device, Jobz, Real};
use faer::fx128;

use crate::arms::Arm;
use crate::support::classes::tridiagonal::Tridiagonal;
use crate::support::tridiagonal::Batched;

/// A family of orthogonal polynomials.
#[derive(Clone, Copy, Debug)]
enum Family {
    Legendre,
    Hermite,
}

pub fn legendre<T: Real>(arm: Arm) {
    check::<T>(arm, Family::Legendre);
}

pub fn hermite<T: Real>(arm: Arm) {
    check::<T>(arm, Family::Hermite);
}

/// How far a node may be off, in eps of the largest one, and a weight, in eps of their sum. LAPACK's dstev: 5.6 and
/// 3.5 at most over both families, both types and all orders here. Explicit similarities round more often than its
/// recurrence: on an H200 nodes were up to 12.7 off, with the recurrence up to 6.3. `wg`, whose lanes divide by approximate
/// reciprocals, was 8.34 off there.
fn ulps(arm: Arm) -> f64 {
    if arm.route.contains("exp") || arm.route == "wg" { 16.0 } else { 8.0 }
}

fn check<T: Real>(arm: Arm, family: Family) {
    let Some(queue) = arm.queue() else { return };
    let sample = |n: usize| [2, 3, 5, 8, 12, 16, 21, 32].contains(&n);
    for n in (2..=32).filter(|n| arm.device != Device::Simt || sample(*n)) {
        let reference = family.reference(n);
        let t = Tridiagonal::new(n, |_| 0.0, |k| family.coupling(k + 1));
        let solved = arm.solve(&queue, "quadrature", &Batched::<T>::new(n, &[t]), Jobz::V);
        let vectors = solved.vectors.as_ref().unwrap();
        let computed: Vec<(f64, f64)> = (0..n)
            .map(|k| {
                let first = vectors.get(0, 0, k).widen();
                (solved.values[k].widen(), family.integral() * first * first)
            })
            .collect();
        let largest = reference[n - 1].0;
        for (k, (x, y)) in computed.iter().zip(&reference).enumerate() {
            let context = format!("{arm:?} {} {family:?} n={n} {k}", T::DTYPE);
            let node = (x.0 - y.0).abs() / (largest * T::DTYPE.epsilon());
            assert!(node <= ulps(arm), "{context}: node {} is {node:.2} ulp off {}", x.0, y.0);
            let weight = (x.1 - y.1).abs() / (family.integral() * T::DTYPE.epsilon());
            assert!(weight <= ulps(arm), "{context}: weight {} is {weight:.2} ulp off {}", x.1, y.1);
        }
    }
}

impl Family {
    /// Off-diagonal k of the Jacobi matrix, from 1.
    fn coupling(self, k: usize) -> f64 {
        let k = k as f64;
        match self {
            Family::Legendre => k / (4.0 * k * k - 1.0).sqrt(),
            Family::Hermite => (k / 2.0).sqrt(),
        }
    }

    /// The weight function's integral.
    fn integral(self) -> f64 {
        match self {
            Family::Legendre => 2.0,
            Family::Hermite => std::f64::consts::PI.sqrt(),
        }
    }

    /// The polynomials of degree n and n - 1 at x, and the derivative of the first.
    fn at(self, n: usize, x: fx128) -> (fx128, fx128, fx128) {
        let of = |k: usize| fx128::from(k as f64);
        let (mut below, mut here) = (fx128::from(1.0), self.first(x));
        for k in 1..n {
            let next = match self {
                Family::Legendre => (of(2 * k + 1) * x * here - of(k) * below) / of(k + 1),
                // Divided by sqrt(2^k k!), which keeps them in range.
                Family::Hermite => {
                    (fx128::from(2.0) / of(k + 1)).sqrt() * x * here - (of(k) / of(k + 1)).sqrt() * below
                }
            };
            (below, here) = (here, next);
        }
        let slope = match self {
            Family::Legendre => of(n) * (below - x * here) / (fx128::from(1.0) - x * x),
            Family::Hermite => of(2 * n).sqrt() * below,
        };
        (here, below, slope)
    }

    fn first(self, x: fx128) -> fx128 {
        match self {
            Family::Legendre => x,
            Family::Hermite => fx128::from(2.0).sqrt() * x,
        }
    }

    /// Nodes, ascending, and weights.
    fn reference(self, n: usize) -> Vec<(f64, f64)> {
        let nodes: Vec<fx128> = self.brackets(n).into_iter().map(|x| self.newton(n, x)).collect();
        assert!(nodes.windows(2).all(|p| p[0].0 < p[1].0), "{self:?} n={n}: a root was found twice");
        let one = fx128::from(1.0);
        let weight = |x: fx128| match self {
            Family::Legendre => {
                let (_, _, slope) = self.at(n, x);
                fx128::from(2.0) / ((one - x * x) * slope * slope)
            }
            Family::Hermite => {
                let (_, below, _) = self.at(n, x);
                fx128::from(self.integral()) / (fx128::from(n as f64) * below * below)
            }
        };
        nodes.into_iter().map(|x| (x.0, weight(x).0)).collect()
    }

    /// A point near each root: where the sign changes on a fine grid.
    fn brackets(self, n: usize) -> Vec<f64> {
        let end = match self {
            Family::Legendre => 1.0,
            Family::Hermite => (2.0 * n as f64 + 1.0).sqrt(),
        };
        // The roots are farther apart than this, and none of them is a grid point.
        let steps = 601;
        let point = |k: usize| end * (2.0 * k as f64 / steps as f64 - 1.0);
        let sign = |k: usize| self.at(n, fx128::from(point(k).clamp(-end * 0.999_999_9, end))).0.0 > 0.0;
        let roots: Vec<f64> =
            (0..steps).filter(|k| sign(*k) != sign(k + 1)).map(|k| (point(k) + point(k + 1)) / 2.0).collect();
        assert_eq!(roots.len(), n, "{self:?} n={n}");
        roots
    }

    fn newton(self, n: usize, start: f64) -> fx128 {
        let mut x = fx128::from(start);
        for _ in 0..12 {
            let (value, _, slope) = self.at(n, x);
            x -= value / slope;
        }
        x
    }
}

#[test]
fn the_reference_agrees_with_the_handbook() {
    let agrees = |family: Family, n: usize, k: usize, node: f64, weight: f64| {
        let (x, w) = family.reference(n)[k];
        assert!((x - node).abs() < 1e-14 && (w - weight).abs() < 1e-13, "{family:?} n={n}: {x} {w}");
    };
    agrees(Family::Legendre, 2, 1, 0.577_350_269_189_626, 1.0);
    agrees(Family::Legendre, 5, 4, 0.906_179_845_938_664, 0.236_926_885_056_189);
    agrees(Family::Legendre, 10, 9, 0.973_906_528_517_172, 0.066_671_344_308_688);
    agrees(Family::Legendre, 16, 15, 0.989_400_934_991_650, 0.027_152_459_411_754);
    agrees(Family::Hermite, 3, 2, 1.224_744_871_391_589, 0.295_408_975_150_9);
    agrees(Family::Hermite, 5, 4, 2.020_182_870_456_086, 0.019_953_242_059_05);
    agrees(Family::Hermite, 10, 9, 3.436_159_118_837_738, 7.640_432_855_233e-6);
}
