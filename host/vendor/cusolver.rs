//! cuSOLVER's calls, each with its status checked. Whoever makes a [`Handle`]
//! has asked [`available`](super::available) before: cudarc panics on a function
//! that the library lacks.

use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::ptr;

use cudarc::cusolver::sys::{self, cublasFillMode_t as Fill, cudaDataType, cusolverEigMode_t as Mode};
use sys::cusolverStatus_t as Status;

use crate::error::{Error, Result};
use crate::ops::{Jobz, Uplo};
use crate::queue::Queue;
use crate::scalar::Dtype;

/// A routine's own answer: a refusal may be met by a smaller batch.
pub(super) type Outcome = std::result::Result<(), Status>;

/// What a routine is told: the shape and where the data lies on the device.
#[derive(Clone, Copy)]
pub(super) struct Args {
    pub(super) dtype: Dtype,
    pub(super) jobz: Jobz,
    pub(super) uplo: Uplo,
    pub(super) n: usize,
    pub(super) batch: usize,
    /// Packed matrices.
    pub(super) a: u64,
    /// `batch * n` values.
    pub(super) w: u64,
}

/// Workspace of a routine, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bytes {
    pub(super) device: usize,
    pub(super) host: usize,
}

/// cuSOLVER's handle on a queue's stream, with the parameter objects of both routines.
pub(crate) struct Handle {
    raw: sys::cusolverDnHandle_t,
    params: sys::cusolverDnParams_t,
    jacobi: sys::syevjInfo_t,
    host: RefCell<Vec<u8>>,
}

// SAFETY: the handle is used by one thread at a time, as the queue that owns it is, with the context current.
unsafe impl Send for Handle {}

impl Handle {
    /// A handle on the queue's stream. Costs some hundred milliseconds the first time.
    pub(super) fn new(queue: &Queue) -> Result<Self> {
        let Some(stream) = queue.raw_stream()? else {
            return Err(Error::Unavailable {
                device: queue.device().to_string(),
                reason: "cuSOLVER runs on a GPU".to_string(),
            });
        };
        let mut handle = Handle {
            raw: ptr::null_mut(),
            params: ptr::null_mut(),
            jacobi: ptr::null_mut(),
            host: RefCell::new(Vec::new()),
        };
        // SAFETY: each call gets a place for what it makes; the stream lives as long as the queue, which
        // drops this handle first.
        unsafe {
            check("cusolverDnCreate", sys::cusolverDnCreate(&mut handle.raw))?;
            check("cusolverDnSetStream", sys::cusolverDnSetStream(handle.raw, stream.cast()))?;
            check("cusolverDnCreateParams", sys::cusolverDnCreateParams(&mut handle.params))?;
            check("cusolverDnCreateSyevjInfo", sys::cusolverDnCreateSyevjInfo(&mut handle.jacobi))?;
            check("cusolverDnXsyevjSetSortEig", sys::cusolverDnXsyevjSetSortEig(handle.jacobi, 1))?;
        }
        Ok(handle)
    }

    /// Workspace of `cusolverDnXsyevBatched`.
    pub(super) fn xsyev_bytes(&self, args: &Args) -> Result<Bytes> {
        let mut bytes = Bytes::default();
        let (kind, real) = (data_type(args.dtype), data_type(args.dtype.real()));
        // SAFETY: the sizes are places for sizes, and the query reads no matrix.
        let status = unsafe {
            sys::cusolverDnXsyevBatched_bufferSize(
                self.raw,
                self.params,
                mode(args.jobz),
                fill(args.uplo),
                args.n as i64,
                kind,
                address(args.a),
                args.n as i64,
                real,
                address(args.w),
                kind,
                &mut bytes.device,
                &mut bytes.host,
                args.batch as i64,
            )
        };
        check("cusolverDnXsyevBatched_bufferSize", status).map(|()| bytes)
    }

    /// `cusolverDnXsyevBatched`.
    ///
    /// # Safety
    /// The addresses hold the batch, `work` at least the bytes that the query
    /// told, `info` one number an item; all live until the stream has come past.
    pub(super) unsafe fn xsyev(&self, args: &Args, work: u64, bytes: Bytes, info: u64) -> Outcome {
        let mut host = self.host.borrow_mut();
        if host.len() < bytes.host {
            host.resize(bytes.host, 0);
        }
        let (kind, real) = (data_type(args.dtype), data_type(args.dtype.real()));
        // SAFETY: as the caller promises.
        accept(unsafe {
            sys::cusolverDnXsyevBatched(
                self.raw,
                self.params,
                mode(args.jobz),
                fill(args.uplo),
                args.n as i64,
                kind,
                address(args.a),
                args.n as i64,
                real,
                address(args.w),
                kind,
                address(work),
                bytes.device,
                host.as_mut_ptr().cast(),
                bytes.host,
                address(info),
                args.batch as i64,
            )
        })
    }

    /// Workspace of `cusolverDn<t>syevjBatched`, in elements of the type.
    pub(super) fn syevj_elements(&self, args: &Args) -> Result<usize> {
        let mut elements: c_int = 0;
        let (job, uplo, n, batch) = (mode(args.jobz), fill(args.uplo), args.n as c_int, args.batch as c_int);
        macro_rules! query {
            ($function:ident) => {
                // SAFETY: `elements` is a place for an int, and the query reads no matrix.
                (stringify!($function), unsafe {
                    let (a, w) = (address(args.a), address(args.w));
                    sys::$function(self.raw, job, uplo, n, a, n, w, &mut elements, self.jacobi, batch)
                })
            };
        }
        let (call, status) = match args.dtype {
            Dtype::F32 => query!(cusolverDnSsyevjBatched_bufferSize),
            Dtype::F64 => query!(cusolverDnDsyevjBatched_bufferSize),
            Dtype::C32 => query!(cusolverDnCheevjBatched_bufferSize),
            Dtype::C64 => query!(cusolverDnZheevjBatched_bufferSize),
        };
        check(call, status)?;
        usize::try_from(elements).map_err(|_| Error::Driver {
            call: call.to_string(),
            reason: format!("a workspace of {elements} elements"),
        })
    }

    /// `cusolverDn<t>syevjBatched`.
    ///
    /// # Safety
    /// As [`xsyev`](Self::xsyev).
    pub(super) unsafe fn syevj(&self, args: &Args, work: u64, elements: usize, info: u64) -> Outcome {
        let (job, uplo, n, batch) = (mode(args.jobz), fill(args.uplo), args.n as c_int, args.batch as c_int);
        let elements = elements as c_int;
        macro_rules! run {
            ($function:ident) => {
                // SAFETY: as the caller promises.
                unsafe {
                    let (a, w, work, info) = (address(args.a), address(args.w), address(work), address(info));
                    sys::$function(self.raw, job, uplo, n, a, n, w, work, elements, info, self.jacobi, batch)
                }
            };
        }
        accept(match args.dtype {
            Dtype::F32 => run!(cusolverDnSsyevjBatched),
            Dtype::F64 => run!(cusolverDnDsyevjBatched),
            Dtype::C32 => run!(cusolverDnCheevjBatched),
            Dtype::C64 => run!(cusolverDnZheevjBatched),
        })
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: each object is destroyed once, and only where it was made.
        unsafe {
            if !self.jacobi.is_null() {
                let _ = sys::cusolverDnDestroySyevjInfo(self.jacobi);
            }
            if !self.params.is_null() {
                let _ = sys::cusolverDnDestroyParams(self.params);
            }
            if !self.raw.is_null() {
                let _ = sys::cusolverDnDestroy(self.raw);
            }
        }
    }
}

/// The library's version, 11705 for 11.7.5. The library is open.
pub(super) fn version() -> u32 {
    let mut version: c_int = 0;
    // SAFETY: `version` is a place for an int.
    let status = unsafe { sys::cusolverGetVersion(&mut version) };
    if status == Status::CUSOLVER_STATUS_SUCCESS { version.max(0) as u32 } else { 0 }
}

pub(super) fn check(call: &str, status: Status) -> Result<()> {
    accept(status).map_err(|refusal| error(call, refusal))
}

/// A refusal as an error.
pub(super) fn error(call: &str, status: Status) -> Error {
    Error::Driver { call: call.to_string(), reason: format!("{status:?}") }
}

fn accept(status: Status) -> Outcome {
    if status == Status::CUSOLVER_STATUS_SUCCESS { Ok(()) } else { Err(status) }
}

fn mode(jobz: Jobz) -> Mode {
    match jobz {
        Jobz::V => Mode::CUSOLVER_EIG_MODE_VECTOR,
        Jobz::N => Mode::CUSOLVER_EIG_MODE_NOVECTOR,
    }
}

fn fill(uplo: Uplo) -> Fill {
    match uplo {
        Uplo::Lower => Fill::CUBLAS_FILL_MODE_LOWER,
        Uplo::Upper => Fill::CUBLAS_FILL_MODE_UPPER,
    }
}

fn data_type(dtype: Dtype) -> cudaDataType {
    match dtype {
        Dtype::F32 => cudaDataType::CUDA_R_32F,
        Dtype::F64 => cudaDataType::CUDA_R_64F,
        Dtype::C32 => cudaDataType::CUDA_C_32F,
        Dtype::C64 => cudaDataType::CUDA_C_64F,
    }
}

/// A device address as the pointer type that the call wants.
fn address<T>(addr: u64) -> *mut T {
    let addr: *mut c_void = ptr::without_provenance_mut(addr as usize);
    addr.cast()
}
