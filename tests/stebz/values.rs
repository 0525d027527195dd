//! Values against those of a higher precision.

use batchlas::{Dtype, Real};
use batchlas_bench::precise::precise;

use crate::support::classes::tridiagonal::{CLASSES, random};
use crate::support::random::Random;
use crate::{Arm, rounded};

/// The classes whose numbers a double-double solver without scaling can square.
const WILD: [&str; 5] = ["large", "small", "huge", "tiny", "tiny block beside one"];

/// Every class: ascending, and near the reference. Bisection keeps a few units of the roundoff of the norm at any order;
/// iterations of QL, by which the reference above n = 24 is computed too, n of them.
pub fn every_class<T: Real>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    for &n in arm.orders() {
        let items: Vec<_> =
            CLASSES.iter().map(|(_, make)| make(&mut Random::new(n as u64), n, T::DTYPE)).collect();
        let (d, e) = rounded::<T>(&items);
        let solved = arm.solve(&queue, n, (&d, &e));
        assert!(solved.status.iter().all(|s| *s == 0), "{arm:?} n={n}: {:?}", solved.status);
        let widen = |x: &[T]| x.iter().map(|x| x.widen()).collect::<Vec<f64>>();
        let (d, e) = (widen(&d), widen(&e));
        let exact =
            Arm { device: batchlas::Device::Cpu, route: "cpu" }.solve(&batchlas::Queue::cpu(), n, (&d, &e));
        for (item, (name, _)) in CLASSES.iter().enumerate() {
            let of = |len: usize| item * len..(item + 1) * len;
            let (w, e) = (&solved.w[of(n)], &e[of(n - 1)]);
            let small = n <= 24 && T::DTYPE == Dtype::F64 && !WILD.contains(name);
            let reference = if small {
                precise(n, |i, j| match i.abs_diff(j) {
                    0 => d[item * n + i],
                    1 => e[i.min(j)],
                    _ => 0.0,
                })
            } else {
                exact.w[of(n)].to_vec()
            };
            let norm = reference.iter().fold(0.0f64, |m, x| m.max(x.abs()));
            let own = arm.route != "cpu" && (small || T::DTYPE == Dtype::F32);
            let units = if own { 6.0 } else { 10.0 * n as f64 };
            let bound = units * T::DTYPE.epsilon() * norm + smallest(T::DTYPE);
            assert!(w.is_sorted(), "{arm:?} {name} n={n}: {w:?}");
            for (x, y) in w.iter().zip(&reference) {
                let off = (x.widen() - y).abs();
                assert!(
                    off <= bound,
                    "{arm:?} {} {name} n={n}: {x} {y} off {off:e}, bound {bound:e}",
                    T::DTYPE
                );
            }
        }
    }
}

/// The last unit of a subnormal number is no rounding error of ours.
fn smallest(t: Dtype) -> f64 {
    if t == Dtype::F32 { f32::from_bits(1) as f64 } else { f64::from_bits(1) }
}

pub fn a_power_of_two_changes_nothing_but_the_scale<T: Real>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    if arm.route == "cpu" {
        return;
    }
    let n = 33;
    let t = random(&mut Random::new(7), n);
    let exponent = if T::DTYPE == Dtype::F32 { 100 } else { 900 };
    let (d, e) = rounded::<T>(std::slice::from_ref(&t));
    let one = arm.solve(&queue, n, (&d, &e));
    for scale in [2f64.powi(exponent), 2f64.powi(-exponent)] {
        let scale = T::round_from(scale);
        let scaled = |x: &[T]| x.iter().map(|x| *x * scale).collect::<Vec<T>>();
        let other = arm.solve(&queue, n, (&scaled(&d), &scaled(&e)));
        let back: Vec<T> = other.w.iter().map(|x| *x / scale).collect();
        assert_eq!(one.w, back, "{arm:?} {scale}");
    }
}
