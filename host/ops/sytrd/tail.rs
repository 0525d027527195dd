//! The last columns of a reduction, or all of a small one: in registers, one launch, a block of threads an item.

use kernels_block_syev::shape::{Offsets, threads};
use kernels_block_syev::sytd2::sytd2;

use super::blocked::Reduced;
use crate::error::Result;
use crate::ops::syev::block::usual_tile;
use crate::ops::tiles::{KernelScalar, Matrices, config, submit};
use crate::ops::{Target, Uplo};
use crate::queue::Queue;
use crate::scalar::{Dtype, Scalar};

/// Most columns that there are kernels for.
const MOST: [usize; 2] = [64, 128];

/// The most columns of a tail: what is asked for, or what is usual where shared memory has room for it.
pub(super) fn columns(
    dtype: Dtype,
    asked: Option<usize>,
    target: &Target,
) -> std::result::Result<usize, String> {
    let most = target.limits().map_or(0, |limits| limits.shared_bytes_per_block);
    let fits = |columns: usize| bytes(dtype, columns) <= most;
    match asked {
        None => Ok(MOST.into_iter().rfind(|&columns| columns <= usual(dtype) && fits(columns)).unwrap_or(0)),
        Some(0) => Ok(0),
        Some(columns) if !MOST.contains(&columns) => Err("tail is 0, 64 or 128".to_owned()),
        Some(columns) if !fits(columns) => Err(format!(
            "a tail of {columns} columns takes {} bytes of shared memory, the device gives {most}",
            bytes(dtype, columns)
        )),
        Some(columns) => Ok(columns),
    }
}

/// Columns of a tail where nothing says otherwise: of n = 128 with vectors, us a matrix with 128 and with 64 columns, f32 1.84 and 2.13,
/// f64 2.83 and 2.92, c32 3.97 and 3.86, c64 6.36 and 6.00 (H200, batch 1024; benches/results/blocked_h200_2026-11-30.jsonl).
fn usual(dtype: Dtype) -> usize {
    if dtype.is_complex() { 64 } else { 128 }
}

/// Bytes of shared memory.
fn bytes(dtype: Dtype, columns: usize) -> usize {
    let (rows, width) = usual_tile(dtype, columns);
    Offsets::new(rows, width, dtype.bytes(), dtype.real().bytes(), columns, false).end
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
        ($rows:literal, $columns:literal) => {
            sytd2::call::<T, $rows, $columns>(
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
    let (rows, columns) = usual_tile(<T as Scalar>::DTYPE, rest);
    let call = match (rows, columns) {
        (2, 16) => call!(2, 16),
        (2, _) => call!(2, 32),
        _ => call!(4, 16),
    };
    let blocks = config(batch as u64, 1, threads(rows, columns) as u32, bytes(<T as Scalar>::DTYPE, rest))?;
    submit(queue, blocks, call)
}
