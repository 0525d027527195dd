//! Values against those of a higher precision.

use batchlas::linalg::{EighTridiagonalOptions, Method, eigh_tridiagonal_with};
use batchlas::{Dtype, Jobz, Queue, Real};
use batchlas_bench::precise::precise;

use crate::Arm;
use crate::support::classes::tridiagonal::{CLASSES, random};
use crate::support::random::Random;
use crate::support::tridiagonal::Batched;
use crate::support::values::check_within;

/// The classes whose numbers a double-double solver without scaling can square.
const WILD: [&str; 5] = ["large", "small", "huge", "tiny", "tiny block beside one"];

/// QL's values: n units of the roundoff of their norm.
fn by_ql(wide: &Batched<f64>) -> Vec<f64> {
    let options = EighTridiagonalOptions { jobz: Jobz::N, method: Method::Qr, ..Default::default() };
    eigh_tridiagonal_with(&Queue::cpu(), &wide.d, &wide.e, wide.n, &options).unwrap().values
}

/// Every class: ascending, and near the reference. Bisection keeps a few units of the roundoff of the norm at any order;
/// QL, by which the reference above n = 24 is computed, n of them.
pub fn every_class<T: Real>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    for &n in arm.orders() {
        let items: Vec<_> =
            CLASSES.iter().map(|(_, make)| make(&mut Random::new(n as u64), n, T::DTYPE)).collect();
        let batch = Batched::<T>::new(n, &items);
        let solved = arm.solve(&queue, &batch);
        assert!(solved.status.iter().all(|s| *s == 0), "{arm:?} n={n}: {:?}", solved.status);
        let wide = batch.widened();
        let exact = by_ql(&wide);
        for (item, (name, _)) in CLASSES.iter().enumerate() {
            let context = format!("{arm:?} {} {name} n={n}", T::DTYPE);
            let of = item * n..(item + 1) * n;
            let w = &solved.w[of.clone()];
            assert!(w.is_sorted(), "{context}: {w:?}");
            let small = n <= 24 && T::DTYPE == Dtype::F64 && !WILD.contains(name);
            let reference = if small { precise(n, |i, j| wide.get(item, i, j)) } else { exact[of].to_vec() };
            let is_sharp = small || T::DTYPE == Dtype::F32;
            check_within(&context, w, &reference, if is_sharp { 6.0 } else { 10.0 * n as f64 });
        }
    }
}

pub fn a_power_of_two_changes_nothing_but_the_scale<T: Real>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    let n = 33;
    let t = random(&mut Random::new(7), n);
    let exponent = if T::DTYPE == Dtype::F32 { 100 } else { 900 };
    let batch = Batched::<T>::new(n, &[t]);
    let one = arm.solve(&queue, &batch);
    for scale in [2f64.powi(exponent), 2f64.powi(-exponent)] {
        let scale = T::round_from(scale);
        let other = arm.solve(&queue, &batch.scaled(scale));
        let back: Vec<T> = other.w.iter().map(|x| *x / scale).collect();
        assert_eq!(one.w, back, "{arm:?} {scale}");
    }
}
