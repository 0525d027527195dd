//! The arrays of a product, and its factors.

use num_complex::Complex;

use crate::device::Device;
use crate::memory::DeviceBatch;
use crate::ops::typed::{OfScalar, cast, cast_mut, of_scalar, value};
use crate::scalar::Scalar;

/// The arrays of a product, with their type.
pub(crate) type Operands<'a> =
    OfScalar<Arrays<'a, f32>, Arrays<'a, f64>, Arrays<'a, Complex<f32>>, Arrays<'a, Complex<f64>>>;

/// The arrays of a product, and its factors.
pub(crate) struct Arrays<'a, T> {
    pub(crate) alpha: T,
    pub(crate) beta: T,
    pub(crate) a: Place,
    pub(crate) b: Place,
    pub(crate) c: Place,
    /// The elements themselves, on the CPU.
    pub(crate) host: Option<Host<'a, T>>,
}

/// Where the items of a matrix lie in the device's memory.
#[derive(Clone, Copy, Debug)]
// The CPU has slices, and needs no addresses.
#[cfg_attr(not(feature = "kernels"), allow(dead_code))]
pub(crate) struct Place {
    /// Address of the first element of the first item.
    pub(crate) addr: u64,
    /// Elements from there to the end of the buffer.
    pub(crate) len: usize,
    pub(crate) ld: usize,
    pub(crate) stride: usize,
}

/// Slices of host memory.
pub(crate) struct Host<'a, T> {
    pub(crate) a: &'a [T],
    pub(crate) b: &'a [T],
    pub(crate) c: &'a mut [T],
}

impl Place {
    fn of<T: Scalar>(batch: &DeviceBatch<T>) -> Self {
        let buffer = batch.buffer();
        Place { addr: buffer.addr(), len: buffer.len(), ld: batch.ld(), stride: batch.stride() }
    }
}

/// The operands of C = alpha A B + beta C.
pub(super) fn operands<'a, T: Scalar>(
    alpha: T,
    a: &'a DeviceBatch<T>,
    b: &'a DeviceBatch<T>,
    beta: T,
    c: &'a mut DeviceBatch<T>,
) -> Operands<'a> {
    let places = (Place::of(a), Place::of(b), Place::of(c));
    // Asking for host memory would make the executor take all of it as written.
    let on_host = c.buffer().device() == Device::Cpu;
    of_scalar!(
        T::DTYPE,
        Arrays {
            alpha: value(alpha),
            beta: value(beta),
            a: places.0,
            b: places.1,
            c: places.2,
            host: if on_host { Host::of(cast(a), cast(b), cast_mut(c)) } else { None },
        }
    )
}

impl<'a, T: Scalar> Host<'a, T> {
    fn of(a: &'a DeviceBatch<T>, b: &'a DeviceBatch<T>, c: &'a mut DeviceBatch<T>) -> Option<Self> {
        let (a, b) = (a.buffer().as_host_slice()?, b.buffer().as_host_slice()?);
        Some(Host { a, b, c: c.buffer_mut().as_host_mut_slice()? })
    }
}
