//! The last columns of a reduction, or all of a small one: in registers, or one triangle in registers and shared memory; one
//! launch, a block of threads an item.

use kernels_block_syev::shape::{Offsets, threads};
use kernels_block_syev::sytd2::sytd2;
use kernels_packed::shape::{Form, Offsets as PackedOffsets, forms, padded, threads as packed_threads};
use kernels_packed::sytd2_packed::sytd2_packed;

use super::blocked::Reduced;
use crate::error::{Error, Result};
use crate::ops::syev::block::usual_tile;
use crate::ops::tiles::{KernelScalar, Matrices, config, submit};
use crate::ops::{Target, Uplo};
use crate::queue::Queue;
use crate::scalar::{Dtype, Scalar};

/// Most columns that registers alone hold.
const IN_REGISTERS: [usize; 2] = [64, 128];

/// The kernel that reduces what is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kernel {
    /// `sytd2`, with rows a lane and columns a warp.
    Registers(usize, usize),
    /// `sytd2_packed`.
    Packed(Form),
}

impl Kernel {
    /// The smallest one that holds so many columns.
    fn new(dtype: Dtype, columns: usize) -> Option<Self> {
        if columns <= IN_REGISTERS[1] {
            let (rows, width) = usual_tile(dtype, columns);
            return Some(Kernel::Registers(rows, width));
        }
        forms(dtype.bytes()).iter().find(|form| columns <= padded(form.rows)).copied().map(Kernel::Packed)
    }

    /// Bytes of shared memory for so many columns.
    fn bytes(self, dtype: Dtype, columns: usize) -> usize {
        let (scalar, real) = (dtype.bytes(), dtype.real().bytes());
        match self {
            Kernel::Registers(rows, width) => Offsets::new(rows, width, scalar, real, columns, false).end,
            Kernel::Packed(form) => PackedOffsets::new(form, scalar, real).end,
        }
    }
}

/// The numbers of columns that kernels are made for, each beside the bytes of shared memory that it and smaller ones take.
fn sizes(dtype: Dtype) -> Vec<(usize, usize)> {
    let packed = forms(dtype.bytes()).iter().map(|form| padded(form.rows));
    let mut most = 0;
    let sizes = IN_REGISTERS.into_iter().chain(packed).filter_map(|columns| {
        most = most.max(Kernel::new(dtype, columns)?.bytes(dtype, columns));
        Some((columns, most))
    });
    sizes.collect()
}

/// The most columns of a tail: what is asked for, or what is usual where shared memory has room for it.
pub(super) fn columns(
    dtype: Dtype,
    asked: Option<usize>,
    target: &Target,
) -> std::result::Result<usize, String> {
    let most = target.limits().map_or(0, |limits| limits.shared_bytes_per_block);
    let sizes = sizes(dtype);
    let Some(asked) = asked else {
        let fits = |&&(columns, bytes): &&(usize, usize)| columns <= usual(dtype) && bytes <= most;
        return Ok(sizes.iter().rfind(fits).map_or(0, |&(columns, _)| columns));
    };
    if asked == 0 {
        return Ok(0);
    }
    match sizes.iter().find(|&&(columns, _)| columns == asked) {
        None => {
            let known: Vec<String> = sizes.iter().map(|(columns, _)| columns.to_string()).collect();
            Err(format!("tail is 0 or one of {} in {dtype}", known.join(", ")))
        }
        Some(&(columns, bytes)) if bytes > most => Err(format!(
            "a tail of {columns} columns takes {bytes} bytes of shared memory, the device gives {most}"
        )),
        Some(_) => Ok(asked),
    }
}

/// Columns of a tail where nothing says otherwise: of n = 128 with vectors, us a matrix with 128 and with 64 columns, f32 1.84 and 2.13,
/// f64 2.83 and 2.92, c32 3.97 and 3.86, c64 6.36 and 6.00 (H200, batch 1024; benches/results/blocked_h200_2026-11-30.jsonl).
fn usual(dtype: Dtype) -> usize {
    if dtype.is_complex() { 64 } else { 128 }
}

/// Reduces the columns from `first` on. Where that is 0 the triangle `uplo` is read and scaled, as `scale` of
/// [`blocked`](super::blocked) does, else the lower one.
pub(super) fn enqueue<T: KernelScalar>(
    queue: &Queue,
    (n, batch, uplo): (usize, usize, Uplo),
    a: Matrices<T>,
    out: &Reduced<T>,
    first: usize,
) -> Result<()> {
    let rest = n - first;
    let upper = u32::from(first == 0 && uplo == Uplo::Upper);
    let (order, ld, stride, e_stride) = (n as u32, a.ld()?, a.stride as u64, out.e_stride as u64);
    let (a, Reduced { d, e, tau, scale, status, .. }) = (a.view, out);
    macro_rules! call {
        ($kernel:ident, $($width:literal),*) => {
            $kernel::call::<T, $($width),*>(
                a,
                *d,
                *e,
                *tau,
                *scale,
                *status,
                order,
                ld,
                stride,
                e_stride,
                first as u32,
                upper,
            )
        };
    }
    let dtype = <T as Scalar>::DTYPE;
    let kernel = Kernel::new(dtype, rest)
        .ok_or_else(|| Error::argument(format!("no kernel reduces {rest} columns of {dtype} at once")))?;
    let (threads, call) = match kernel {
        Kernel::Registers(rows, columns) => {
            let call = match (rows, columns) {
                (2, 16) => call!(sytd2, 2, 16),
                (2, _) => call!(sytd2, 2, 32),
                _ => call!(sytd2, 4, 16),
            };
            (threads(rows, columns), call)
        }
        Kernel::Packed(Form { rows, columns, in_shared }) => {
            let call = match (rows, columns, in_shared) {
                (5, 8, 1) => call!(sytd2_packed, 5, 8, 1),
                (5, 8, _) => call!(sytd2_packed, 5, 8, 2),
                (5, ..) => call!(sytd2_packed, 5, 4, 2),
                (6, 8, _) => call!(sytd2_packed, 6, 8, 2),
                (6, ..) => call!(sytd2_packed, 6, 4, 1),
                (7, ..) => call!(sytd2_packed, 7, 4, 2),
                (8, 8, _) => call!(sytd2_packed, 8, 8, 3),
                (8, ..) => call!(sytd2_packed, 8, 4, 3),
                _ => call!(sytd2_packed, 10, 4, 3),
            };
            (packed_threads(columns), call)
        }
    };
    submit(queue, config(batch as u64, 1, threads as u32, kernel.bytes(dtype, rest))?, call)
}
