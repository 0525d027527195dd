//! The last columns of a reduction, or all of a small one: one triangle in registers and shared memory; one launch, a block of
//! threads an item.

use kernels_packed::shape::{Form, Offsets, forms, padded, threads};
use kernels_packed::sytd2_packed::sytd2_packed;

use super::blocked::Reduced;
use crate::error::{Error, Result};
use crate::ops::tiles::{KernelScalar, Matrices, config, submit};
use crate::ops::{Target, Uplo};
use crate::queue::Queue;
use crate::scalar::{Dtype, Scalar};

/// The forms of the kernel, the smallest first.
fn forms_of(dtype: Dtype) -> &'static [Form] {
    forms(dtype.bytes(), dtype.real().bytes())
}

/// Bytes of shared memory of a form.
fn bytes(dtype: Dtype, form: Form) -> usize {
    Offsets::new(form, dtype.bytes(), dtype.real().bytes()).end
}

/// The numbers of columns that forms are made for, each beside the bytes of shared memory that it and smaller ones take.
fn sizes(dtype: Dtype) -> Vec<(usize, usize)> {
    let mut most = 0;
    let sizes = forms_of(dtype).iter().map(|&form| {
        most = most.max(bytes(dtype, form));
        (padded(form.rows), most)
    });
    sizes.collect()
}

/// The most columns of a tail: what is asked for, else as many as shared memory has room for. That was the fastest at every order
/// and batch measured: f32 with vectors, us a matrix, n = 256 with 128 (in another kernel), 160, 192 and 256 columns 9.42, 9.05, 8.68 and
/// 7.20, n = 512 with 160, 256 and 320 54.0, 52.2 and 51.6 (H200, batch 512 and 256). Only in f64 is 192 no faster than a
/// panel and 160: n = 176 5.77 and 5.78, n = 192 6.32 and 6.27.
pub(super) fn columns(
    dtype: Dtype,
    asked: Option<usize>,
    target: &Target,
) -> std::result::Result<usize, String> {
    let most = target.limits().map_or(0, |limits| limits.shared_bytes_per_block);
    let sizes = sizes(dtype);
    let Some(asked) = asked else {
        return Ok(sizes.iter().rfind(|&&(_, bytes)| bytes <= most).map_or(0, |&(columns, _)| columns));
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
    let dtype = <T as Scalar>::DTYPE;
    let form = forms_of(dtype).iter().find(|form| rest <= padded(form.rows));
    let &form =
        form.ok_or_else(|| Error::argument(format!("no kernel reduces {rest} columns of {dtype} at once")))?;
    macro_rules! call_of {
        ($(($rows:literal, $columns:literal, $in_shared:literal))*) => {
            match (form.rows, form.columns, form.in_shared) {
                $(($rows, $columns, $in_shared) => sytd2_packed::call::<T, $rows, $columns, $in_shared>(
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
                ),)*
                _ => return Err(Error::argument(format!("no kernel is built for {form:?} of {dtype}"))),
            }
        };
    }
    // Those that `forms` names, no others: a launch follows the form's threads and shared memory.
    let call = call_of! {
        (2, 32, 0) (2, 32, 1) (2, 16, 0) (2, 16, 1)
        (3, 32, 1) (3, 16, 1) (3, 8, 1)
        (4, 16, 1) (4, 8, 1) (4, 4, 1)
        (5, 8, 1) (5, 8, 2) (5, 4, 2)
        (6, 8, 2) (6, 4, 1)
        (7, 4, 2)
        (8, 8, 3) (8, 4, 3)
        (10, 4, 3)
    };
    submit(queue, config(batch as u64, 1, threads(form.columns) as u32, bytes(dtype, form))?, call)
}
