//! Inputs on which software of this kind has failed, each with what went wrong there.

use batchlas::{Batch, Device, Dtype, Jobz, Queue, Real, Scalar, Uplo, linalg};

use crate::arms::Arm;
use crate::checks::check_items;
use crate::support::random::Random;
use crate::support::{Matrix, bits, poisoned};

/// Solves one matrix, holds it to the contract and compares the values, which
/// are known to `known` relative to the largest.
fn expect<T: Scalar>(arm: Arm, what: &str, a: Matrix, values: &[f64], known: f64) {
    let Some(queue) = arm.queue().filter(|_| a.n <= arm.max_n(T::DTYPE)) else { return };
    let n = a.n;
    for uplo in [Uplo::Lower, Uplo::Upper] {
        let solved = check_items::<T>(arm, &queue, what, std::slice::from_ref(&a), uplo);
        let norm = values.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let bound = (10.0 * n as f64 * T::DTYPE.epsilon()).max(known) * norm;
        for (x, y) in solved.values.iter().zip(values) {
            assert!((x.widen() - y).abs() <= bound, "{arm:?} {} {what}: {x} {y}", T::DTYPE);
        }
    }
}

/// Values and vectors in different order at n = 33; hangs and NaN on tiny
/// diagonal matrices; a subnormal flushed.
pub fn diagonals<T: Scalar>(arm: Arm) {
    for n in [31, 32, 33, 34, 35, 63, 64, 65].into_iter().filter(|n| *n <= arm.max_n(T::DTYPE)) {
        let falling: Vec<f64> = (0..n).map(|k| (n - k) as f64).collect();
        let rising: Vec<f64> = falling.iter().rev().copied().collect();
        expect::<T>(arm, "falling diagonal", Matrix::diagonal(&falling), &rising, 0.0);
    }
    for diagonal in [&[0.01, 0.0, 0.0][..], &[0.0, 0.0, 0.01], &[2.0, 1.0], &[1.0; 3], &[0.0, 0.0, 1.0]] {
        let mut sorted = diagonal.to_vec();
        sorted.sort_by(f64::total_cmp);
        expect::<T>(arm, "small diagonal", Matrix::diagonal(diagonal), &sorted, 0.0);
    }
    let Some(queue) = arm.queue() else { return };
    let subnormal = Matrix::diagonal(&[1.0, 0.01, 1e-40]);
    let solved = arm.solve(&queue, &poisoned::<T>(&[subnormal], Uplo::Lower), Uplo::Lower, Jobz::V);
    let wanted: Vec<T::Real> = [1e-40, 0.01, 1.0].into_iter().map(T::Real::round_from).collect();
    assert_eq!(bits(&solved.values), bits(&wanted), "{arm:?} {}", T::DTYPE);
    expect::<T>(arm, "zeros(26, 26)", Matrix::zeros(26), &[0.0; 26], 0.0);
}

/// Nothing but subnormal numbers: an overflow of the scale's inverse, and residuals in digits that the norm has not.
pub fn nothing_but_subnormals<T: Scalar>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    let step = T::DTYPE.smallest();
    for n in [1, 2, 5, 8, 17, 33].into_iter().filter(|n| *n <= arm.max_n(T::DTYPE)) {
        let mut random = Random::new(900 + n as u64);
        let few = Matrix::from_fn(n, |_, _| step * (9.0 * random.unit()).floor());
        let one = Matrix::diagonal(&vec![step; n]);
        check_items::<T>(arm, &queue, "subnormals", &[few, one], Uplo::Lower);
    }
}

/// Couplings whose products underflow beside a zero diagonal: sweeps of implicit shifts lost them there, and the rows
/// on the other side did not converge. Both ways round.
pub fn faint_couplings<T: Scalar>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    let faint = if T::DTYPE.epsilon() > 1e-10 { [1e-17, 1e-20, 1e-25] } else { [1e-140, 1e-160, 1e-200] };
    for n in [4, 6, 12, 32].into_iter().filter(|n| *n <= arm.max_n(T::DTYPE)) {
        let both = |x: f64| {
            let e: Vec<f64> = (0..n - 1).map(|k| if k < n / 2 { 1.0 } else { x }).collect();
            let mut turned = e.clone();
            turned.reverse();
            [e, turned].map(|e| Matrix::tridiagonal(&vec![0.0; n], &e))
        };
        let items: Vec<Matrix> = faint.into_iter().flat_map(both).collect();
        check_items::<T>(arm, &queue, "faint couplings", &items, Uplo::Lower);
    }
}

/// Elements of every magnitude of the type, in no order, zeros among them: a Jacobi rotation by a clamped angle never
/// ended, and the phase of an element whose square underflows was no phase.
pub fn scattered_magnitudes<T: Scalar>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    let decades = if T::DTYPE.epsilon() > 1e-10 { 36.0 } else { 150.0 };
    for n in [2, 3, 4, 5, 6, 8, 11, 17].into_iter().filter(|n| *n <= arm.max_n(T::DTYPE)) {
        let mut random = Random::new(700 + n as u64);
        for zeros in [0.0, 0.5, 0.9] {
            let mut item = || {
                let mut a = Matrix::zeros(n);
                for (i, j) in (0..n).flat_map(|i| (0..=i).map(move |j| (i, j))) {
                    let size = 10f64.powf(-decades * random.unit());
                    let size = if random.unit() < zeros { 0.0 } else { size };
                    let angle = std::f64::consts::TAU * random.unit();
                    let complex = T::DTYPE.is_complex() && i != j;
                    let (re, im) = if complex { angle.sin_cos() } else { (angle.sin().signum(), 0.0) };
                    a.set(i, j, size * re, size * im);
                }
                a
            };
            let items: Vec<Matrix> = (0..arm.items(60)).map(|_| item()).collect();
            check_items::<T>(arm, &queue, "scattered magnitudes", &items, Uplo::Lower);
        }
    }
}

fn lower(n: usize, rows: &[f64]) -> Matrix {
    let mut rows = rows.iter();
    let mut out = Matrix::zeros(n);
    for i in 0..n {
        for j in 0..=i {
            out.set(i, j, *rows.next().unwrap(), 0.0);
        }
    }
    out
}

/// Small matrices that did not converge, were not reconstructed, gave one
/// vector twice or swapped their vectors; conjugated vectors; off-diagonals
/// dropped by an absolute floor; closed forms that lost half the digits.
pub fn small_real<T: Scalar>(arm: Arm) {
    let big = [22391.839134, -79303.375391, 294606.941173, 44018.262128, -172004.515247, 521170.455823];
    expect::<T>(arm, "QR never converged", lower(3, &big), &[960.70193, 213570.52294, 623638.01125], 1e-10);
    expect::<T>(
        arm,
        "not reconstructed",
        lower(3, &[1.0, 0.01, 1.0, 0.01, 0.01, 1.0]),
        &[0.99, 0.99, 1.02],
        0.0,
    );
    expect::<T>(arm, "one vector twice", lower(3, &[3.5, 0.5, 3.5, 0.0, 0.0, 2.0]), &[2.0, 3.0, 4.0], 0.0);
    let swapped = Matrix::tridiagonal(&[-1.26189, 1.17464], &[0.98587]);
    expect::<T>(arm, "swapped", swapped, &[-1.6108229029864, 1.5235729029864], 1e-13);

    if T::DTYPE.is_complex() {
        let mut a = Matrix::diagonal(&[1.0, 5.0]);
        a.set(1, 0, 0.0, 2.0);
        let root = 8f64.sqrt();
        expect::<T>(arm, "conjugated", a, &[3.0 - root, 3.0 + root], 0.0);
        let mut a = Matrix::diagonal(&[1.0, 2.0]);
        a.set(1, 0, 0.0, -1.0);
        let root = 5f64.sqrt();
        expect::<T>(arm, "conjugated", a, &[(3.0 - root) / 2.0, (3.0 + root) / 2.0], 0.0);
    }

    let (s, r) = if T::DTYPE.epsilon() > 1e-10 { (1e-25, 1e-3) } else { (1e-140, 1e-9) };
    let floor = Matrix::tridiagonal(&[s; 6], &[s * r; 5]);
    let exact: Vec<f64> =
        (1..=6).rev().map(|k| s * (1.0 + 2.0 * r * (std::f64::consts::PI * k as f64 / 7.0).cos())).collect();
    expect::<T>(arm, "absolute floor", floor, &exact, 0.0);

    let Some(queue) = arm.queue() else { return };
    let count = match arm.device {
        Device::Simt => 20,
        Device::Cpu => 2000,
        Device::Cuda(_) => 100_000,
    };
    let mut random = Random::new(3);
    let eps = T::DTYPE.epsilon();
    let close: Vec<Matrix> = (0..count)
        .map(|_| random.with_spectrum(&[1.0, 1.0 + 4.0 * eps, 2.0], T::DTYPE.is_complex()))
        .collect();
    check_items::<T>(arm, &queue, "two close values", &close, Uplo::Lower);

    // A secular equation with a cluster at 1 and five poles within 5e-12.
    let d: Vec<f64> =
        (0..29).map(|k| if k < 5 { 0.5 + 1e-12 * k as f64 } else { 1.0 + 1e-15 * k as f64 }).collect();
    let secular = Matrix::from_fn(29, |i, j| f64::from(u8::from(i == j)) * d[i] + 1.0 / 29.0);
    if arm.max_n(T::DTYPE) >= 29 {
        check_items::<T>(arm, &queue, "secular cluster", &[secular], Uplo::Lower);
    }
}

/// An endless loop on f32 33x33 with two cliques of ones; an iteration counter
/// that overflowed on random graphs with many zero eigenvalues.
pub fn adjacency_of_33<T: Scalar>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    let n = 33.min(arm.max_n(T::DTYPE));
    let cliques = [[1, 7, 21, 27, 28], [3, 17, 18, 21, 24]];
    let ones = Matrix::from_fn(n, |i, j| {
        f64::from(u8::from(cliques.iter().any(|c| c.contains(&i) && c.contains(&j))))
    });
    let mut random = Random::new(20);
    let graph = Matrix::from_fn(n, |i, j| f64::from(u8::from(i != j && random.below(9) == 0)));
    check_items::<T>(arm, &queue, "cliques and graph", &[ones, graph], Uplo::Lower);
}

/// .05 to 1.5% of near-singular positive definite matrices were wrong,
/// depending on the calls before: batches of 3, 17, 128 and 5 in turn must
/// always give the bits of the first time.
pub fn near_singular_in_turns<T: Scalar>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    let (rounds, sizes) = match arm.device {
        Device::Simt => (2, &[1, 3, 2][..]),
        Device::Cpu => (6, &[3, 17, 128, 5][..]),
        // Two thousand calls.
        Device::Cuda(_) => (500, &[3, 17, 128, 5][..]),
    };
    let n = 40.min(arm.max_n(T::DTYPE));
    let mut random = Random::new(64);
    let values: Vec<f64> = (0..n).map(|k| 10f64.powi(-(k as i32) / 3)).collect();
    let most = *sizes.iter().max().unwrap();
    let items: Vec<Matrix> =
        (0..most).map(|_| random.with_spectrum(&values, T::DTYPE.is_complex())).collect();
    let first = check_items::<T>(arm, &queue, "near singular", &items, Uplo::Lower);
    if !arm.keeps_bits() {
        return;
    }
    let expected = bits(first.vectors.as_ref().unwrap().as_slice());
    for round in 0..rounds {
        for &size in sizes {
            let a = poisoned::<T>(&items[..size], Uplo::Lower);
            let solved = arm.solve(&queue, &a, Uplo::Lower, Jobz::V);
            assert_eq!(bits(&solved.values), bits(&first.values[..size * n]), "round {round} size {size}");
            let vectors = bits(solved.vectors.unwrap().as_slice());
            assert_eq!(vectors, expected[..vectors.len()], "round {round} size {size}");
        }
    }
}

/// Every value twice: NaN or unsorted values for some block sizes at n = 46.
pub fn degenerate_pairs<T: Scalar>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    let n = 46.min(arm.max_n(T::DTYPE)) / 2 * 2;
    let values: Vec<f64> = (0..n).map(|k| 1.0 + (k / 2) as f64).collect();
    let mut random = Random::new(46);
    let pairs: Vec<Matrix> =
        (0..arm.items(20)).map(|_| random.with_spectrum(&values, T::DTYPE.is_complex())).collect();
    check_items::<T>(arm, &queue, "degenerate pairs", &pairs, Uplo::Lower);
}

/// `v v^T` of order 1024 in f32, the magnitudes of `v` spread over six decades, did not converge.
#[test]
fn rank_one_of_1024() {
    let n = 1024;
    let mut random = Random::new(1024);
    let v: Vec<f32> = (0..n)
        .map(|_| random.symmetric().signum() as f32 * 10f64.powf(-6.5 + 5.915 * random.unit()) as f32)
        .collect();
    let square: f64 = v.iter().map(|x| f64::from(*x).powi(2)).sum();
    let a = Batch::from_fn(n, n, 1, |_, i, j| v[i] * v[j]);
    let solved = linalg::eigh(&Queue::cpu(), &a).unwrap();
    assert_eq!(solved.failed(), 0, "{:?}", solved.status);
    let bound = n as f64 * f64::from(f32::EPSILON) * square;
    for (k, w) in solved.values.iter().enumerate() {
        let exact = if k == n - 1 { square } else { 0.0 };
        assert!((f64::from(*w) - exact).abs() <= bound, "value {k}: {w} {exact}");
    }
    let vectors = solved.vectors.as_ref().unwrap();
    let dot = |x: &[f32], y: &[f32]| x.iter().zip(y).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>();
    let along = dot(vectors.column(0, n - 1), &v).abs() / square.sqrt();
    assert!((along - 1.0).abs() <= n as f64 * f64::from(f32::EPSILON), "{along}");
    for k in (0..n).step_by(31) {
        for l in (0..=k).step_by(31) {
            let exact = f64::from(u8::from(k == l));
            let found = dot(vectors.column(0, k), vectors.column(0, l));
            assert!((found - exact).abs() <= 10.0 * n as f64 * f64::from(f32::EPSILON), "{k} {l}: {found}");
        }
    }
}

/// The largest orders of the family `block`, where the executor's other tests do not go.
pub fn largest_of_a_block<T: Scalar>(arm: Arm) {
    let n = match T::DTYPE {
        Dtype::F32 => 128,
        Dtype::C64 => 127,
        _ => return,
    };
    let Some(queue) = arm.queue().filter(|_| arm.route == "block") else { return };
    check_items::<T>(arm, &queue, "random", &[Random::new(128).hermitian(n)], Uplo::Lower);
}
