//! The family `vendor` of the operation `syev`.

use std::fmt;
use std::str::FromStr;

use cuda_std::launch::LaunchConfig;
use cuda_std::{Global, GlobalMut};
use cudarc::cusolver::sys::cusolverStatus_t as Status;
use kernels_pack::syev_pack::syev_pack;
use kernels_pack::syev_unpack::syev_unpack;

use super::cusolver::{self, Args, Bytes, Handle, Outcome};
use crate::error::{Error, Result};
use crate::memory::{DeviceBatch, DeviceBuffer, DeviceElement};
use crate::ops::{Jobz, Uplo};
use crate::queue::{Queue, Workspace, workspace_bytes};
use crate::scalar::{Dtype, Scalar};
use crate::trace::{Kind, Label};

/// XsyevBatched fails with an internal error past tens of thousands of items.
const MAX_CHUNK: usize = 16_384;
/// Packed bytes of a chunk: enough to fill a GPU, and little beside its memory.
const MAX_CHUNK_BYTES: usize = 1 << 31;

/// A batched eigensolver of cuSOLVER.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Routine {
    /// `cusolverDnXsyevBatched`.
    #[default]
    Xsyev,
    /// `cusolverDn<t>syevjBatched` and `heevjBatched`: Jacobi.
    Syevj,
}

impl Routine {
    /// Both.
    pub const ALL: [Routine; 2] = [Routine::Xsyev, Routine::Syevj];

    /// Its name in tables and pins.
    pub const fn word(self) -> &'static str {
        match self {
            Routine::Xsyev => "xsyev",
            Routine::Syevj => "syevj",
        }
    }

    /// The functions that it needs of the library.
    pub(super) fn functions(self) -> &'static [&'static str] {
        match self {
            Routine::Xsyev => &["cusolverDnXsyevBatched", "cusolverDnXsyevBatched_bufferSize"],
            Routine::Syevj => &[
                "cusolverDnSsyevjBatched",
                "cusolverDnDsyevjBatched",
                "cusolverDnCheevjBatched",
                "cusolverDnZheevjBatched",
            ],
        }
    }
}

impl fmt::Display for Routine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for Routine {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "xsyev" => Ok(Routine::Xsyev),
            "syevj" => Ok(Routine::Syevj),
            _ => Err(Error::argument(format!("unknown routine `{text}`: xsyev or syevj"))),
        }
    }
}

/// What a solve will do, fixed before it: no device is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyevPlan {
    /// The element type.
    pub dtype: Dtype,
    /// The order of each matrix.
    pub n: usize,
    /// Items.
    pub batch: usize,
    /// Whether vectors are wanted.
    pub jobz: Jobz,
    /// The triangle read.
    pub uplo: Uplo,
    /// The routine called.
    pub routine: Routine,
    /// Items of one call of the routine.
    pub chunk: usize,
}

impl SyevPlan {
    /// A plan for a shape.
    ///
    /// # Errors
    /// [`Error::Argument`] for an order past the routine's 32-bit sizes.
    pub fn new(
        dtype: Dtype,
        n: usize,
        batch: usize,
        jobz: Jobz,
        uplo: Uplo,
        routine: Routine,
    ) -> Result<Self> {
        let matrix_bytes = n.checked_mul(n).and_then(|elements| elements.checked_mul(dtype.bytes()));
        let Some(matrix_bytes) = matrix_bytes.filter(|_| n <= i32::MAX as usize) else {
            return Err(Error::argument(format!("matrices of order {n} pass the vendor's sizes")));
        };
        let chunk = (MAX_CHUNK_BYTES / matrix_bytes.max(1)).clamp(1, MAX_CHUNK).min(batch.max(1));
        Ok(SyevPlan { dtype, n, batch, jobz, uplo, routine, chunk })
    }

    fn args(&self, batch: usize, a: u64, w: u64) -> Args {
        Args { dtype: self.dtype, jobz: self.jobz, uplo: self.uplo, n: self.n, batch, a, w }
    }

    /// Bytes of the workspace beside the routine's own, which only the library tells.
    pub fn own_bytes(&self) -> usize {
        let matrices = self.chunk * self.n * self.n * self.dtype.bytes();
        let (scales, infos) = (self.chunk * self.dtype.real().bytes(), self.chunk);
        workspace_bytes::<u8>(matrices) + workspace_bytes::<u8>(scales) + workspace_bytes::<i32>(infos)
    }
}

/// A type that the vendor solves: the same on the host and in kernels.
pub trait VendorScalar:
    Scalar<Real: DeviceElement> + DeviceElement + cuda_std::scalar::Scalar<Real = <Self as Scalar>::Real>
{
}
impl VendorScalar for f32 {}
impl VendorScalar for f64 {}
impl VendorScalar for crate::Complex<f32> {}
impl VendorScalar for crate::Complex<f64> {}

/// Bytes of workspace that [`syev`] takes of its queue. Asks the library.
///
/// # Errors
/// [`Error::Unavailable`] where the routine cannot be called, or a refusal of the library.
pub fn syev_workspace_bytes(queue: &Queue, plan: &SyevPlan) -> Result<usize> {
    if plan.n == 0 || plan.batch == 0 {
        return Ok(0);
    }
    let own = routine_bytes(handle(queue, plan.routine)?, plan, plan.chunk)?;
    Ok(plan.own_bytes() + workspace_bytes::<u8>(own.device))
}

/// Solves a batch: eigenvalues ascending to `w`, vectors over `a` where the
/// plan wants them (else `a` stays), a status an item. Does not wait.
///
/// Only the triangle of the plan is read. A bad item gets NaN and status -1.
///
/// # Errors
/// [`Error::Argument`] where shapes and plan differ, [`Error::Unavailable`]
/// where the routine cannot be called, [`Error::OutOfMemory`] for the
/// workspace, or a refusal of the library.
pub fn syev<T: VendorScalar>(
    queue: &Queue,
    plan: &SyevPlan,
    a: &mut DeviceBatch<T>,
    w: &mut DeviceBuffer<<T as Scalar>::Real>,
    status: &mut DeviceBuffer<i32>,
) -> Result<()> {
    check_shapes(plan, a, w, status)?;
    queue.check_owns(a.buffer())?;
    queue.check_owns(w)?;
    queue.check_owns(status)?;
    if plan.n == 0 || plan.batch == 0 {
        return Ok(());
    }
    let handle = handle(queue, plan.routine)?;
    let bytes = routine_bytes(handle, plan, plan.chunk)?;
    let mut workspace = queue.workspace(plan.own_bytes() + workspace_bytes::<u8>(bytes.device))?;
    let chunk = Chunk::<T>::take(&mut workspace, plan, bytes)?;
    let (stride, ld) = (a.stride() as u64, a.ld() as u32);
    let batch =
        Items { a: a.buffer_mut().view_mut(), w: w.view_mut(), status: status.view_mut(), stride, ld };
    let mut solve = Solve { queue, handle, plan, chunk, batch, bytes };
    let mut first = 0;
    while first < plan.batch {
        let count = plan.chunk.min(plan.batch - first);
        solve.run(first, count)?;
        first += count;
    }
    Ok(())
}

fn check_shapes<T: VendorScalar>(
    plan: &SyevPlan,
    a: &DeviceBatch<T>,
    w: &DeviceBuffer<<T as Scalar>::Real>,
    status: &DeviceBuffer<i32>,
) -> Result<()> {
    let fits = plan.dtype == <T as Scalar>::DTYPE
        && (a.rows(), a.cols(), a.batch()) == (plan.n, plan.n, plan.batch)
        && w.len() == plan.n * plan.batch
        && status.len() == plan.batch;
    if !fits || u32::try_from(a.ld()).is_err() {
        return Err(Error::argument(format!(
            "a plan for {} items of {} of order {} got {} items of {}x{} (ld {}), {} values and {} statuses",
            plan.batch,
            plan.dtype,
            plan.n,
            a.batch(),
            a.rows(),
            a.cols(),
            a.ld(),
            w.len(),
            status.len()
        )));
    }
    Ok(())
}

/// The queue's handle, made at its first use.
fn handle(queue: &Queue, routine: Routine) -> Result<&Handle> {
    let unavailable = |reason| Error::Unavailable { device: queue.device().to_string(), reason };
    super::available(routine).map_err(unavailable)?;
    // The context may be another thread's, and cuSOLVER works on the current one.
    queue.raw_stream()?;
    queue.vendor_handle(|| Handle::new(queue))
}

fn routine_bytes(handle: &Handle, plan: &SyevPlan, batch: usize) -> Result<Bytes> {
    // The query reads no matrix, and wants addresses that are not null.
    let args = plan.args(batch, 256, 256);
    match plan.routine {
        Routine::Xsyev => handle.xsyev_bytes(&args),
        Routine::Syevj => {
            let elements = handle.syevj_elements(&args)?;
            Ok(Bytes { device: elements * plan.dtype.bytes(), host: 0 })
        }
    }
}

/// The caller's batch as kernels see it.
struct Items<T: VendorScalar> {
    a: GlobalMut<T>,
    w: GlobalMut<<T as Scalar>::Real>,
    status: GlobalMut<i32>,
    stride: u64,
    ld: u32,
}

/// The workspace of one chunk.
struct Chunk<T: VendorScalar> {
    packed: GlobalMut<T>,
    scale: GlobalMut<<T as Scalar>::Real>,
    info: GlobalMut<i32>,
    work: u64,
}

impl<T: VendorScalar> Chunk<T> {
    fn take(workspace: &mut Workspace<'_>, plan: &SyevPlan, bytes: Bytes) -> Result<Self> {
        Ok(Chunk {
            packed: workspace.take(plan.chunk * plan.n * plan.n)?,
            scale: workspace.take(plan.chunk)?,
            info: workspace.take(plan.chunk)?,
            work: workspace.take_addr::<u8>(bytes.device)?,
        })
    }
}

struct Solve<'q, T: VendorScalar> {
    queue: &'q Queue,
    handle: &'q Handle,
    plan: &'q SyevPlan,
    chunk: Chunk<T>,
    batch: Items<T>,
    bytes: Bytes,
}

impl<T: VendorScalar> Solve<'_, T> {
    /// Items `first..first + count`; halves them where the routine fails on their number.
    fn run(&mut self, first: usize, count: usize) -> Result<()> {
        self.pack(first, count)?;
        match self.call(first, count)? {
            Ok(()) => self.unpack(first, count),
            Err(Status::CUSOLVER_STATUS_INTERNAL_ERROR) if count > 1 => {
                // The caller's matrices are untouched so far: only packed copies were given away.
                let half = count / 2;
                self.run(first, half)?;
                self.run(first + half, count - half)
            }
            Err(status) => Err(cusolver::error(self.plan.routine.functions()[0], status)),
        }
    }

    fn pack(&self, first: usize, count: usize) -> Result<()> {
        let Items { a, status, stride, ld, .. } = self.batch;
        let Chunk { packed, scale, .. } = self.chunk;
        let n = self.plan.n as u32;
        let call = syev_pack::call::<T>(
            a.at(first * stride as usize).as_global(),
            packed,
            scale,
            status.at(first),
            n,
            ld,
            stride,
            u32::from(self.plan.uplo == Uplo::Upper),
        )?;
        let threads = kernels_pack::threads(n);
        let real_bytes = self.plan.dtype.real().bytes() as u32;
        let config = LaunchConfig::new(count as u32, threads)
            .with_shared(kernels_pack::pack_shared_bytes(threads, real_bytes));
        // SAFETY: `syev` checked shapes and queue, the workspace holds a chunk, and both are freed in the
        // order of the queue.
        unsafe { self.queue.launch(config, &call) }
    }

    /// The routine itself on the packed matrices; the inner error is its refusal.
    fn call(&self, first: usize, count: usize) -> Result<Outcome> {
        let w = self.batch.w.at(first * self.plan.n).as_ptr() as u64;
        let args = self.plan.args(count, self.chunk.packed.as_ptr() as u64, w);
        let (work, info) = (self.chunk.work, self.chunk.info.as_ptr() as u64);
        if self.bytes.host > 0 {
            // The call before may still use the host's part of the workspace.
            self.queue.synchronize()?;
        }
        let label = || Label::named(format!("cusolver {}", self.plan.routine));
        self.queue.traced(Kind::Vendor, label, || {
            Ok(match self.plan.routine {
                // SAFETY: the workspace was sized for a chunk of this plan, and the buffers were checked.
                Routine::Xsyev => unsafe { self.handle.xsyev(&args, work, self.bytes, info) },
                Routine::Syevj => {
                    let elements = self.bytes.device / self.plan.dtype.bytes();
                    // SAFETY: as above.
                    unsafe { self.handle.syevj(&args, work, elements, info) }
                }
            })
        })
    }

    fn unpack(&self, first: usize, count: usize) -> Result<()> {
        match self.plan.jobz {
            Jobz::V => self.unpack_as::<true>(first, count),
            Jobz::N => self.unpack_as::<false>(first, count),
        }
    }

    fn unpack_as<const VECTORS: bool>(&self, first: usize, count: usize) -> Result<()> {
        let Items { a, w, status, stride, ld } = self.batch;
        let (packed, scale): (Global<T>, Global<_>) =
            (self.chunk.packed.as_global(), self.chunk.scale.as_global());
        let n = self.plan.n;
        let call = syev_unpack::call::<T, VECTORS>(
            packed,
            scale,
            self.chunk.info.as_global(),
            a.at(first * stride as usize),
            w.at(first * n),
            status.at(first),
            n as u32,
            ld,
            stride,
        )?;
        let config = LaunchConfig::new(count as u32, kernels_pack::threads(n as u32));
        // SAFETY: as in `pack`.
        unsafe { self.queue.launch(config, &call) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(dtype: Dtype, n: usize, batch: usize) -> SyevPlan {
        SyevPlan::new(dtype, n, batch, Jobz::V, Uplo::Lower, Routine::Xsyev).unwrap()
    }

    #[test]
    fn chunks_stay_below_the_routines_limit_and_a_fixed_amount_of_memory() {
        assert_eq!(plan(Dtype::F32, 4, 1000).chunk, 1000);
        assert_eq!(plan(Dtype::F32, 4, 1_000_000).chunk, MAX_CHUNK);
        assert_eq!(plan(Dtype::F64, 1024, 1000).chunk, 256);
        assert_eq!(plan(Dtype::C64, 40_000, 3).chunk, 1);
        assert_eq!(plan(Dtype::F64, 0, 0).chunk, 1);
    }

    #[test]
    fn orders_past_the_vendors_sizes_are_refused() {
        let refused = SyevPlan::new(Dtype::F64, 1 << 40, 1, Jobz::N, Uplo::Upper, Routine::Syevj);
        assert!(refused.unwrap_err().to_string().contains("1099511627776"));
    }

    #[test]
    fn routine_names_round_trip() {
        for routine in Routine::ALL {
            assert_eq!(routine.to_string().parse::<Routine>().unwrap(), routine);
        }
        assert!("XSYEV".parse::<Routine>().is_err());
    }

    #[test]
    fn without_a_gpu_the_family_says_what_was_looked_for() {
        if crate::Device::gpus().is_err() {
            let queue = Queue::cpu();
            let error = syev_workspace_bytes(&queue, &plan(Dtype::F32, 4, 4)).unwrap_err().to_string();
            assert!(error.contains("libcuda"), "{error}");
        }
    }
}
