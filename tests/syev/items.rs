//! What a batch promises about its items: bits, failures, gaps, shapes.

use batchlas::linalg::{Eigh, eigh_with};
use batchlas::ops::syev::{Options, solve};
use batchlas::{Batch, Device, DeviceBatch, Dtype, Jobz, Layout, Real, Scalar, Status, Uplo};

use crate::arms::Arm;
use crate::checks::{check_items, check_vectors};
use crate::support::random::Random;
use crate::support::{Matrix, bits, poisoned};

/// An item has the same bits alone, at any position, and in every run.
pub fn alone_and_in_a_batch<T: Scalar>(arm: Arm) {
    let Some(queue) = arm.queue().filter(|_| arm.keeps_bits()) else { return };
    for n in [1, 3, 6, 13, 32, 65, 129].into_iter().filter(|n| *n <= arm.max_n(T::DTYPE)) {
        let mut random = Random::new(40 + n as u64);
        let items: Vec<Matrix> = (0..arm.items(19)).map(|_| random.hermitian(n)).collect();
        let all = arm.solve(&queue, &poisoned::<T>(&items, Uplo::Lower), Uplo::Lower, Jobz::V);
        let again = arm.solve(&queue, &poisoned::<T>(&items, Uplo::Lower), Uplo::Lower, Jobz::V);
        let vectors = all.vectors.as_ref().unwrap().as_slice();
        assert_eq!(bits(vectors), bits(again.vectors.as_ref().unwrap().as_slice()));
        for at in [0, items.len() / 2, items.len() - 1] {
            let alone = poisoned::<T>(&items[at..=at], Uplo::Lower);
            let alone = arm.solve(&queue, &alone, Uplo::Lower, Jobz::V);
            assert_eq!(bits(all.values_of(at)), bits(alone.values_of(0)), "{arm:?} n={n} item {at}");
            let here = &vectors[at * n * n..(at + 1) * n * n];
            assert_eq!(
                bits(here),
                bits(alone.vectors.as_ref().unwrap().as_slice()),
                "{arm:?} n={n} item {at}"
            );
        }
    }
}

/// A NaN or an infinity anywhere in the triangle: status -1 and NaN there, the same bits elsewhere.
pub fn bad_items_touch_no_other<T: Scalar>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    for (n, uplo) in
        [(1, Uplo::Lower), (3, Uplo::Upper), (11, Uplo::Lower), (32, Uplo::Upper), (70, Uplo::Lower)]
    {
        if n > arm.max_n(T::DTYPE) {
            continue;
        }
        let mut random = Random::new(90 + n as u64);
        let items: Vec<Matrix> = (0..6).map(|_| random.hermitian(n)).collect();
        let good = poisoned::<T>(&items, uplo);
        let mut bad = good.clone();
        let (row, column) = if uplo == Uplo::Lower { (n - 1, n / 2) } else { (n / 2, n - 1) };
        bad.set(1, row, column, T::from_f64(f64::NAN, 0.0));
        bad.set(3, 0, 0, T::from_f64(f64::NEG_INFINITY, 0.0));
        if T::DTYPE.is_complex() && n > 1 {
            let (row, column) = if uplo == Uplo::Lower { (1, 0) } else { (0, 1) };
            bad.set(4, row, column, T::from_f64(1.0, f64::INFINITY));
        } else {
            bad.set(4, n - 1, n - 1, T::from_f64(f64::INFINITY, 0.0));
        }
        for jobz in [Jobz::V, Jobz::N] {
            let (x, y) = (arm.solve(&queue, &good, uplo, jobz), arm.solve(&queue, &bad, uplo, jobz));
            for item in 0..6 {
                let vectors = |e: &Option<Batch<T>>| {
                    e.as_ref().map_or(Vec::new(), |v| v.as_slice()[item * n * n..(item + 1) * n * n].to_vec())
                };
                let context = format!("{arm:?} {} n={n} {uplo} {jobz} item {item}", T::DTYPE);
                if [1, 3, 4].contains(&item) {
                    assert_eq!(y.status[item], Status::NOT_FINITE, "{context}");
                    let nan = |v: &T| num_traits::Float::is_nan(v.re());
                    assert!(y.values_of(item).iter().all(|v| num_traits::Float::is_nan(*v)), "{context}");
                    assert!(vectors(&y.vectors).iter().all(nan), "{context}");
                } else {
                    assert_eq!(y.status[item], Status::CONVERGED, "{context}");
                    if !arm.keeps_bits() {
                        continue;
                    }
                    assert_eq!(bits(x.values_of(item)), bits(y.values_of(item)), "{context}");
                    assert_eq!(bits(&vectors(&x.vectors)), bits(&vectors(&y.vectors)), "{context}");
                }
            }
        }
    }
}

/// An eigenvalue beyond the type's range is an infinity of its sign; the item's status is 0, and its vectors and
/// its other values are right.
pub fn values_that_overflow_are_infinite<T: Scalar>(arm: Arm) {
    let Some(queue) = arm.queue().filter(|_| arm.keeps_overflow()) else { return };
    let (most, exponent) =
        if T::DTYPE.real() == Dtype::F32 { (f64::from(f32::MAX), 127) } else { (f64::MAX, 1023) };
    let down = 2f64.powi(-12);
    for n in [2, 3, 6, 32, 130].into_iter().filter(|n| *n <= arm.max_n(T::DTYPE)) {
        let random = Random::new(70 + n as u64).hermitian(n);
        let largest = random.re.iter().chain(&random.im).fold(0.0f64, |m, x| m.max(x.abs()));
        let items =
            [Matrix::from_fn(n, |_, _| 2f64.powi(exponent)), random.scaled(1.0 / largest).scaled(most)];
        let huge = arm.solve(&queue, &poisoned::<T>(&items, Uplo::Lower), Uplo::Lower, Jobz::V);
        let values = arm.solve(&queue, &poisoned::<T>(&items, Uplo::Lower), Uplo::Lower, Jobz::N).values;
        // The same matrices where nothing overflows.
        let items = items.map(|item| item.scaled(down));
        let a = poisoned::<T>(&items, Uplo::Lower);
        let plain = arm.solve(&queue, &a, Uplo::Lower, Jobz::V);
        let bound = 10.0 * n as f64 * T::DTYPE.epsilon() * n as f64 * most * down;
        for (k, exact) in plain.values.iter().map(|x| x.widen()).enumerate() {
            for got in [huge.values[k].widen(), values[k].widen()] {
                let context = format!("{arm:?} {} n={n} value {k}: {got} {exact}", T::DTYPE);
                let near = exact.abs() - most * down;
                if got.is_infinite() {
                    assert!(near >= -bound && got.is_sign_positive() == (exact > 0.0), "{context}");
                } else {
                    assert!(near <= bound && (got * down - exact).abs() <= bound, "{context}");
                }
            }
        }
        // For n = 2 it is the power of two next to the largest number, and may round to that.
        assert!(n == 2 || huge.values_of(0)[n - 1].widen().is_infinite(), "{arm:?} n={n}");
        check_vectors(&format!("{arm:?} n={n}"), &a, Uplo::Lower, &Eigh { values: plain.values, ..huge });
    }
}

/// Leading dimension and stride with gaps: the gaps and the words around every output keep their content.
pub fn gaps_and_guards_stay<T: Scalar>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    for n in [1, 5, 9, 32, 40].into_iter().filter(|n| *n <= arm.max_n(T::DTYPE)) {
        let mut random = Random::new(60 + n as u64);
        let items: Vec<Matrix> = (0..3).map(|_| random.hermitian(n)).collect();
        let packed = poisoned::<T>(&items, Uplo::Lower);
        let expected = arm.solve(&queue, &packed, Uplo::Lower, Jobz::V);
        let layout = Layout::new(n, n, n + 3, (n + 3) * n + 5, 3).unwrap();
        let guard = T::from_f64(-777.0, 0.0);
        let mut host = vec![guard; layout.len() + 9];
        for (item, j) in (0..3).flat_map(|item| (0..n).map(move |j| (item, j))) {
            let at = layout.offset(item, 0, j);
            host[at..at + n].copy_from_slice(packed.column(item, j));
        }
        let mut a = DeviceBatch::from_buffer(queue.upload(&host).unwrap(), layout).unwrap();
        let mut w = queue.alloc::<T::Real>(3 * n).unwrap();
        let mut status = queue.upload(&[99i32; 3]).unwrap();
        let options = Options { route: Some(arm.pin()), ..Options::default() };
        solve(&queue, &mut a, &mut w, &mut status, &options).unwrap();
        assert_eq!(queue.download(&status).unwrap(), [0; 3]);
        if arm.keeps_bits() {
            assert_eq!(bits(&queue.download(&w).unwrap()), bits(&expected.values), "{arm:?} n={n}");
        }
        let after = queue.download(a.buffer()).unwrap();
        let mut inside = vec![false; after.len()];
        for (item, j) in (0..3).flat_map(|item| (0..n).map(move |j| (item, j))) {
            let at = layout.offset(item, 0, j);
            inside[at..at + n].fill(true);
            let wanted = expected.vectors.as_ref().unwrap().column(item, j);
            if arm.keeps_bits() {
                assert_eq!(bits(&after[at..at + n]), bits(wanted), "{arm:?} n={n} item {item} column {j}");
            }
        }
        let touched = (0..after.len()).find(|&k| !inside[k] && after[k] != guard);
        assert_eq!(touched, None, "{arm:?} n={n}: a gap was written");
    }
}

/// n = 0 and batch = 0 keep their shapes; a solve of nothing is a success.
pub fn empty_shapes<T: Scalar>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    for (n, batch) in [(0, 0), (0, 4), (3, 0)] {
        let a = Batch::<T>::zeros(n, n, batch);
        for jobz in [Jobz::V, Jobz::N] {
            let solved = arm.solve(&queue, &a, Uplo::Lower, jobz);
            assert_eq!((solved.values.len(), solved.status.len(), solved.failed()), (0, batch, 0));
            let shape = solved.vectors.map(|v| (v.rows(), v.cols(), v.batch()));
            assert_eq!(shape, (jobz == Jobz::V).then_some((n, n, batch)));
        }
    }
    let rectangular = Batch::<T>::zeros(2, 3, 1);
    let error = eigh_with(&queue, &rectangular, &Default::default()).unwrap_err();
    assert_eq!(error.to_string(), "matrices are 2x3, not square");
}

/// Order 1: the value is the element, the vector is 1.
pub fn one_by_one<T: Scalar>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    let elements = [3.0, 0.0, -2.5, 1e-30, -1e30];
    let items: Vec<Matrix> = elements.iter().map(|x| Matrix::diagonal(&[*x])).collect();
    let solved = arm.solve(&queue, &poisoned::<T>(&items, Uplo::Upper), Uplo::Upper, Jobz::V);
    let wanted: Vec<T::Real> = elements.iter().map(|x| T::from_f64(*x, 0.0).re()).collect();
    assert_eq!(solved.values, wanted);
    assert!(solved.vectors.unwrap().as_slice().iter().all(|x| *x == T::one()));
}

/// More items than one block or one task holds.
pub fn many_items<T: Scalar>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    for (n, batch) in [(2, 70), (4, 1000), (17, 300)].into_iter().filter(|(n, _)| *n <= arm.max_n(T::DTYPE)) {
        let batch = if arm.device == Device::Simt { batch.min(9) } else { batch };
        let mut random = Random::new(n as u64);
        let items: Vec<Matrix> = (0..batch).map(|_| random.hermitian(n)).collect();
        check_items::<T>(arm, &queue, "many", &items, Uplo::Lower);
    }
}

/// Every order from 1 to 32, both triangles, vectors and values alone, 1 to 16,384 items and 40,001, where a
/// GPU does the work: the same bits as a batch of 64 that is checked.
pub fn large_batches<T: Scalar>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    if !matches!(arm.device, Device::Cuda(_)) || !arm.keeps_bits() {
        return;
    }
    for n in 1..=arm.max_n(T::DTYPE).min(32) {
        let mut random = Random::new(n as u64);
        let kinds: Vec<Matrix> = (0..64).map(|_| random.hermitian(n)).collect();
        for uplo in [Uplo::Lower, Uplo::Upper] {
            let few = poisoned::<T>(&kinds, uplo);
            let reference = arm.solve(&queue, &few, uplo, Jobz::V);
            check_vectors(&format!("{arm:?} n={n} {uplo}"), &few, uplo, &reference);
            let values = arm.solve(&queue, &few, uplo, Jobz::N);
            for batch in [1, 7, 1000, 16_384, 40_001] {
                if batch > 1000 && ![1, 3, 4, 8, 16, 31, 32].contains(&n) {
                    continue;
                }
                let a = Batch::from_fn(n, n, batch, |item, i, j| few.get(item % 64, i, j));
                let context = format!("{arm:?} {} n={n} {uplo} batch {batch}", T::DTYPE);
                same_runs(&context, &arm.solve(&queue, &a, uplo, Jobz::V), &reference);
                same_runs(&context, &arm.solve(&queue, &a, uplo, Jobz::N), &values);
            }
        }
    }
}

/// Every run of as many items as the reference has its bits.
pub fn same_runs<T: Scalar>(context: &str, solved: &Eigh<T>, reference: &Eigh<T>) {
    assert_eq!(solved.failed(), 0, "{context}");
    let expected = bits(&reference.values);
    for (k, run) in solved.values.chunks(expected.len()).enumerate() {
        assert_eq!(bits(run), expected[..run.len()], "{context}: values of run {k}");
    }
    let (Some(v), Some(few)) = (&solved.vectors, &reference.vectors) else { return };
    let expected = bits(few.as_slice());
    for (k, run) in v.as_slice().chunks(expected.len()).enumerate() {
        assert_eq!(bits(run), expected[..run.len()], "{context}: vectors of run {k}");
    }
}
