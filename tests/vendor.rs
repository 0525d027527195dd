//! The vendor's solvers and the kernels that surround them: the kernels on the
//! executor, all of it on a GPU (`BATCHLAS_REQUIRE_GPU=1`,
//! `BATCHLAS_REQUIRE_VENDOR=1` make a missing one a failure).
#![cfg(feature = "vendor")]

use batchlas::vendor::{Routine, SyevPlan, VendorScalar, available, libraries, syev};
use batchlas::{Batch, Complex, Device, DeviceBatch, Jobz, Layout, Queue, Scalar, Uplo};

/// Numbers in [-1, 1) by a fixed sequence.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
}

/// What differs between the four types.
trait Type: VendorScalar {
    fn of(re: f64, im: f64) -> Self;
    fn parts(self) -> (f64, f64);
    fn real(x: <Self as Scalar>::Real) -> f64;
}
macro_rules! types {
    ($($real:ty),*) => { $(
        impl Type for $real {
            fn of(re: f64, _: f64) -> Self { re as $real }
            fn parts(self) -> (f64, f64) { (self as f64, 0.0) }
            fn real(x: $real) -> f64 { x as f64 }
        }
        impl Type for Complex<$real> {
            fn of(re: f64, im: f64) -> Self { Complex::new(re as $real, im as $real) }
            fn parts(self) -> (f64, f64) { (self.re as f64, self.im as f64) }
            fn real(x: $real) -> f64 { x as f64 }
        }
    )* };
}
types!(f32, f64);

/// Hermitian items whose unread triangle, and whose imaginary part of the diagonal, is NaN.
fn matrices<T: Type>(n: usize, batch: usize, uplo: Uplo) -> Batch<T> {
    let mut numbers = Numbers(n as u64 + 77);
    Batch::from_fn(n, n, batch, |_, i, j| {
        let read = if uplo == Uplo::Lower { i >= j } else { i <= j };
        let (re, im) = (numbers.next(), numbers.next());
        if !read {
            T::of(f64::NAN, f64::NAN)
        } else if i == j {
            T::of(re, f64::NAN)
        } else {
            T::of(re, im)
        }
    })
}

/// Element (i, j) of the Hermitian matrix that the triangle stands for.
fn element<T: Type>(a: &Batch<T>, uplo: Uplo, item: usize, i: usize, j: usize) -> Complex<f64> {
    let read = if uplo == Uplo::Lower { i >= j } else { i <= j };
    let (re, im) = if read { a.get(item, i, j).parts() } else { a.get(item, j, i).parts() };
    Complex::new(
        re,
        if i == j {
            0.0
        } else if read {
            im
        } else {
            -im
        },
    )
}

#[cfg(feature = "simt")]
mod on_the_executor {
    use super::*;
    use cuda_std::launch::LaunchConfig;
    use kernels_pack::syev_pack::syev_pack;
    use kernels_pack::syev_unpack::syev_unpack;

    fn packs<T: Type>(n: usize, uplo: Uplo) {
        let queue = Queue::simt(n as u64);
        let (batch, threads) = (3, kernels_pack::threads(n as u32));
        let mut host = matrices::<T>(n, batch, uplo);
        let scale_down = 2.0_f64.powi(-40);
        for item in host.as_mut_slice().iter_mut() {
            let (re, im) = item.parts();
            *item = T::of(re * scale_down, im * scale_down);
        }
        let (i, j) = if uplo == Uplo::Lower { (n - 1, 0) } else { (0, n - 1) };
        host.set(1, i, j, T::of(f64::INFINITY, 0.0));
        let layout = Layout::new(n, n, n + 3, (n + 3) * n + 5, batch).unwrap();
        let a = DeviceBatch::upload_as(&queue, &host, layout).unwrap();
        let mut packed = queue.alloc::<T>(n * n * batch).unwrap();
        let mut scale = queue.alloc::<<T as Scalar>::Real>(batch).unwrap();
        let mut status = queue.alloc::<i32>(batch).unwrap();
        let call = syev_pack::call::<T>(
            a.buffer().view(),
            packed.view_mut(),
            scale.view_mut(),
            status.view_mut(),
            n as u32,
            a.ld() as u32,
            a.stride() as u64,
            u32::from(uplo == Uplo::Upper),
        )
        .unwrap();
        let shared = kernels_pack::pack_shared_bytes(threads, size_of::<<T as Scalar>::Real>() as u32);
        let config = LaunchConfig::new(batch as u32, threads).with_shared(shared);
        // SAFETY: the buffers hold the batch, and the executor ends the kernel before it returns.
        unsafe { queue.launch(config, &call) }.unwrap();

        assert_eq!(queue.download(&status).unwrap(), [0, -1, 0]);
        let (packed, scale) = (queue.download(&packed).unwrap(), queue.download(&scale).unwrap());
        for item in [0, 2] {
            let factor = T::real(scale[item]);
            assert_eq!(factor.log2().fract(), 0.0, "a power of two");
            let of_item = &packed[item * n * n..][..n * n];
            let largest =
                of_item.iter().map(|x| x.parts()).fold(0.0, |m: f64, (x, y)| m.max(x.abs()).max(y.abs()));
            assert!((1.0..2.0).contains(&largest), "{largest}");
            for (at, x) in of_item.iter().enumerate() {
                let (re, im) = x.parts();
                let expected = element(&host, uplo, item, at % n, at / n) * factor;
                assert_eq!(Complex::new(re, im), expected, "item {item}, element {at}");
            }
        }
        let identity = |at: usize| if at % n == at / n { (1.0, 0.0) } else { (0.0, 0.0) };
        assert!((0..n * n).all(|at| packed[n * n + at].parts() == identity(at)));
    }

    #[test]
    fn items_are_packed_screened_and_scaled() {
        for uplo in [Uplo::Lower, Uplo::Upper] {
            for n in [1, 2, 5, 8, 9, 33] {
                packs::<f32>(n, uplo);
                packs::<Complex<f64>>(n, uplo);
            }
        }
        packs::<f64>(17, Uplo::Lower);
        packs::<Complex<f32>>(17, Uplo::Upper);
    }

    fn unpacks<T: Type>(n: usize) {
        let queue = Queue::simt(3);
        let mut numbers = Numbers(5);
        let vectors: Vec<T> = (0..3 * n * n).map(|_| T::of(numbers.next(), numbers.next())).collect();
        let packed = queue.upload(&vectors).unwrap();
        let real = |x: f64| Scalar::re(T::of(x, 0.0));
        let scale = queue.upload(&[real(4.0), real(1.0), real(0.5)]).unwrap();
        let info = queue.upload(&[0, 0, n as i32 + 1]).unwrap();
        let layout = Layout::new(n, n, n + 1, (n + 1) * n + 2, 3).unwrap();
        let mut a = DeviceBatch::upload_as(&queue, &Batch::<T>::zeros(n, n, 3), layout).unwrap();
        let mut w = queue.upload(&vec![real(8.0); 3 * n]).unwrap();
        let mut status = queue.upload(&[0, -1, 0]).unwrap();
        let call = syev_unpack::call::<T, true>(
            packed.view(),
            scale.view(),
            info.view(),
            a.buffer_mut().view_mut(),
            w.view_mut(),
            status.view_mut(),
            n as u32,
            layout.ld() as u32,
            layout.stride() as u64,
        )
        .unwrap();
        let config = LaunchConfig::new(3, kernels_pack::threads(n as u32));
        // SAFETY: as above.
        unsafe { queue.launch(config, &call) }.unwrap();

        assert_eq!(queue.download(&status).unwrap(), [0, -1, n as i32]);
        let values: Vec<f64> = queue.download(&w).unwrap().into_iter().map(T::real).collect();
        assert!(values[..n].iter().all(|&x| x == 2.0));
        assert!(values[n..].iter().all(|x| x.is_nan()), "one is bad, one did not converge");
        let out = a.download(&queue).unwrap();
        for j in 0..n {
            let norm = |x: T| x.parts().0.hypot(x.parts().1);
            let before = &vectors[j * n..][..n];
            let largest = (0..n).max_by(|&x, &y| norm(before[x]).total_cmp(&norm(before[y]))).unwrap();
            let (re, im) = out.get(0, largest, j).parts();
            assert!(re > 0.0 && im == 0.0, "column {j}: {re} {im}");
            for (i, &x) in before.iter().enumerate() {
                assert!((norm(out.get(0, i, j)) - norm(x)).abs() < 1e-6, "moduli stay");
            }
        }
        for item in [1, 2] {
            assert!((0..n * n).all(|at| out.get(item, at % n, at / n).parts().0.is_nan()), "item {item}");
        }
    }

    #[test]
    fn results_come_back_in_our_conventions() {
        for n in [1, 2, 8, 9, 33] {
            unpacks::<f64>(n);
            unpacks::<Complex<f32>>(n);
        }
        unpacks::<f32>(16);
        unpacks::<Complex<f64>>(16);
    }
}

/// A queue on a GPU with cuSOLVER beside it, or `None` with the reason on stderr.
fn vendor() -> Option<Queue> {
    let required = |name: &str| std::env::var_os(name).is_some_and(|value| value == "1");
    let queue = match Queue::new(Device::Cuda(0)) {
        Ok(queue) => queue,
        Err(error) if required("BATCHLAS_REQUIRE_GPU") => panic!("BATCHLAS_REQUIRE_GPU=1, but {error}"),
        Err(error) => {
            eprintln!("skipped: {error}");
            return None;
        }
    };
    println!("{:?}", libraries());
    match available(Routine::Xsyev) {
        Ok(()) => Some(queue),
        Err(reason) if required("BATCHLAS_REQUIRE_VENDOR") => {
            panic!("BATCHLAS_REQUIRE_VENDOR=1, but {reason}")
        }
        Err(reason) => {
            eprintln!("skipped: {reason}");
            None
        }
    }
}

struct Solved<T: Scalar> {
    values: Vec<f64>,
    vectors: Batch<T>,
    status: Vec<i32>,
}

fn solve<T: Type>(queue: &Queue, a: &Batch<T>, jobz: Jobz, uplo: Uplo, routine: Routine) -> Solved<T> {
    let (n, batch) = (a.rows(), a.batch());
    let plan = SyevPlan::new(<T as Scalar>::DTYPE, n, batch, jobz, uplo, routine).unwrap();
    let layout = Layout::new(n, n, n + 1, (n + 1) * n + 3, batch).unwrap();
    let mut matrices = DeviceBatch::upload_as(queue, a, layout).unwrap();
    let mut w = queue.alloc::<<T as Scalar>::Real>(n * batch).unwrap();
    let mut status = queue.alloc::<i32>(batch).unwrap();
    syev(queue, &plan, &mut matrices, &mut w, &mut status).unwrap();
    Solved {
        values: queue.download(&w).unwrap().into_iter().map(T::real).collect(),
        vectors: matrices.download(queue).unwrap(),
        status: queue.download(&status).unwrap(),
    }
}

/// || A V - V L || over n eps || A || of one item.
fn residual<T: Type>(a: &Batch<T>, uplo: Uplo, solved: &Solved<T>, item: usize) -> f64 {
    let n = a.rows();
    let (mut error, mut norm) = (0.0, 0.0);
    let vector = |i: usize, k: usize| {
        let (re, im) = solved.vectors.get(item, i, k).parts();
        Complex::new(re, im)
    };
    for i in 0..n {
        for k in 0..n {
            let product: Complex<f64> = (0..n).map(|j| element(a, uplo, item, i, j) * vector(j, k)).sum();
            error += (product - vector(i, k) * solved.values[item * n + k]).norm_sqr();
            norm += element(a, uplo, item, i, k).norm_sqr();
        }
    }
    (error / norm).sqrt() / (n as f64 * <T as Scalar>::DTYPE.epsilon())
}

fn check<T: Type>(queue: &Queue, n: usize, batch: usize, uplo: Uplo, routine: Routine) {
    let mut a = matrices::<T>(n, batch, uplo);
    let clean = solve(queue, &a, Jobz::V, uplo, routine);
    assert!(clean.status.iter().all(|&status| status == 0));
    for item in [0, batch / 2, batch - 1] {
        let figure = residual(&a, uplo, &clean, item);
        assert!(figure <= 10.0, "{routine} {} n={n} item {item}: residual {figure}", <T as Scalar>::DTYPE);
        assert!(clean.values[item * n..][..n].is_sorted());
    }
    let bad = batch / 2;
    a.set(bad, 0, 0, T::of(f64::NAN, 0.0));
    let spoilt = solve(queue, &a, Jobz::V, uplo, routine);
    assert_eq!(spoilt.status.iter().filter(|&&status| status != 0).count(), 1);
    assert_eq!(spoilt.status[bad], -1);
    assert!(spoilt.values[bad * n..][..n].iter().all(|x| x.is_nan()));
    let values = solve(queue, &a, Jobz::N, uplo, routine).values;
    let tolerance = 10.0 * n as f64 * <T as Scalar>::DTYPE.epsilon();
    for item in (0..batch).filter(|&item| item != bad) {
        for k in 0..n {
            let (x, y) = (values[item * n + k], clean.values[item * n + k]);
            assert!((x - y).abs() <= tolerance * n as f64, "{x} {y}");
            assert_eq!(spoilt.values[item * n + k], clean.values[item * n + k], "a bad item spoils no other");
        }
    }
}

#[test]
fn cusolver_keeps_our_promises() {
    let Some(queue) = vendor() else { return };
    for routine in Routine::ALL {
        for n in [1, 2, 9, 32, 65] {
            check::<f32>(&queue, n, 7, Uplo::Lower, routine);
            check::<f64>(&queue, n, 7, Uplo::Upper, routine);
            check::<Complex<f32>>(&queue, n, 7, Uplo::Upper, routine);
            check::<Complex<f64>>(&queue, n, 7, Uplo::Lower, routine);
        }
        // Past the hidden limit of one call.
        check::<f32>(&queue, 4, 70_001, Uplo::Lower, routine);
    }
    let empty = solve(&queue, &Batch::<f64>::zeros(0, 0, 5), Jobz::V, Uplo::Lower, Routine::Xsyev);
    assert!(empty.values.is_empty());
}
