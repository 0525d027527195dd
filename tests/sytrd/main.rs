//! `sytrd` and `ormqr`: every device, `A = Q T Q^H` with `Q` made explicit.
//!
//! Without a GPU the tests of `cuda` say why they are skipped; `BATCHLAS_REQUIRE_GPU=1` makes that a failure.
#![cfg(feature = "simt")]

#[path = "../support/mod.rs"]
mod support;

mod packed;
mod reduced;
mod reflectors;

use batchlas::ops::{Target, ormqr, sytrd};
use batchlas::routes::Pin;
use batchlas::{Batch, Complex, Device, DeviceBatch, Layout, Queue, Scalar, Uplo};
use batchlas_bench::Matrix;
use batchlas_bench::random::Random;
use reduced::{check, reduce};
use reflectors::{Case, apply};

/// All by panels, whatever the order is.
const PANELS: Option<&str> = Some("blocked:tail=0");

macro_rules! devices {
    ($($name:ident: $device:expr;)*) => { $(
        mod $name {
            use super::*;
            devices!(@types $device, f32 = f32, f64 = f64, c32 = Complex<f32>, c64 = Complex<f64>);
        }
    )* };
    (@types $device:expr, $($dtype:ident = $t:ty),*) => { $(
        mod $dtype {
            use super::*;
            #[test] fn every_order() { super::super::every_order::<$t>($device, None); }
            #[test] fn every_order_by_panels() { super::super::every_order::<$t>($device, PANELS); }
            #[test] fn every_class() { super::super::every_class::<$t>($device, None); }
            #[test] fn every_class_by_panels() { super::super::every_class::<$t>($device, PANELS); }
            #[test] fn a_bad_item_touches_no_other() { super::super::a_bad_item_touches_no_other::<$t>($device); }
            #[test] fn parameters() { super::super::parameters::<$t>($device); }
            #[test] fn staged_columns() { super::super::staged_columns::<$t>($device); }
            #[test] fn position_in_a_batch() { super::super::position_in_a_batch::<$t>($device); }
        }
    )* };
}

devices! {
    simt: Device::Simt;
    cuda: Device::Cuda(0);
}

fn orders(device: Device) -> &'static [usize] {
    if device == Device::Simt {
        &[1, 2, 3, 5, 16, 31, 32, 33, 65]
    } else {
        &[1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 257, 512]
    }
}

fn every_order<T: Scalar>(device: Device, route: Option<&str>) {
    let Some(queue) = support::queue(device) else { return };
    for &n in orders(device) {
        let mut random = Random::new(n as u64);
        let items = [random.hermitian(n), random.hermitian(n)];
        for uplo in [Uplo::Lower, Uplo::Upper] {
            let what = format!("random n={n} {uplo}");
            let reduced = reduce::<T>(&queue, &items, uplo, route);
            assert_eq!(reduced.status, [0, 0], "{what}");
            check(&what, &items, &reduced);
        }
    }
}

fn every_class<T: Scalar>(device: Device, route: Option<&str>) {
    let Some(queue) = support::queue(device) else { return };
    let n = 34;
    let mut random = Random::new(7);
    let clustered: Vec<f64> = (0..n).map(|k| if k % 3 == 0 { 1.0 } else { -2.0 + 1e-9 * k as f64 }).collect();
    let graded: Vec<f64> = (0..n).map(|k| 0.5f64.powi(k as i32)).collect();
    let (tiny, huge) = if T::DTYPE.real() == batchlas::Dtype::F32 { (1e-36, 1e36) } else { (1e-300, 1e300) };
    let complex = T::DTYPE.is_complex();
    let classes = [
        ("zero", Matrix::zeros(n)),
        ("identity", Matrix::diagonal(&vec![1.0; n])),
        ("diagonal", Matrix::diagonal(&graded)),
        ("ones", Matrix::from_fn(n, |_, _| 1.0)),
        ("clustered", random.with_spectrum(&clustered, complex)),
        ("graded", random.with_spectrum(&graded, complex)),
        ("tiny", random.hermitian(n).scaled(tiny)),
        ("huge", random.hermitian(n).scaled(huge)),
    ];
    for (name, matrix) in classes {
        let items = [matrix];
        let reduced = reduce::<T>(&queue, &items, Uplo::Lower, route);
        assert_eq!(reduced.status, [0], "{name}");
        check(name, &items, &reduced);
    }
}

fn a_bad_item_touches_no_other<T: Scalar>(device: Device) {
    let Some(queue) = support::queue(device) else { return };
    let mut random = Random::new(3);
    let n = 33;
    let good = [random.hermitian(n), random.hermitian(n), random.hermitian(n)];
    let mut bad = [good[0].clone(), good[1].clone(), good[2].clone()];
    bad[1].set(n - 1, 4, f64::NAN, 0.0);
    let runs = [(Uplo::Lower, None), (Uplo::Upper, None), (Uplo::Lower, PANELS), (Uplo::Upper, PANELS)];
    for (uplo, route) in runs {
        let reference = reduce::<T>(&queue, &good, uplo, route);
        let reduced = reduce::<T>(&queue, &bad, uplo, route);
        assert_eq!(reduced.status, [0, -1, 0]);
        for item in [0, 2] {
            assert_eq!(reduced.bits_of(item), reference.bits_of(item), "item {item}");
        }
        let nan = |x: &<T as Scalar>::Real| x.to_string().to_lowercase() == "nan";
        assert!(reduced.d[n..2 * n].iter().all(nan) && reduced.e[n - 1..2 * (n - 1)].iter().all(nan));
    }
}

fn parameters<T: Scalar>(device: Device) {
    let Some(queue) = support::queue(device) else { return };
    let items = [Random::new(5).hermitian(45)];
    for route in [
        "blocked:nb=8,warps=2,tail=0",
        "blocked:nb=1,warps=1,tail=0",
        "blocked:nb=20,warps=8,tail=0",
        "blocked:warps=16,tail=0",
        "blocked:warps=1,tail=0",
        "blocked:grid=4,tail=0",
        "blocked:grid=2,nb=12,warps=2,tail=0",
        "blocked:tail=128",
    ] {
        let reduced = reduce::<T>(&queue, &items, Uplo::Lower, Some(route));
        check(route, &items, &reduced);
    }
    let mut a = DeviceBatch::<T>::alloc(&queue, Layout::packed(4, 4, 1)).unwrap();
    let mut buffers = reduced::Buffers::<T>::alloc(&queue, 4, 1);
    let route = Some(Pin::parse(&sytrd::OPERATION, "blocked:warps=3").unwrap());
    let error = sytrd::solve(&queue, &mut a, buffers.out(), &sytrd::Options { route, ..Default::default() });
    assert!(error.unwrap_err().to_string().contains("a power of two"));
}

/// Columns of V and W in shared memory or not: the same bits.
fn staged_columns<T: Scalar>(device: Device) {
    let Some(queue) = support::queue(device) else { return };
    let items = [Random::new(6).hermitian(43)];
    let of = |staged: u32| {
        let route = format!("blocked:nb=20,warps=4,staged={staged},tail=0");
        reduce::<T>(&queue, &items, Uplo::Lower, Some(&route)).bits_of(0)
    };
    let none = of(0);
    for staged in [8, 32] {
        assert_eq!(of(staged), none, "{staged}");
    }
}

fn position_in_a_batch<T: Scalar>(device: Device) {
    let Some(queue) = support::queue(device) else { return };
    let mut random = Random::new(11);
    let items: Vec<Matrix> = (0..3).map(|_| random.hermitian(37)).collect();
    for (route, count) in [(None, 3), (PANELS, 3), (Some("blocked:grid=2,warps=2,tail=0"), 2)] {
        let together = reduce::<T>(&queue, &items[..count], Uplo::Lower, route);
        for item in 0..count {
            let alone = reduce::<T>(&queue, &items[item..=item], Uplo::Lower, route);
            assert_eq!(alone.bits_of(0), together.bits_of(item), "item {item} {route:?}");
        }
    }
}

/// Beyond 128 the scaling has larger blocks; the update has several tiles.
#[test]
fn larger_blocks() {
    let queue = Queue::simt(4);
    let n = 164;
    let items = [Random::new(9).hermitian(n)];
    for route in [Some("blocked:tail=128"), PANELS] {
        let reduced = reduce::<f32>(&queue, &items, Uplo::Lower, route);
        assert_eq!(reduced.status, [0]);
        check("larger blocks", &items, &reduced);
    }
}

/// Empty shapes, and shapes that do not fit.
#[test]
fn edges() {
    let queue = Queue::simt(1);
    for (n, batch) in [(0, 3), (5, 0)] {
        let mut a = DeviceBatch::<f64>::alloc(&queue, Layout::packed(n, n, batch)).unwrap();
        let mut buffers = reduced::Buffers::<f64>::alloc(&queue, n, batch);
        sytrd::solve(&queue, &mut a, buffers.out(), &sytrd::Options::default()).unwrap();
        assert_eq!(queue.download(&buffers.status).unwrap(), vec![0; batch]);
        let tau = queue.alloc::<f64>(n * batch).unwrap();
        let mut c = DeviceBatch::<f64>::alloc(&queue, Layout::packed(n, 2, batch)).unwrap();
        ormqr::solve(&queue, &a, &tau, &mut c, &ormqr::Options::default()).unwrap();
    }
    let v = DeviceBatch::<f32>::alloc(&queue, Layout::packed(5, 5, 2)).unwrap();
    let mut c = DeviceBatch::<f32>::alloc(&queue, Layout::packed(4, 5, 2)).unwrap();
    let tau = queue.alloc::<f32>(10).unwrap();
    let error = ormqr::solve(&queue, &v, &tau, &mut c, &ormqr::Options::default()).unwrap_err().to_string();
    assert!(error.contains("5 rows"), "{error}");
    let mut c = DeviceBatch::<f32>::alloc(&queue, Layout::packed(5, 5, 2)).unwrap();
    let tau = queue.alloc::<f32>(9).unwrap();
    let error = ormqr::solve(&queue, &v, &tau, &mut c, &ormqr::Options::default()).unwrap_err().to_string();
    assert!(error.contains("factors"), "{error}");
    let cpu = Queue::cpu();
    let mut a = DeviceBatch::<f32>::alloc(&cpu, Layout::packed(4, 4, 1)).unwrap();
    let mut buffers = reduced::Buffers::<f32>::alloc(&cpu, 4, 1);
    let error =
        sytrd::solve(&cpu, &mut a, buffers.out(), &sytrd::Options::default()).unwrap_err().to_string();
    assert!(error.contains("blocked") && error.contains("GPU"), "{error}");
}

/// Reflectors of a QR factorization: fewer than rows, from the diagonal on, and a matrix of other width.
#[test]
fn reflectors_without_a_shift() {
    let queue = Queue::simt(2);
    let (n, count, columns) = (40, 35, 70);
    let mut random = Random::new(1);
    let mut next = || Complex::new(random.symmetric(), random.symmetric());
    let v = Batch::<Complex<f64>>::from_fn(n, count, 1, |_, _, _| next());
    // The factor that makes I - tau v v^H unitary.
    let taus: Vec<Complex<f64>> = (0..count)
        .map(|k| {
            let square: f64 = 1.0 + (k + 1..n).map(|i| v.get(0, i, k).norm_sqr()).sum::<f64>();
            Complex::from(2.0 / square)
        })
        .collect();
    let c = Batch::<Complex<f64>>::from_fn(n, columns, 1, |_, _, _| next());
    let device = (DeviceBatch::upload(&queue, &v).unwrap(), queue.upload(&taus).unwrap());
    let mut out = DeviceBatch::upload(&queue, &c).unwrap();
    ormqr::solve(&queue, &device.0, &device.1, &mut out, &ormqr::Options::default()).unwrap();
    let got = out.download(&queue).unwrap();
    let options = ormqr::Options { adjoint: true, ..Default::default() };
    ormqr::solve(&queue, &device.0, &device.1, &mut out, &options).unwrap();
    let back = out.download(&queue).unwrap();
    for j in 0..columns {
        let mut x: Vec<Complex<f64>> = (0..n).map(|i| c.get(0, i, j)).collect();
        for k in (0..count).rev() {
            let component = |i: usize| if i == k { Complex::from(1.0) } else { v.get(0, i, k) };
            let dot: Complex<f64> = (k..n).map(|i| component(i).conj() * x[i]).sum();
            (k..n).for_each(|i| x[i] -= component(i) * taus[k] * dot);
        }
        for (i, x) in x.iter().enumerate() {
            assert!((got.get(0, i, j) - x).norm() < 1e-12, "({i}, {j})");
            assert!((back.get(0, i, j) - c.get(0, i, j)).norm() < 1e-12, "({i}, {j}) back");
        }
    }
}

/// Shapes that no tile, panel or word of 16 bytes divides, in columns that words of 16 bytes begin and others; what is not
/// read is NaN, and gaps stay.
#[test]
fn reflectors_of_odd_shapes() {
    let queue = Queue::simt(2);
    let at =
        |n, columns, count, shift, gaps| Case { n, columns, count, shift, gaps, adjoint: false, nb: None };
    for case in [
        at(1, 1, 1, 0, [0, 0]),
        at(2, 63, 2, 1, [2, 2]),
        at(33, 65, 33, 0, [3, 0]),
        at(65, 63, 5, 1, [3, 3]),
        at(67, 1, 66, 1, [1, 1]),
        at(70, 66, 65, 0, [2, 6]),
        at(34, 3, 97, 1, [0, 2]),
        at(66, 2, 33, 40, [3, 1]),
    ] {
        let adjoint = case.n % 2 == 1;
        apply::<f32>(&queue, &Case { adjoint, ..case });
        apply::<Complex<f64>>(&queue, &Case { adjoint, ..case });
        for nb in [32, 64] {
            apply::<f64>(&queue, &Case { adjoint, nb: Some(nb), ..case });
            apply::<Complex<f32>>(&queue, &Case { adjoint, nb: Some(nb), ..case });
        }
    }
}

/// The query is what a solve takes: where one launch reduces all columns, no more than a scale an item.
#[test]
fn workspaces_are_what_is_taken() {
    for (n, route, scales_only) in [
        (40, None, true),
        (40, PANELS, false),
        (40, Some("blocked:tail=0,grid=2,nb=9"), false),
        (67, Some("blocked:tail=64"), false),
    ] {
        let queue = Queue::simt(1);
        let pin = route.map(|route| Pin::parse(&sytrd::OPERATION, route).unwrap());
        let problem = sytrd::Problem { dtype: f32::DTYPE, n, batch: 1, uplo: Uplo::Lower };
        let (_, plan) = sytrd::plan(&problem, &Target::of(&queue), pin.as_ref()).unwrap();
        let items = [Random::new(2).hermitian(n)];
        let host = support::poisoned::<f32>(&items, Uplo::Lower);
        let mut a = DeviceBatch::upload(&queue, &host).unwrap();
        let mut buffers = reduced::Buffers::<f32>::alloc(&queue, n, 1);
        let before = queue.memory_use().live;
        let options = sytrd::Options { route: pin, ..Default::default() };
        sytrd::solve(&queue, &mut a, buffers.out(), &options).unwrap();
        let bytes = plan.workspace_bytes;
        assert_eq!(queue.memory_use().live - before, bytes as u64, "{n} {route:?}");
        assert_eq!(bytes == batchlas::workspace_bytes::<f32>(1), scales_only, "{n} {route:?}: {bytes}");
    }
}
