//! cuBLAS's calls, each with its status checked. Whoever makes a [`Handle`]
//! has asked [`gemm_available`](super::gemm_available) before: cudarc panics on a function
//! that the library lacks.

use std::ffi::{c_int, c_longlong, c_void};
use std::ptr;

use cudarc::cublas::sys::{self, cublasOperation_t as Operation, cublasStatus_t as Status};
use num_complex::Complex;

use crate::error::{Error, Result};
use crate::ops::gemm::Op;
use crate::queue::Queue;

/// The functions that a product needs of the library.
pub(super) const FUNCTIONS: [&str; 9] = [
    "cublasCreate_v2",
    "cublasDestroy_v2",
    "cublasSetStream_v2",
    "cublasSetPointerMode_v2",
    "cublasSetMathMode",
    "cublasSgemmStridedBatched",
    "cublasDgemmStridedBatched",
    "cublasCgemmStridedBatched",
    "cublasZgemmStridedBatched",
];

/// cuBLAS's handle on a queue's stream.
pub(crate) struct Handle {
    raw: sys::cublasHandle_t,
}

// SAFETY: the handle is used by one thread at a time, as the queue that owns it is, with the context current.
unsafe impl Send for Handle {}

impl Handle {
    /// A handle on the queue's stream, with factors in host memory and without reduced precision. Costs some hundred
    /// milliseconds the first time.
    pub(super) fn new(queue: &Queue) -> Result<Self> {
        let Some(stream) = queue.raw_stream()? else {
            return Err(Error::Unavailable {
                device: queue.device().to_string(),
                reason: "cuBLAS runs on a GPU".to_string(),
            });
        };
        let mut handle = Handle { raw: ptr::null_mut() };
        // SAFETY: each call gets a place for what it makes; the stream lives as long as the queue, which
        // drops this handle first.
        unsafe {
            check("cublasCreate_v2", sys::cublasCreate_v2(&mut handle.raw))?;
            check("cublasSetStream_v2", sys::cublasSetStream_v2(handle.raw, stream.cast()))?;
            let mode = sys::cublasPointerMode_t::CUBLAS_POINTER_MODE_HOST;
            check("cublasSetPointerMode_v2", sys::cublasSetPointerMode_v2(handle.raw, mode))?;
            let math = sys::cublasMath_t::CUBLAS_DEFAULT_MATH;
            check("cublasSetMathMode", sys::cublasSetMathMode(handle.raw, math))?;
        }
        Ok(handle)
    }

    /// `cublas<t>gemmStridedBatched`. The inner error is the library's refusal.
    ///
    /// # Safety
    /// The addresses hold the batch and live until the stream has come past; C overlaps neither A nor B.
    pub(super) unsafe fn gemm<T: BlasScalar>(
        &self,
        call: &GemmCall<T>,
    ) -> std::result::Result<(), sys::cublasStatus_t> {
        // SAFETY: as the caller promises.
        let status = unsafe { T::gemm(self.raw, call) };
        if status == Status::CUBLAS_STATUS_SUCCESS { Ok(()) } else { Err(status) }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if !self.raw.is_null() {
            // SAFETY: destroyed once, and only where it was made.
            let _ = unsafe { sys::cublasDestroy_v2(self.raw) };
        }
    }
}

/// One matrix on the device.
#[derive(Clone, Copy)]
pub(crate) struct Matrix {
    pub(super) addr: u64,
    pub(super) ld: c_int,
    pub(super) stride: c_longlong,
}

/// What the routine is told.
#[derive(Clone, Copy)]
pub(crate) struct GemmCall<T> {
    pub(super) op_a: Op,
    pub(super) op_b: Op,
    pub(super) m: c_int,
    pub(super) n: c_int,
    pub(super) k: c_int,
    pub(super) alpha: T,
    pub(super) beta: T,
    pub(super) a: Matrix,
    pub(super) b: Matrix,
    pub(super) c: Matrix,
    pub(super) batch: c_int,
}

/// A type that cuBLAS multiplies.
pub(crate) trait BlasScalar: Copy {
    /// The routine of the type.
    ///
    /// # Safety
    /// As [`Handle::gemm`].
    unsafe fn gemm(handle: sys::cublasHandle_t, call: &GemmCall<Self>) -> Status;
}

macro_rules! blas_scalar {
    ($($t:ty: $function:ident;)*) => { $(
        impl BlasScalar for $t {
            unsafe fn gemm(handle: sys::cublasHandle_t, call: &GemmCall<Self>) -> Status {
                let GemmCall { op_a, op_b, m, n, k, alpha, beta, a, b, c, batch } = *call;
                // The layouts of complex numbers are those of cuBLAS's types, whose alignment these copies have.
                let (alpha, beta) = (Aligned(alpha), Aligned(beta));
                // SAFETY: as the caller promises; the factors are read before the call returns.
                unsafe {
                    sys::$function(
                        handle,
                        operation(op_a),
                        operation(op_b),
                        m,
                        n,
                        k,
                        ptr::from_ref(&alpha).cast(),
                        address(a.addr),
                        a.ld,
                        a.stride,
                        address(b.addr),
                        b.ld,
                        b.stride,
                        ptr::from_ref(&beta).cast(),
                        address(c.addr),
                        c.ld,
                        c.stride,
                        batch,
                    )
                }
            }
        }
    )* };
}
blas_scalar! {
    f32: cublasSgemmStridedBatched;
    f64: cublasDgemmStridedBatched;
    Complex<f32>: cublasCgemmStridedBatched;
    Complex<f64>: cublasZgemmStridedBatched;
}

/// A factor, aligned as cuBLAS's complex types are.
#[repr(C, align(16))]
struct Aligned<T>(T);

fn operation(op: Op) -> Operation {
    match op {
        Op::N => Operation::CUBLAS_OP_N,
        Op::T => Operation::CUBLAS_OP_T,
        Op::C => Operation::CUBLAS_OP_C,
    }
}

fn check(call: &str, status: Status) -> Result<()> {
    if status == Status::CUBLAS_STATUS_SUCCESS { Ok(()) } else { Err(error(call, status)) }
}

/// A refusal as an error.
pub(super) fn error(call: &str, status: Status) -> Error {
    Error::Driver { call: call.to_string(), reason: format!("{status:?}") }
}

/// A device address as the pointer type that the call wants.
fn address<T>(addr: u64) -> *mut T {
    let addr: *mut c_void = ptr::without_provenance_mut(addr as usize);
    addr.cast()
}
