//! Launches every kernel of the workspace on a queue, and compares what comes
//! out. A new kernel crate gets a [`Crate`] here, a new kernel a launch.
#![allow(dead_code)]

use batchlas::ops::syev::{OPERATION, Options, solve};
use batchlas::routes::Pin;
use batchlas::{Complex, DeviceBatch, Dtype, Jobz, Layout, Queue, Real, Scalar, Uplo};
use cuda_std::launch::{KernelInfo, LaunchConfig};
use cuda_std::scalar::Scalar as DeviceScalar;
use kernels_pack::syev_pack::syev_pack;
use kernels_pack::syev_unpack::syev_unpack;

use crate::support::{self, random::Random};

#[path = "gemm.rs"]
mod gemm;
#[path = "packed.rs"]
mod packed;
#[path = "panel.rs"]
mod panel;
#[path = "stebz.rs"]
mod stebz;
#[path = "stedc.rs"]
mod stedc;
#[path = "syr2k.rs"]
mod syr2k;
#[path = "tridiag.rs"]
mod tridiag;

/// What launches the kernels of a crate.
pub type Drive = fn(&Queue) -> Vec<Outcome>;

/// One kernel crate: its folder in device/kernels, its kernels, and what launches all of them.
pub struct Crate {
    pub folder: &'static str,
    pub kernels: &'static [&'static KernelInfo],
    pub drive: Drive,
}

pub static BLOCK_SYEV: Crate =
    Crate { folder: "block_syev", kernels: kernels_block_syev::KERNELS, drive: block_syev };
pub static GEMM: Crate = Crate { folder: "gemm", kernels: kernels_gemm::KERNELS, drive: gemm::gemm };
pub static SMALL_SYEV: Crate =
    Crate { folder: "small_syev", kernels: kernels_small_syev::KERNELS, drive: small_syev };
pub static STEBZ: Crate = Crate { folder: "stebz", kernels: kernels_stebz::KERNELS, drive: stebz::stebz };
pub static STEDC: Crate = Crate { folder: "stedc", kernels: kernels_stedc::KERNELS, drive: stedc::stedc };
pub static TRIDIAG: Crate =
    Crate { folder: "tridiag", kernels: kernels_tridiag::KERNELS, drive: tridiag::tridiag };
pub static PANEL: Crate = Crate { folder: "panel", kernels: kernels_panel::KERNELS, drive: panel::panel };
pub static PACKED: Crate =
    Crate { folder: "packed", kernels: kernels_packed::KERNELS, drive: packed::packed };
pub static PACK: Crate = Crate { folder: "pack", kernels: kernels_pack::KERNELS, drive: pack };

/// What came out of one problem.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    pub problem: String,
    /// Numbers that two devices compute with errors of this size.
    pub error: f64,
    /// By name: statuses, values, vectors. NaN is replaced, so that it equals itself.
    pub arrays: Vec<(&'static str, Vec<f64>)>,
}

fn numbers<T: Scalar>(array: &[T]) -> Vec<f64> {
    let parts = array.iter().flat_map(|x| [x.re().widen(), x.im().widen()]);
    parts.map(|x| if x.is_nan() { f64::MAX } else { x }).collect()
}

fn integers(array: &[i32]) -> Vec<f64> {
    array.iter().copied().map(f64::from).collect()
}

/// Compares arrays; a failure names the first element that differs.
pub fn same(one: &Outcome, other: &Outcome, equal: impl Fn(f64, f64) -> bool) {
    for ((name, x), (_, y)) in one.arrays.iter().zip(&other.arrays) {
        assert_eq!(x.len(), y.len());
        if let Some(at) = (0..x.len()).find(|&at| !equal(x[at], y[at])) {
            panic!("{}: {name}[{at}] is {:e} here, {:e} there", one.problem, x[at], y[at]);
        }
    }
}

/// The families for n <= 32: each number of lanes and each order that has a kernel of its own.
fn small_syev(queue: &Queue) -> Vec<Outcome> {
    let mut outcomes = vec![];
    for jobz in [Jobz::V, Jobz::N] {
        outcomes.extend(all_orders::<f32>(queue, jobz));
        outcomes.extend(all_orders::<f64>(queue, jobz));
        outcomes.extend(all_orders::<Complex<f32>>(queue, jobz));
        outcomes.extend(all_orders::<Complex<f64>>(queue, jobz));
    }
    outcomes
}

/// The family for n <= 128: each padded order has a kernel of its own. One item beside the bad one.
fn block_syev(queue: &Queue) -> Vec<Outcome> {
    let mut outcomes = vec![];
    for jobz in [Jobz::V, Jobz::N] {
        for (n, warps) in [(34, 2), (33, 4), (65, 8)] {
            let family = format!("block:warps={warps}");
            outcomes.push(solved::<f32>(queue, &family, n, 2, jobz));
            outcomes.push(solved::<f64>(queue, &family, n, 2, jobz));
            outcomes.push(solved::<Complex<f32>>(queue, &family, n, 2, jobz));
        }
        for (n, warps) in [(34, 4), (33, 8), (65, 8)] {
            outcomes.push(solved::<Complex<f64>>(queue, &format!("block:warps={warps}"), n, 2, jobz));
        }
    }
    outcomes
}

fn all_orders<T: Scalar>(queue: &Queue, jobz: Jobz) -> Vec<Outcome> {
    let in_a_thread = match T::DTYPE {
        Dtype::F32 => 8,
        Dtype::F64 | Dtype::C32 => 6,
        Dtype::C64 => 4,
    };
    let mut outcomes = vec![];
    // More items than a block takes where they are small, so that the last block is not full.
    for n in 1..=in_a_thread {
        outcomes.push(solved::<T>(queue, "thread", n, 67, jobz));
    }
    for (n, batch) in [(3, 9), (7, 5), (15, 3), (31, 2)] {
        outcomes.push(solved::<T>(queue, "cta", n, batch, jobz));
    }
    for (n, batch) in [(7, 33), (15, 17), (31, 9)] {
        outcomes.push(solved::<T>(queue, "cta_fused", n, batch, jobz));
    }
    for (n, batch) in [(3, 9), (7, 5), (15, 3), (32, 2)] {
        outcomes.push(solved::<T>(queue, "jacobi", n, batch, jobz));
    }
    outcomes
}

/// A batch with one bad item; the other ones have eigenvalues 1 apart. Orders alternate between the
/// triangles, and between items with and without gaps.
fn solved<T: Scalar>(queue: &Queue, family: &str, n: usize, batch: usize, jobz: Jobz) -> Outcome {
    let uplo = if n.is_multiple_of(2) { Uplo::Upper } else { Uplo::Lower };
    let gap = if n % 3 == 1 { 2 } else { 0 };
    let layout = Layout::new(n, n, n + gap, (n + gap) * n + gap, batch).expect("a layout");
    let problem = format!("{family} {} n={n} batch={batch} {jobz} {uplo} gap={gap}", T::DTYPE);

    let mut random = Random::new((n * batch) as u64);
    let spectrum: Vec<f64> = (0..n).map(|k| k as f64 - n as f64 / 3.3).collect();
    let items: Vec<_> = (0..batch).map(|_| random.with_spectrum(&spectrum, T::DTYPE.is_complex())).collect();
    let mut host = support::poisoned::<T>(&items, uplo);
    host.set(1, n - 1, n - 1, T::nan());

    let mut a = DeviceBatch::upload_as(queue, &host, layout).expect("an upload");
    let mut w = queue.alloc::<T::Real>(n * batch).expect("memory");
    let mut status = queue.alloc::<i32>(batch).expect("memory");
    let route = Some(Pin::parse(&OPERATION, family).expect("a family"));
    let options = Options { jobz, uplo, route };
    solve(queue, &mut a, &mut w, &mut status, &options).unwrap_or_else(|e| panic!("{problem}: {e}"));

    let status = queue.download(&status).expect("a download");
    assert!((0..batch).all(|item| status[item] == if item == 1 { -1 } else { 0 }), "{problem}: {status:?}");
    let values = numbers(&queue.download(&w).expect("a download"));
    let mut arrays = vec![("status", integers(&status)), ("w", values)];
    if jobz == Jobz::V {
        arrays.push(("v", numbers(a.download(queue).expect("a download").as_slice())));
    }
    // Approximate reciprocal roots differ by ulps; the gaps of 1 keep the vectors from differing by more.
    Outcome { problem, error: 8.0 * (n * n) as f64 * T::DTYPE.epsilon(), arrays }
}

/// Both halves of a scalar, the host's and the device's.
trait KernelScalar: Scalar<Real: cuda_std::math::Real> + DeviceScalar<Real = <Self as Scalar>::Real> {}
impl<T: Scalar<Real: cuda_std::math::Real> + DeviceScalar<Real = <T as Scalar>::Real>> KernelScalar for T {}

/// The kernels around the vendor's routine, which has no part in it here.
fn pack(queue: &Queue) -> Vec<Outcome> {
    let mut outcomes = panel::reductions(queue, 3, Some("blocked:tail=0"));
    outcomes.push(solved::<Complex<f32>>(queue, "blocked", 5, 3, Jobz::V));
    outcomes.push(solved::<Complex<f64>>(queue, "blocked", 5, 3, Jobz::V));
    for (n, uplo) in [(5, Uplo::Lower), (9, Uplo::Upper)] {
        outcomes.extend(packed_and_back::<f32>(queue, n, uplo));
        outcomes.extend(packed_and_back::<f64>(queue, n, uplo));
        outcomes.extend(packed_and_back::<Complex<f32>>(queue, n, uplo));
        outcomes.extend(packed_and_back::<Complex<f64>>(queue, n, uplo));
    }
    outcomes
}

fn packed_and_back<T: KernelScalar>(queue: &Queue, n: usize, uplo: Uplo) -> Vec<Outcome> {
    let (batch, threads) = (3, kernels_pack::threads(n as u32));
    let mut random = Random::new(n as u64);
    let items: Vec<_> = (0..batch).map(|_| random.hermitian(n)).collect();
    let mut host = support::poisoned::<T>(&items, uplo);
    host.set(1, 0, 0, T::nan());

    let layout = Layout::new(n, n, n + 1, (n + 1) * n + 2, batch).expect("a layout");
    let mut a = DeviceBatch::upload_as(queue, &host, layout).expect("an upload");
    let (ld, stride) = (layout.ld() as u32, layout.stride() as u64);
    let mut packed = queue.alloc::<T>(n * n * batch).expect("memory");
    let mut scale = queue.alloc::<<T as Scalar>::Real>(batch).expect("memory");
    let mut status = queue.alloc::<i32>(batch).expect("memory");
    let upper = u32::from(uplo == Uplo::Upper);
    let (from, to) = (a.buffer().view(), packed.view_mut());
    let pack =
        syev_pack::call::<T>(from, to, scale.view_mut(), status.view_mut(), n as u32, ld, stride, upper);
    let real_bytes = size_of::<<T as Scalar>::Real>() as u32;
    let config = LaunchConfig::new(batch as u32, threads);
    let shared = kernels_pack::pack_shared_bytes(threads, real_bytes);
    // SAFETY: the buffers hold the batch and live until the downloads have waited for the kernel.
    unsafe { queue.launch(config.with_shared(shared), &pack.expect("an entry")) }.expect("no finding");

    let mut arrays = vec![
        ("status", integers(&queue.download(&status).expect("a download"))),
        ("packed", numbers(&queue.download(&packed).expect("a download"))),
    ];
    // A routine that converged, and one that did not.
    let info = queue.upload(&[0, 0, n as i32 + 1]).expect("an upload");
    for vectors in [true, false] {
        let values: Vec<_> = (0..n * batch).map(|k| Scalar::re(T::from_f64(k as f64, 0.0))).collect();
        let mut w = queue.upload(&values).expect("an upload");
        let mut status = queue.upload(&[0, -1, 0]).expect("an upload");
        let (from, to) = (packed.view(), a.buffer_mut().view_mut());
        let (scale, info, w_view, status_view) = (scale.view(), info.view(), w.view_mut(), status.view_mut());
        let n = n as u32;
        let unpack = if vectors {
            syev_unpack::call::<T, true>(from, scale, info, to, w_view, status_view, n, ld, stride)
        } else {
            syev_unpack::call::<T, false>(from, scale, info, to, w_view, status_view, n, ld, stride)
        };
        // SAFETY: as above.
        unsafe { queue.launch(config, &unpack.expect("an entry")) }.expect("no finding");
        arrays.push(("status", integers(&queue.download(&status).expect("a download"))));
        arrays.push(("w", numbers(&queue.download(&w).expect("a download"))));
    }
    arrays.push(("v", numbers(a.download(queue).expect("a download").as_slice())));
    vec![Outcome { problem: format!("pack {} n={n} {uplo}", T::DTYPE), error: 0.0, arrays }]
}
