//! Dynamic shared memory as typed views.
//!
//! rustc has no static shared memory, so a block has one array whose size the launch gives; a kernel carves it
//! by byte offsets. The device linker defines the array.

use core::marker::PhantomData;
#[cfg(not(target_os = "cuda"))]
use core::mem::MaybeUninit;

use crate::global::Global;
use crate::vector::{Aligned, Vectors};

/// View of `len` elements of the block's shared memory.
#[derive(Debug)]
pub struct Shared<T> {
    #[cfg(target_os = "cuda")]
    ptr: *mut T,
    #[cfg(not(target_os = "cuda"))]
    offset: usize,
    #[cfg(not(target_os = "cuda"))]
    len: usize,
    element: PhantomData<*mut T>,
}

impl<T> Clone for Shared<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Shared<T> {}

/// The `len` elements of the block's dynamic shared memory from byte `byte_offset` on.
///
/// # Safety
/// The launch gives at least `byte_offset + len * size_of::<T>()` bytes, `byte_offset` is aligned for `T`, and
/// views of different types that overlap are separated by a barrier. The executor checks all three.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub unsafe fn dynamic_shared_mem<T>(byte_offset: usize, len: usize) -> Shared<T> {
    #[cfg(target_os = "cuda")]
    {
        unsafe extern "C" {
            fn __cuda_std_dynamic_shared() -> *mut u8;
        }
        let _ = len;
        // SAFETY: the device linker defines the function; the offset lies within the array by the contract.
        let ptr = unsafe { __cuda_std_dynamic_shared().add(byte_offset) } as *mut T;
        Shared { ptr, element: PhantomData }
    }
    #[cfg(not(target_os = "cuda"))]
    Shared { offset: byte_offset, len, element: PhantomData }
}

/// `shared_array![T; len @ byte_offset]`: a view of the block's dynamic shared memory.
///
/// Expands to [`shared::dynamic_shared_mem`](crate::shared::dynamic_shared_mem) and needs `unsafe` for the same
/// reasons.
#[macro_export]
macro_rules! shared_array {
    [$element:ty; $len:expr, @ $byte_offset:expr] => {
        $crate::shared::dynamic_shared_mem::<$element>($byte_offset, $len)
    };
}

/// Scalars of which two move in one access.
pub trait Pairs: Copy {
    /// Two scalars, aligned to their size.
    type Pair: Copy + From<[Self; 2]> + Into<[Self; 2]>;
}

macro_rules! pairs {
    ($($t:ty, $pair:ident, $align:literal, $name:literal;)*) => { $(
        #[doc = $name]
        #[repr(C, align($align))]
        #[derive(Clone, Copy, Debug)]
        pub struct $pair([$t; 2]);
        impl From<[$t; 2]> for $pair {
            #[inline(always)]
            fn from(x: [$t; 2]) -> Self {
                $pair(x)
            }
        }
        impl From<$pair> for [$t; 2] {
            #[inline(always)]
            fn from(x: $pair) -> Self {
                x.0
            }
        }
        impl Pairs for $t {
            type Pair = $pair;
        }
    )* };
}
pairs! {
    f32, F32x2, 8, "Two `f32` in 8 bytes.";
    f64, F64x2, 16, "Two `f64` in 16 bytes.";
}

impl<T: Pairs> Shared<T> {
    /// The same memory as pairs: element `i` of the result is elements `2 i` and `2 i + 1`.
    ///
    /// The first element is aligned to the size of a pair.
    #[inline(always)]
    pub fn as_pairs(self) -> Shared<T::Pair> {
        #[cfg(target_os = "cuda")]
        return Shared { ptr: self.ptr as *mut T::Pair, element: PhantomData };
        #[cfg(not(target_os = "cuda"))]
        Shared { offset: self.offset, len: self.len / 2, element: PhantomData }
    }
}

impl<T: Copy> Shared<T> {
    /// The view from element `offset` on.
    #[inline(always)]
    pub fn at(self, offset: u32) -> Self {
        #[cfg(target_os = "cuda")]
        return Shared { ptr: self.ptr.wrapping_add(offset as usize), element: PhantomData };
        #[cfg(not(target_os = "cuda"))]
        Shared {
            offset: self.offset + offset as usize * size_of::<T>(),
            len: self.len.saturating_sub(offset as usize),
            element: PhantomData,
        }
    }

    /// Element `i`.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn get(self, i: u32) -> T {
        // SAFETY: dynamic_shared_mem's contract covers element i; the executor checks it in `element`.
        unsafe { self.element(i, false).read() }
    }

    /// Stores `value` in element `i`.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn set(self, i: u32, value: T) {
        // SAFETY: dynamic_shared_mem's contract covers element i; the executor checks it in `element`.
        unsafe { self.element(i, true).write(value) }
    }

    /// Begins to copy element `at` of `from` to element `i`, or zero where it is not `live`; then `at` may lie anywhere.
    ///
    /// Element `i` may be touched when this thread has waited for the copy ([`copy::wait`](crate::copy::wait)), by others after
    /// a barrier behind that.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn copy_async(self, i: u32, from: Global<T>, at: usize, live: bool) {
        #[cfg(target_os = "cuda")]
        // SAFETY: dynamic_shared_mem's contract covers element i, the view's contract element `at` where it is live; the
        // executor checks both.
        unsafe {
            crate::copy::element(self.ptr.wrapping_add(i as usize), from.as_ptr().wrapping_add(at), live)
        }
        #[cfg(not(target_os = "cuda"))]
        {
            let (bytes, zeros) = (size_of::<T>(), [0u8; 16]);
            let value = live.then(|| from.get(at));
            let source = match &value {
                // SAFETY: a scalar has no padding; the slice covers it.
                Some(value) => unsafe {
                    core::slice::from_raw_parts((value as *const T).cast::<u8>(), bytes)
                },
                None => &zeros[..bytes],
            };
            let (place, piece) = (self.offset + i as usize * bytes, align_of::<T>());
            for (index, part) in source.chunks(piece).enumerate() {
                simt::copy_async(self.offset, self.len * bytes, place + index * piece, part);
            }
        }
    }

    /// As [`copy_async`](Self::copy_async), the elements from there on that fill 16 bytes, to which both are aligned.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn copy_vector_async(self, i: u32, from: Global<T>, at: usize, live: bool)
    where
        T: Vectors,
    {
        #[cfg(target_os = "cuda")]
        // SAFETY: as for `copy_async`, and the caller aligns both.
        unsafe {
            let (to, from) = (self.ptr.wrapping_add(i as usize), from.as_ptr().wrapping_add(at));
            crate::copy::vector(to.cast(), from.cast(), live)
        }
        #[cfg(not(target_os = "cuda"))]
        {
            let value = live.then(|| from.get_vector(at));
            let source = match &value {
                // SAFETY: scalars have no padding; a vector of them fills 16 bytes.
                Some(value) => unsafe {
                    core::slice::from_raw_parts((value as *const T::Vector).cast::<u8>(), 16)
                },
                None => &[0u8; 16][..],
            };
            let bytes = size_of::<T>();
            simt::copy_async(self.offset, self.len * bytes, self.offset + i as usize * bytes, source);
        }
    }

    /// Elements `i..i + N`, where element `i` is aligned to 16 bytes: as few and as wide loads as there can be.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn get_array<const N: usize>(self, i: u32) -> [T; N] {
        #[cfg(target_os = "cuda")]
        {
            #[repr(C, align(16))]
            #[derive(Clone, Copy)]
            struct Row<T, const N: usize>([T; N]);
            // SAFETY: dynamic_shared_mem's contract covers the elements and the caller aligns i.
            unsafe { (self.ptr.wrapping_add(i as usize) as *const Row<T, N>).read().0 }
        }
        #[cfg(not(target_os = "cuda"))]
        {
            // One access for every 16 bytes, as on the device; all but the first are aligned if it is.
            let wide = (16 / size_of::<T>()).max(1);
            let mut values = [const { MaybeUninit::<T>::uninit() }; N];
            for start in (0..N).step_by(wide) {
                let part = &mut values[start..N.min(start + wide)];
                let from = self.checked(i as usize + start, part.len(), 16, simt::Access::Read);
                // SAFETY: the executor has checked the access to as many elements as the part has.
                unsafe { part.as_mut_ptr().cast::<T>().copy_from_nonoverlapping(from, part.len()) }
            }
            // SAFETY: the parts cover the array.
            values.map(|value| unsafe { value.assume_init() })
        }
    }

    /// The elements from `i` on that fill 16 bytes, by one load; element `i` is aligned to 16 bytes.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn get_vector(self, i: u32) -> T::Vector
    where
        T: Vectors,
    {
        // SAFETY: dynamic_shared_mem's contract covers the elements and the caller aligns i; the executor checks both.
        unsafe { (self.vector(i, false) as *const Aligned<T::Vector>).read().0 }
    }

    /// Stores a vector in the elements from `i` on, by one store; element `i` is aligned to 16 bytes.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn set_vector(self, i: u32, vector: T::Vector)
    where
        T: Vectors,
    {
        // SAFETY: as for `get_vector`.
        unsafe { (self.vector(i, true) as *mut Aligned<T::Vector>).write(Aligned(vector)) }
    }

    #[cfg(target_os = "cuda")]
    #[inline(always)]
    fn vector(self, i: u32, _write: bool) -> *mut T {
        self.ptr.wrapping_add(i as usize)
    }

    #[cfg(not(target_os = "cuda"))]
    #[track_caller]
    fn vector(self, i: u32, write: bool) -> *mut T
    where
        T: Vectors,
    {
        let access = if write { simt::Access::Write } else { simt::Access::Read };
        self.checked(i as usize, T::LANES, 16, access)
    }

    #[cfg(target_os = "cuda")]
    #[inline(always)]
    pub(crate) fn element(self, i: u32, _write: bool) -> *mut T {
        self.ptr.wrapping_add(i as usize)
    }

    #[cfg(not(target_os = "cuda"))]
    #[track_caller]
    pub(crate) fn element(self, i: u32, write: bool) -> *mut T {
        let access = if write { simt::Access::Write } else { simt::Access::Read };
        self.checked(i as usize, 1, align_of::<T>(), access)
    }

    /// Address of elements `i..i + count`, for one access that the executor has checked.
    #[cfg(not(target_os = "cuda"))]
    #[track_caller]
    fn checked(self, i: usize, count: usize, align: usize, access: simt::Access) -> *mut T {
        let bytes = size_of::<T>();
        let (view_bytes, at) = (self.len * bytes, self.offset + i * bytes);
        simt::shared_view_access(self.offset, view_bytes, at, count * bytes, align, access) as *mut T
    }
}
