//! What a batch promises about its items: bits, failures, gaps, shapes.

use batchlas::linalg::{EighTridiagonalOptions, eigh_tridiagonal};
use batchlas::ops::steqr::{Options, Shift, solve};
use batchlas::{Batch, Device, DeviceBatch, Jobz, Layout, Real, Status};

use crate::arms::{Arm, Solved};
use crate::checks::{check_items, check_vectors};
use crate::support::bits;
use crate::support::classes::tridiagonal::{Tridiagonal, random};
use crate::support::random::Random;
use crate::support::tridiagonal::Batched;

fn randoms<T: Real>(seed: u64, n: usize, count: usize) -> Batched<T> {
    let mut r = Random::new(seed);
    let items: Vec<Tridiagonal> = (0..count).map(|_| random(&mut r, n)).collect();
    Batched::new(n, &items)
}

/// The part of the vectors that belongs to an item; nothing for values only.
fn vectors_of<T: Real>(solved: &Solved<T>, item: usize) -> Vec<T> {
    let n = solved.route.problem.n;
    let all = solved.vectors.as_ref().map_or(&[][..], Batch::as_slice);
    all.get(item * n * n..(item + 1) * n * n).unwrap_or(&[]).to_vec()
}

/// An item has the same bits alone, at any position, and in every run.
pub fn alone_and_in_a_batch<T: Real>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    for n in [1, 3, 6, 13, 32, 65].into_iter().filter(|n| *n <= arm.max_n()) {
        // A batch of 7 leaves lanes of the last warp, and warps of the last block, without an item.
        let count = if arm.device == Device::Simt && n > 8 { 3 } else { 7 };
        let batch = randoms::<T>(40 + n as u64, n, count);
        let all = arm.solve(&queue, "all", &batch, Jobz::V);
        let again = arm.solve(&queue, "again", &batch, Jobz::V);
        assert_eq!(bits(&all.values), bits(&again.values));
        for at in [0, count / 2, count - 1] {
            let alone = arm.solve(&queue, "alone", &batch.item(at), Jobz::V);
            let context = format!("{arm:?} {} n={n} item {at}", T::DTYPE);
            assert_eq!(bits(all.values_of(at)), bits(alone.values_of(0)), "{context}");
            assert_eq!(bits(&vectors_of(&all, at)), bits(&vectors_of(&again, at)), "{context}");
            assert_eq!(bits(&vectors_of(&all, at)), bits(&vectors_of(&alone, 0)), "{context}");
        }
    }
}

/// A NaN or an infinity in `d` or `e`: status -1 and NaN there, the same bits elsewhere.
pub fn bad_items_touch_no_other<T: Real>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    for n in [1, 2, 3, 11, 32, 70].into_iter().filter(|n| *n <= arm.max_n()) {
        let good = randoms::<T>(90 + n as u64, n, 5);
        let mut bad = good.clone();
        bad.d[n + n - 1] = T::round_from(f64::NAN);
        bad.d[3 * n] = T::neg_infinity();
        if n > 1 {
            bad.e[4 * (n - 1) + n - 2] = T::infinity();
        }
        for jobz in [Jobz::V, Jobz::N] {
            let (x, y) = (arm.solve(&queue, "good", &good, jobz), arm.solve(&queue, "bad", &bad, jobz));
            for item in 0..5 {
                let context = format!("{arm:?} {} n={n} {jobz} item {item}", T::DTYPE);
                if item == 1 || item == 3 || (item == 4 && n > 1) {
                    assert_eq!(y.status[item], Status::NOT_FINITE, "{context}");
                    let outputs = [y.values_of(item).to_vec(), vectors_of(&y, item)].concat();
                    assert!(outputs.iter().all(|v| v.is_nan()), "{context}");
                } else {
                    assert_eq!(y.status[item], Status::CONVERGED, "{context}");
                    assert_eq!(bits(x.values_of(item)), bits(y.values_of(item)), "{context}");
                    assert_eq!(bits(&vectors_of(&x, item)), bits(&vectors_of(&y, item)), "{context}");
                }
            }
        }
    }
}

/// Without sweeps nothing converges that needs one: a positive status and NaN; diagonal items do not notice.
pub fn spent_budgets<T: Real>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    for n in [3, 8, 14, 32].into_iter().filter(|n| *n <= arm.max_n()) {
        let hard = Tridiagonal::new(n, |k| 2.0 + k as f64, |_| 1.0);
        let easy = Tridiagonal::new(n, |k| 2.0 + k as f64, |_| 0.0);
        let batch = Batched::<T>::new(n, &[easy.clone(), hard, easy]);
        for (jobz, sweeps_per_value) in [(Jobz::V, 0), (Jobz::N, 0), (Jobz::V, 50)] {
            let options =
                EighTridiagonalOptions { sweeps_per_value: Some(sweeps_per_value), ..arm.options(jobz) };
            let solved = arm.solve_with(&queue, "budget", &batch, &options);
            let context = format!("{arm:?} {} n={n} {jobz} {sweeps_per_value}", T::DTYPE);
            assert!(solved.status[0].is_ok() && solved.status[2].is_ok(), "{context}: {:?}", solved.status);
            assert_eq!(solved.values_of(0)[n - 1], T::round_from(n as f64 + 1.0), "{context}");
            if sweeps_per_value > 0 {
                assert!(solved.status[1].is_ok(), "{context}: {:?}", solved.status);
                continue;
            }
            let left = solved.status[1].code();
            assert!((1..n as i32).contains(&left), "{context}: {:?}", solved.status);
            let outputs = [solved.values_of(1).to_vec(), vectors_of(&solved, 1)].concat();
            assert!(outputs.iter().all(|v| v.is_nan()), "{context}: {outputs:?}");
        }
    }
}

/// Leading dimension and stride with gaps: the gaps and the words around every output keep their content.
pub fn gaps_and_guards_stay<T: Real>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    let guard = T::round_from(-77.0);
    for n in [1, 3, 7, 14, 32, 45].into_iter().filter(|n| *n <= arm.max_n()) {
        let batch = randoms::<T>(n as u64, n, 3);
        let expected = arm.solve(&queue, "packed", &batch, Jobz::V);
        let layout = Layout::new(n, n, n + 3, (n + 3) * n + 5, 3).unwrap();
        let buffer = queue.upload(&vec![guard; layout.len() + 9]).unwrap();
        let mut q = DeviceBatch::from_buffer(buffer, layout).unwrap();
        let mut d = queue.upload(&batch.d).unwrap();
        let e = queue.upload(&batch.e).unwrap();
        let mut status = queue.upload(&[99i32; 3]).unwrap();
        let options = Options { route: Some(arm.pin()), ..Options::default() };
        solve(&queue, &mut d, &e, Some(&mut q), &mut status, &options).unwrap();
        assert_eq!(queue.download(&status).unwrap(), [0; 3]);
        assert_eq!(bits(&queue.download(&d).unwrap()), bits(&expected.values), "{arm:?} n={n}");
        let after = queue.download(q.buffer()).unwrap();
        let mut inside = vec![false; after.len()];
        for (item, j) in (0..3).flat_map(|item| (0..n).map(move |j| (item, j))) {
            let at = layout.offset(item, 0, j);
            inside[at..at + n].fill(true);
            let wanted = expected.vectors.as_ref().unwrap().column(item, j);
            assert_eq!(bits(&after[at..at + n]), bits(wanted), "{arm:?} n={n} item {item} column {j}");
        }
        let touched = (0..after.len()).find(|&k| !inside[k] && after[k] != guard);
        assert_eq!(touched, None, "{arm:?} n={n}: a gap was written");
    }
}

/// n = 0 and batch = 0 keep their shapes; a solve of nothing is a success; lengths that do not fit are errors.
pub fn empty_shapes<T: Real>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    for n in [0, 1, 3] {
        let nothing = Batched::<T> { n, d: vec![], e: vec![] };
        for jobz in [Jobz::V, Jobz::N] {
            let solved = arm.solve(&queue, "nothing", &nothing, jobz);
            assert_eq!((solved.values.len(), solved.status.len(), solved.failed()), (0, 0, 0));
            let shape = solved.vectors.map(|v| (v.rows(), v.cols(), v.batch()));
            assert_eq!(shape, (jobz == Jobz::V).then_some((n, n, 0)));
        }
    }
    let one = [T::one(); 6];
    for (d, e, n) in [(4, 4, 4), (5, 3, 4), (4, 2, 4), (0, 1, 3), (1, 0, 0), (6, 0, 3)] {
        let error = eigh_tridiagonal(&queue, &one[..d], &one[..e], n).unwrap_err().to_string();
        assert!(error.contains("are no batch of order"), "{error}");
    }
    // In place, orders of 0 are solved.
    let (mut d, e) = (queue.alloc::<T>(0).unwrap(), queue.alloc::<T>(0).unwrap());
    let mut status = queue.upload(&[7i32; 4]).unwrap();
    let options = Options { route: Some(arm.pin()), ..Options::default() };
    solve(&queue, &mut d, &e, None, &mut status, &options).unwrap();
    assert_eq!(queue.download(&status).unwrap(), [0; 4]);
}

/// Order 1: the value is the element, the vector is 1.
pub fn one_by_one<T: Real>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    let elements = [3.0, 0.0, -2.5, 1e-30, -1e30];
    let items = elements.map(|x| Tridiagonal { d: vec![x], e: vec![] });
    let solved = arm.solve(&queue, "elements", &Batched::<T>::new(1, &items), Jobz::V);
    assert_eq!(solved.values, elements.map(T::round_from));
    assert!(solved.vectors.unwrap().as_slice().iter().all(|x| *x == T::one()));
}

/// More items than one block or one task holds.
pub fn many_items<T: Real>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    for (n, batch) in [(2, 70), (4, 1000), (17, 300)] {
        let batch = if arm.device == Device::Simt { batch.min(if n > 8 { 5 } else { 35 }) } else { batch };
        check_items(arm, &queue, "many", &randoms::<T>(n as u64, n, batch), Shift::Lapack);
    }
}

/// Every order from 1 to 32, 1 to 40,001 items, where a GPU does the work: the same bits as a batch of 64 that is
/// checked.
pub fn large_batches<T: Real>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    if !matches!(arm.device, Device::Cuda(_)) {
        return;
    }
    for n in 1..=32 {
        let few = randoms::<T>(n as u64, n, 64);
        let reference = arm.solve(&queue, "few", &few, Jobz::V);
        check_vectors(&format!("{arm:?} n={n}"), &few, &reference);
        let values = arm.solve(&queue, "few", &few, Jobz::N);
        for batch in [1, 7, 1000, 16_384, 40_001] {
            if batch > 1000 && ![1, 3, 4, 8, 16, 31, 32].contains(&n) {
                continue;
            }
            let many = few.repeated(batch);
            let context = format!("{arm:?} {} n={n} batch {batch}", T::DTYPE);
            same_runs(&context, &arm.solve(&queue, "many", &many, Jobz::V), &reference);
            same_runs(&context, &arm.solve(&queue, "many", &many, Jobz::N), &values);
        }
    }
}

/// Every run of 64 items has the bits of the reference.
fn same_runs<T: Real>(context: &str, solved: &Solved<T>, reference: &Solved<T>) {
    assert_eq!(solved.failed(), 0, "{context}");
    let vectors = |s: &Solved<T>| s.vectors.as_ref().map_or(vec![], |v| bits(v.as_slice()));
    for (what, all, few) in [
        ("values", bits(&solved.values), bits(&reference.values)),
        ("vectors", vectors(solved), vectors(reference)),
    ] {
        for (k, run) in all.chunks(few.len().max(1)).enumerate() {
            assert_eq!(run, &few[..run.len()], "{context}: {what} from item {}", 64 * k);
        }
    }
}
