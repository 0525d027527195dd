//! Items of a batch: each by itself, and nothing beside them.

use batchlas::{Device, DeviceBatch, Jobz, Layout, Real};

use crate::arms::Arm;
use crate::classes::wilkinson;
use crate::support::bits;
use crate::support::classes::tridiagonal::random;
use crate::support::random::Random;
use crate::support::tridiagonal::Batched;

/// The same bits alone and at any position of a batch.
pub fn alone_and_in_a_batch<T: Real>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    let orders: &[usize] = if arm.device == Device::Simt { &[33, 66] } else { &[33, 66, 130, 300] };
    for &n in orders {
        let items = [random(&mut Random::new(1), n), wilkinson(n), random(&mut Random::new(2), n)];
        let batch = Batched::<T>::new(n, &items);
        for jobz in [Jobz::V, Jobz::N] {
            let all = arm.solve(&queue, "all", &batch, jobz);
            for item in 0..items.len() {
                let alone = arm.solve(&queue, "alone", &batch.item(item), jobz);
                let context = format!("{arm:?} n={n} item {item} {jobz}");
                assert_eq!(bits(&alone.w), bits(&all.w[item * n..(item + 1) * n]), "{context}");
                let Some(v) = &all.v else { continue };
                for k in 0..n {
                    let own = alone.v.as_ref().unwrap().column(0, k);
                    assert_eq!(bits(own), bits(v.column(item, k)), "{context} vector {k}");
                }
            }
        }
    }
}

/// NaN and infinity, in `d` and in `e`, at an end and at a cut.
pub fn bad_items_touch_no_other<T: Real>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    for (n, jobz) in [(20, Jobz::V), (34, Jobz::V), (34, Jobz::N)] {
        let items: Vec<_> = (0..5).map(|k| random(&mut Random::new(k), n)).collect();
        let mut batch = Batched::<T>::new(n, &items);
        let clean = arm.solve(&queue, "clean", &batch, jobz);
        batch.d[0] = T::round_from(f64::NAN);
        batch.d[3 * n - 1] = T::infinity();
        batch.e[2 * (n - 1) + n / 2 - 1] = T::neg_infinity();
        batch.e[5 * (n - 1) - 1] = T::round_from(f64::NAN);
        let solved = arm.solve(&queue, "bad", &batch, jobz);
        assert_eq!(solved.status, [-1, 0, -1, 0, -1], "{arm:?} n={n} {jobz}");
        for item in 0..items.len() {
            let (w, good) = (&solved.w[item * n..(item + 1) * n], &clean.w[item * n..(item + 1) * n]);
            let failed = solved.status[item] != 0;
            let context = format!("{arm:?} n={n} {jobz} item {item}");
            assert!(if failed { w.iter().all(|x| x.is_nan()) } else { bits(w) == bits(good) }, "{context}");
            let (Some(v), Some(good)) = (&solved.v, &clean.v) else { continue };
            for k in 0..n {
                let (column, good) = (v.column(item, k), good.column(item, k));
                let right =
                    if failed { column.iter().all(|x| x.is_nan()) } else { bits(column) == bits(good) };
                assert!(right, "{context} vector {k}");
            }
        }
    }
}

/// Vectors in a layout with gaps: the same bits, and the gaps as they were.
pub fn gaps_and_guards_stay<T: Real>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    let n = 66;
    let batch = Batched::<T>::new(n, &[random(&mut Random::new(1), n), wilkinson(n)]);
    let packed = arm.solve(&queue, "packed", &batch, Jobz::V);
    let layout = Layout::new(n, n, n + 3, (n + 3) * n + 5, 2).unwrap();
    let guard = T::round_from(77.0);
    let (d, e) = (queue.upload(&batch.d).unwrap(), queue.upload(&batch.e).unwrap());
    let mut w = queue.alloc::<T>(2 * n).unwrap();
    let mut status = queue.alloc::<i32>(2).unwrap();
    let buffer = queue.upload(&vec![guard; layout.len()]).unwrap();
    let mut q = DeviceBatch::from_buffer(buffer, layout).unwrap();
    batchlas::ops::stedc::solve(&queue, &d, &e, &mut w, Some(&mut q), &mut status, &arm.options()).unwrap();
    let all = queue.download(q.buffer()).unwrap();
    let v = q.download(&queue).unwrap();
    let mut used = vec![false; all.len()];
    for item in 0..2 {
        for k in 0..n {
            assert_eq!(
                bits(v.column(item, k)),
                bits(packed.v.as_ref().unwrap().column(item, k)),
                "{arm:?} item {item} vector {k}"
            );
            let at = layout.offset(item, 0, k);
            used[at..at + n].fill(true);
        }
    }
    assert!(all.iter().zip(used).all(|(x, used)| used || *x == guard), "{arm:?}: a gap was written");
}

pub fn empty_shapes<T: Real>(arm: Arm) {
    let Some(queue) = arm.queue() else { return };
    for (n, items) in [(0, 3), (40, 0), (0, 0)] {
        for jobz in [Jobz::V, Jobz::N] {
            let none = queue.alloc::<T>(0).unwrap();
            let mut w = queue.alloc::<T>(0).unwrap();
            let mut status = queue.alloc::<i32>(items).unwrap();
            let layout = Layout::packed(n, n, items);
            let mut q = (jobz == Jobz::V).then(|| DeviceBatch::<T>::alloc(&queue, layout).unwrap());
            batchlas::ops::stedc::solve(
                &queue,
                &none,
                &none,
                &mut w,
                q.as_mut(),
                &mut status,
                &arm.options(),
            )
            .unwrap();
            assert_eq!(queue.download(&status).unwrap(), vec![0; items]);
        }
    }
}
