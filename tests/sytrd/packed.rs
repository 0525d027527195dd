//! The last columns of a reduction, or all of them, by one launch.

use batchlas::ops::{Target, sytrd};
use batchlas::routes::Pin;
use batchlas::{Arch, Complex, Device, Dtype, Queue, Scalar, Uplo};
use batchlas_bench::Matrix;
use batchlas_bench::random::Random;

use crate::reduced::{check, reduce};
use crate::support;

/// Random items of one order, whose parity names the triangle.
fn random<T: Scalar>(queue: &Queue, (n, batch): (usize, usize), tail: usize) {
    let mut random = Random::new(n as u64);
    let items: Vec<Matrix> = (0..batch).map(|_| random.hermitian(n)).collect();
    let route = format!("blocked:tail={tail}");
    let uplo = if n % 2 == 0 { Uplo::Upper } else { Uplo::Lower };
    let what = format!("{} n={n} {route} {uplo}", T::DTYPE);
    let reduced = reduce::<T>(queue, &items, uplo, Some(&route));
    assert_eq!(reduced.status, vec![0; batch], "{what}");
    check(&what, &items, &reduced);
}

/// Classes of input, as one batch.
fn classes<T: Scalar>(queue: &Queue, n: usize, tail: usize) {
    let mut random = Random::new(7);
    let graded: Vec<f64> = (0..n).map(|k| 0.8f64.powi(k as i32)).collect();
    let clustered: Vec<f64> = (0..n).map(|k| if k % 3 == 0 { 1.0 } else { -2.0 + 1e-9 * k as f64 }).collect();
    let (tiny, huge) = if T::DTYPE.real() == Dtype::F32 { (1e-36, 1e36) } else { (1e-300, 1e300) };
    let complex = T::DTYPE.is_complex();
    let mut items = vec![
        Matrix::zeros(n),
        Matrix::diagonal(&graded),
        random.with_spectrum(&clustered, complex),
        random.hermitian(n).scaled(tiny),
        random.hermitian(n).scaled(huge),
    ];
    if queue.device() != Device::Simt {
        items.extend([Matrix::from_fn(n, |_, _| 1.0), random.with_spectrum(&graded, complex)]);
    }
    let route = format!("blocked:tail={tail}");
    for uplo in [Uplo::Lower, Uplo::Upper] {
        // One of them is enough for the executor, which is slow.
        if queue.device() != Device::Simt || uplo == Uplo::Lower {
            let reduced = reduce::<T>(queue, &items, uplo, Some(&route));
            assert_eq!(reduced.status, vec![0; items.len()]);
            check(&format!("classes {} n={n} {route} {uplo}", T::DTYPE), &items, &reduced);
        }
    }
}

/// The plan with a tail, or why there is none.
fn plan(dtype: Dtype, target: &Target, tail: usize) -> Result<sytrd::Plan, String> {
    let pin = Pin::parse(&sytrd::OPERATION, &format!("blocked:tail={tail}")).expect("a route");
    let problem = sytrd::Problem { dtype, n: 400, batch: 7, uplo: Uplo::Lower };
    sytrd::plan(&problem, target, Some(&pin)).map(|(_, plan)| plan).map_err(|error| error.to_string())
}

/// Whether a device has the shared memory for it.
fn fits(dtype: Dtype, target: &Target, tail: usize) -> bool {
    plan(dtype, target, tail).is_ok()
}

/// Tiles, vectors and parts lie so that a warp's access takes no more passes than its words need, but for some of the few where
/// sums of columns join those of rows.
fn has_few_conflicts(queue: &Queue) {
    let launches = queue.take_launches();
    let record = launches.iter().find(|record| record.entry.starts_with("sytd2_packed")).expect("a launch");
    let (extra, all) = (record.counters.bank_conflicts, record.counters.shared_warp_accesses);
    assert!(all > 0 && extra * 20 < all, "{}: {extra} extra passes of {all} accesses", record.entry);
}

#[test]
fn all_of_a_matrix() {
    let queues = [1, 2, 3, 4].map(Queue::simt);
    random::<f32>(&queues[0], (130, 2), 192);
    random::<f64>(&queues[1], (129, 1), 160);
    random::<Complex<f32>>(&queues[2], (130, 1), 224);
    random::<Complex<f64>>(&queues[3], (129, 1), 160);
    queues.iter().for_each(has_few_conflicts);
}

/// Both ends of the small forms and what lies between, in all types.
#[test]
fn small_orders() {
    for n in [1usize, 2, 33, 64, 65, 96, 97, 128] {
        let queues = [1, 2, 3, 4].map(|seed| Queue::simt(seed + n as u64));
        let (shape, tail) = ((n, 1), n.next_multiple_of(32).max(64));
        random::<f32>(&queues[0], shape, tail);
        random::<f64>(&queues[1], shape, tail);
        random::<Complex<f32>>(&queues[2], shape, tail);
        random::<Complex<f64>>(&queues[3], shape, tail);
        queues.iter().filter(|_| n > 32).for_each(has_few_conflicts);
    }
}

/// Panels, then what they leave: 161 columns and 168; 38 of a block of one warp, and of two; 91 and 128.
#[test]
fn what_panels_leave() {
    random::<f32>(&Queue::simt(1), (193, 1), 192);
    random::<f32>(&Queue::simt(2), (200, 1), 192);
    random::<f32>(&Queue::simt(3), (70, 2), 64);
    random::<Complex<f64>>(&Queue::simt(4), (70, 1), 64);
    random::<f64>(&Queue::simt(5), (123, 1), 96);
    random::<Complex<f32>>(&Queue::simt(6), (160, 1), 128);
}

#[test]
fn every_class() {
    classes::<f32>(&Queue::simt(3), 129, 160);
    classes::<f32>(&Queue::simt(4), 43, 64);
    classes::<f64>(&Queue::simt(5), 66, 96);
    classes::<Complex<f32>>(&Queue::simt(6), 37, 64);
    classes::<Complex<f64>>(&Queue::simt(7), 65, 96);
}

/// A bad item leaves the other its bits, which are those that it has alone and elsewhere in a batch.
fn bad_beside_good<T: Scalar>(n: usize, tail: usize) {
    let queue = Queue::simt(5);
    let route = format!("blocked:tail={tail}");
    let mut random = Random::new(3);
    let good = random.hermitian(n);
    let mut bad = random.hermitian(n);
    bad.set(n - 1, 4, if n.is_multiple_of(2) { f64::NAN } else { f64::INFINITY }, 0.0);
    let alone = reduce::<T>(&queue, std::slice::from_ref(&good), Uplo::Upper, Some(&route));
    let both = reduce::<T>(&queue, &[bad, good], Uplo::Upper, Some(&route));
    assert_eq!((alone.status[0], &both.status[..]), (0, &[-1, 0][..]), "{n}");
    assert_eq!(alone.bits_of(0), both.bits_of(1), "{n}");
    let nan = |x: &<T as Scalar>::Real| x.to_string() == "NaN";
    assert!(both.d[..n].iter().chain(&both.e[..n - 1]).all(nan), "{n}");
}

#[test]
fn bad_items_and_positions() {
    bad_beside_good::<f32>(133, 160);
    bad_beside_good::<f32>(48, 64);
    bad_beside_good::<Complex<f32>>(63, 64);
    bad_beside_good::<f64>(66, 96);
    bad_beside_good::<Complex<f64>>(67, 96);
}

/// Where nothing is asked for, it is the most that fits.
#[test]
fn the_usual_tail() {
    for (dtype, most) in
        [(Dtype::F32, [320, 320, 192]), (Dtype::F64, [256, 224, 192]), (Dtype::C64, [160, 128, 96])]
    {
        for (arch, most) in [90, 80, 89].into_iter().zip(most) {
            let problem = sytrd::Problem { dtype, n: 400, batch: 7, uplo: Uplo::Lower };
            let (_, plan) = sytrd::plan(&problem, &Target::assumed(Arch(arch)), None).expect("a plan");
            assert_eq!(plan.params.get("tail"), Some(most), "{dtype} sm_{arch}");
        }
    }
}

/// What fits which device, by types; what there is no kernel for is an error that says what there is.
#[test]
fn tails_that_fit() {
    for (dtype, sm_90, sm_80, sm_89) in [
        (Dtype::F32, 320, 320, 192),
        (Dtype::F64, 256, 224, 192),
        (Dtype::C32, 256, 224, 192),
        (Dtype::C64, 160, 128, 96),
    ] {
        for (arch, most) in [(90, sm_90), (80, sm_80), (89, sm_89)] {
            for tail in [64, 96, 128, 160, 192, 224, 256, 320] {
                let got = plan(dtype, &Target::assumed(Arch(arch)), tail);
                let is_known = match dtype {
                    Dtype::F32 => tail != 224,
                    Dtype::C64 => tail <= 160,
                    _ => tail <= 256,
                };
                match got {
                    Ok(plan) => {
                        assert!(is_known && tail <= most, "{dtype} sm_{arch} {tail}");
                        assert_eq!(plan.params.get("tail"), Some(tail as u32));
                    }
                    Err(error) => {
                        assert!(!is_known || tail > most, "{dtype} sm_{arch} {tail}: {error}");
                        let why = if is_known { "bytes of shared memory" } else { "one of 64, 96, 128, 160" };
                        assert!(error.contains(why), "{dtype} sm_{arch} {tail}: {error}");
                    }
                }
            }
        }
    }
}

/// Around the ends of all forms, between them, and past the largest.
const ORDERS: [usize; 27] = [
    33, 48, 63, 64, 65, 95, 96, 97, 127, 128, 129, 130, 159, 160, 161, 192, 193, 200, 225, 255, 256, 257,
    300, 320, 321, 384, 513,
];

macro_rules! on_a_gpu {
    ($($dtype:ident = $t:ty, [$($tail:literal),*];)*) => { $(
        mod $dtype {
            use super::*;
            #[test]
            fn every_order() {
                let Some(queue) = support::queue(Device::Cuda(0)) else { return };
                // What a smaller tail has room for is the same launch as with that one.
                let mut previous = 0;
                for tail in [$($tail),*].into_iter().filter(|tail| fits(<$t>::DTYPE, &Target::of(&queue), *tail)) {
                    for n in ORDERS.into_iter().filter(|n| *n > previous) {
                        random::<$t>(&queue, (n, 5), tail);
                    }
                    previous = tail;
                }
            }
            #[test]
            fn every_class() {
                let Some(queue) = support::queue(Device::Cuda(0)) else { return };
                for tail in [$($tail),*].into_iter().filter(|tail| fits(<$t>::DTYPE, &Target::of(&queue), *tail)) {
                    classes::<$t>(&queue, 150, tail);
                    classes::<$t>(&queue, tail, tail);
                    classes::<$t>(&queue, tail + 40, tail);
                }
            }
        }
    )* };
}
mod cuda {
    use super::*;
    on_a_gpu! {
        f32 = f32, [64, 96, 128, 160, 192, 256, 320];
        f64 = f64, [64, 96, 128, 160, 192, 224, 256];
        c32 = Complex<f32>, [64, 96, 128, 160, 192, 224, 256];
        c64 = Complex<f64>, [64, 96, 128, 160];
    }
}
