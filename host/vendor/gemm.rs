//! The family `vendor` of the operation `gemm`.

use std::ffi::{c_int, c_longlong};

use cudarc::cublas::sys::cublasStatus_t as Status;

use super::cublas::{self, BlasScalar, GemmCall, Handle, Matrix};
use super::library;
use crate::error::{Error, Result};
use crate::ops::gemm::Problem;
use crate::queue::Queue;
use crate::trace::{Kind, Label};

/// A grid's z, over which some kernels of the library go: a refused batch is not halved below it.
const SAFE_BATCH: usize = 65_535;

/// A matrix of a product in device memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) addr: u64,
    pub(crate) ld: usize,
    pub(crate) stride: usize,
}

/// Whether products can be computed on this machine.
///
/// # Errors
/// A text that says what was looked for, or which function the library lacks.
pub fn gemm_available() -> std::result::Result<(), String> {
    let blas = library::blas()?;
    match cublas::FUNCTIONS.iter().find(|function| !blas.has(function)) {
        None => Ok(()),
        Some(function) => Err(format!("{} lacks {function}", blas.path)),
    }
}

/// Whether m, n and k pass the library's 32-bit sizes.
///
/// # Errors
/// A clause that says so.
pub(crate) fn gemm_fits(problem: &Problem) -> std::result::Result<(), String> {
    let most = c_int::MAX as usize;
    if [problem.m, problem.n, problem.k].into_iter().max() > Some(most) {
        return Err(format!("m, n and k are at most {most}"));
    }
    Ok(())
}

/// `C = alpha op(A) op(B) + beta C` by cuBLAS, for a problem that is not empty, with k and alpha not 0: the library's
/// way with those is not documented. Does not wait.
///
/// # Errors
/// [`Error::Argument`] for a leading dimension past 32 bits, [`Error::Unavailable`] where the routine cannot be called,
/// or a refusal of the library.
///
/// # Safety
/// The places hold the problem's batch and live until the queue has come past; C overlaps neither A nor B.
pub(crate) unsafe fn gemm<T: BlasScalar>(
    queue: &Queue,
    problem: &Problem,
    (alpha, beta): (T, T),
    [a, b, c]: [Place; 3],
) -> Result<()> {
    let unavailable = |reason| Error::Unavailable { device: queue.device().to_string(), reason };
    gemm_available().map_err(unavailable)?;
    // The context may be another thread's, and cuBLAS works on the current one.
    queue.raw_stream()?;
    let handle = queue.blas_handle(|| Handle::new(queue))?;
    let Problem { op_a, op_b, m, n, k, batch, .. } = *problem;
    let (m, n, k) = (m as c_int, n as c_int, k as c_int);
    let call =
        GemmCall { op_a, op_b, m, n, k, alpha, beta, a: matrix(a)?, b: matrix(b)?, c: matrix(c)?, batch: 0 };
    let mut first = 0;
    while first < batch {
        let count = (batch - first).min(c_int::MAX as usize);
        // SAFETY: as the caller promises.
        unsafe { run(queue, handle, &call, first, count)? };
        first += count;
    }
    Ok(())
}

/// Items `first..first + count`; halves them where the library refuses a number past a grid's z.
///
/// # Safety
/// As [`gemm`].
unsafe fn run<T: BlasScalar>(
    queue: &Queue,
    handle: &Handle,
    call: &GemmCall<T>,
    first: usize,
    count: usize,
) -> Result<()> {
    let part = GemmCall {
        a: at(call.a, first, size_of::<T>()),
        b: at(call.b, first, size_of::<T>()),
        c: at(call.c, first, size_of::<T>()),
        batch: count as c_int,
        ..*call
    };
    let label = || Label::named("cublas gemmStridedBatched");
    // SAFETY: as the caller promises.
    let outcome = queue.traced(Kind::Vendor, label, || Ok(unsafe { handle.gemm(&part) }))?;
    match outcome {
        Ok(()) => Ok(()),
        // A refusal of arguments comes before anything is launched, so that C is as it was.
        Err(Status::CUBLAS_STATUS_INVALID_VALUE | Status::CUBLAS_STATUS_NOT_SUPPORTED)
            if count > SAFE_BATCH =>
        {
            let half = count / 2;
            // SAFETY: as the caller promises.
            unsafe {
                run(queue, handle, call, first, half)?;
                run(queue, handle, call, first + half, count - half)
            }
        }
        Err(status) => Err(cublas::error("cublas<t>gemmStridedBatched", status)),
    }
}

/// The same matrix from an item on.
fn at(matrix: Matrix, item: usize, bytes: usize) -> Matrix {
    let offset = item as u64 * matrix.stride as u64 * bytes as u64;
    Matrix { addr: matrix.addr + offset, ..matrix }
}

fn matrix(place: Place) -> Result<Matrix> {
    let ld = c_int::try_from(place.ld.max(1));
    let ld = ld.map_err(|_| Error::argument(format!("leading dimension {} is past 32 bits", place.ld)))?;
    Ok(Matrix { addr: place.addr, ld, stride: place.stride as c_longlong })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_found_past_32_bits() {
        let far = matrix(Place { addr: 256, ld: 0, stride: 1 << 32 }).unwrap();
        assert_eq!((far.ld, at(far, 3, 8).addr), (1, 256 + 3 * (1 << 35)));
        assert!(matrix(Place { addr: 0, ld: 1 << 31, stride: 1 }).is_err());
    }
}
