//! Global memory as typed views.
//!
//! A view is a pointer and a length in elements, the same type on host and device. Kernels take views as
//! parameters; the macro passes pointer and length as two bare PTX parameters, so that loads are `ld.global`.
//! Release device builds do not check the index; under the executor every access is checked and shadowed.

use core::mem::size_of;

use crate::vector::{Aligned, Vectors};

/// Read-only view of `len` elements in global memory.
#[derive(Debug)]
pub struct Global<T> {
    ptr: *const T,
    len: usize,
}

/// View of `len` elements in global memory that the kernel may write.
#[derive(Debug)]
pub struct GlobalMut<T> {
    ptr: *mut T,
    len: usize,
}

/// `N` consecutive elements that one instruction moves.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
struct Wide<T, const N: usize>([T; N]);

/// A load into registers.
#[cfg(target_os = "cuda")]
macro_rules! load {
    ($text:literal, $ptr:expr, $($x:ident: $register:ident),*) => {
        core::arch::asm!($text, p = in(reg64) $ptr, $($x = out($register) $x,)* options(pure, readonly, nostack))
    };
}
/// Reads `ptr` by one load.
///
/// # Safety
/// `ptr` is valid for a read in global memory and aligned to the size of `T`, which is 4, 8 or 16 bytes.
#[cfg(target_os = "cuda")]
#[inline(always)]
unsafe fn evict_first<T: Copy>(ptr: *const T) -> T {
    const { assert!(matches!(size_of::<T>(), 4 | 8 | 16), "a load moves 4, 8 or 16 bytes") }
    // The version of PTX that goes with older ones has no hint.
    let hint = crate::arch::arch() >= 900;
    // SAFETY: a load of as many bytes as T has, by the contract; the registers hold its bits.
    unsafe {
        match size_of::<T>() {
            4 => {
                let x: u32;
                if hint {
                    load!("ld.global.L1::evict_first.b32 {x}, [{p}];", ptr, x: reg32);
                } else {
                    load!("ld.global.b32 {x}, [{p}];", ptr, x: reg32);
                }
                core::mem::transmute_copy(&x)
            }
            8 => {
                let x: u64;
                if hint {
                    load!("ld.global.L1::evict_first.b64 {x}, [{p}];", ptr, x: reg64);
                } else {
                    load!("ld.global.b64 {x}, [{p}];", ptr, x: reg64);
                }
                core::mem::transmute_copy(&x)
            }
            _ => {
                let (x, y): (u64, u64);
                if hint {
                    load!("ld.global.L1::evict_first.v2.b64 {{{x}, {y}}}, [{p}];", ptr, x: reg64, y: reg64);
                } else {
                    load!("ld.global.v2.b64 {{{x}, {y}}}, [{p}];", ptr, x: reg64, y: reg64);
                }
                core::mem::transmute_copy(&[x, y])
            }
        }
    }
}

/// Reads `ptr`.
///
/// # Safety
/// `ptr` is valid for a read.
#[cfg(not(target_os = "cuda"))]
#[inline(always)]
unsafe fn evict_first<T: Copy>(ptr: *const T) -> T {
    // SAFETY: the caller's.
    unsafe { ptr.read() }
}

macro_rules! view {
    ($view:ident, $pointer:ty) => {
        impl<T> Clone for $view<T> {
            #[inline(always)]
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<T> Copy for $view<T> {}

        // SAFETY: a view is an address; whoever reads through it answers for the accesses (see from_raw_parts).
        #[cfg(not(target_os = "cuda"))]
        unsafe impl<T> Send for $view<T> {}
        // SAFETY: as above; a view has no interior state.
        #[cfg(not(target_os = "cuda"))]
        unsafe impl<T> Sync for $view<T> {}

        impl<T: Copy> $view<T> {
            /// A view of `len` elements from `ptr`.
            ///
            /// # Safety
            /// For as long as a launch uses the view, `ptr` is aligned and valid for `len` elements in the
            /// memory of the device that runs the launch, and the kernel stays within them.
            #[inline(always)]
            pub const unsafe fn from_raw_parts(ptr: $pointer, len: usize) -> Self {
                Self { ptr, len }
            }

            /// Address of the first element.
            #[inline(always)]
            pub const fn as_ptr(self) -> $pointer {
                self.ptr
            }

            /// Elements in the view.
            #[inline(always)]
            pub const fn len(self) -> usize {
                self.len
            }

            /// Whether the view has no elements.
            #[inline(always)]
            pub const fn is_empty(self) -> bool {
                self.len == 0
            }

            /// The view from element `offset` on; empty where `offset` is past the end.
            #[inline(always)]
            pub const fn at(self, offset: usize) -> Self {
                Self { ptr: self.ptr.wrapping_add(offset), len: self.len.saturating_sub(offset) }
            }

            /// Element `i`.
            #[inline(always)]
            #[cfg_attr(not(target_os = "cuda"), track_caller)]
            pub fn get(self, i: usize) -> T {
                let ptr = self.ptr.wrapping_add(i);
                self.check::<1>(i, false);
                // SAFETY: the view's contract covers element i; the executor has checked it just above.
                unsafe { ptr.read() }
            }

            /// Element `i`, whose line is the first that the L1 cache gives up: for what is read once, beside what is
            /// read again. Element `i` is aligned to its size, of 4, 8 or 16 bytes, and moves in one access.
            #[inline(always)]
            #[cfg_attr(not(target_os = "cuda"), track_caller)]
            pub fn get_evict_first(self, i: usize) -> T {
                let ptr = self.ptr.wrapping_add(i);
                #[cfg(not(target_os = "cuda"))]
                simt::global_access(
                    self.ptr as *const u8,
                    self.len * size_of::<T>(),
                    ptr as *const u8,
                    size_of::<T>(),
                    size_of::<T>(),
                    simt::Access::Read,
                );
                // SAFETY: the view's contract covers element i, the caller aligns it, and the executor has checked
                // both just above.
                unsafe { evict_first(ptr) }
            }

            /// Elements `i..i + N` by one load of `N * size_of::<T>()` = 16 bytes, to which `i` is aligned.
            #[inline(always)]
            #[cfg_attr(not(target_os = "cuda"), track_caller)]
            pub fn get_wide<const N: usize>(self, i: usize) -> [T; N] {
                const { assert!(N * size_of::<T>() == 16, "a wide access moves 16 bytes") }
                let ptr = self.ptr.wrapping_add(i) as *const Wide<T, N>;
                self.check::<N>(i, false);
                // SAFETY: the view's contract covers the elements, the caller aligns i to 16 bytes, and the
                // executor has checked both just above.
                unsafe { ptr.read().0 }
            }

            /// The elements from `i` on that fill 16 bytes, by one load; element `i` is aligned to 16 bytes.
            #[inline(always)]
            #[cfg_attr(not(target_os = "cuda"), track_caller)]
            pub fn get_vector(self, i: usize) -> T::Vector
            where
                T: Vectors,
            {
                let ptr = self.ptr.wrapping_add(i) as *const Aligned<T::Vector>;
                self.check_vector(i, false);
                // SAFETY: as for `get_wide`.
                unsafe { ptr.read().0 }
            }

            #[cfg(target_os = "cuda")]
            #[inline(always)]
            fn check_vector(self, _i: usize, _write: bool) {}

            #[cfg(not(target_os = "cuda"))]
            #[track_caller]
            fn check_vector(self, i: usize, write: bool) {
                let (view, at) = (self.ptr as *const u8, self.ptr.wrapping_add(i) as *const u8);
                let access = if write { simt::Access::Write } else { simt::Access::Read };
                simt::global_access(view, self.len * size_of::<T>(), at, 16, 16, access);
            }

            #[cfg(target_os = "cuda")]
            #[inline(always)]
            fn check<const N: usize>(self, _i: usize, _write: bool) {}

            #[cfg(not(target_os = "cuda"))]
            #[track_caller]
            fn check<const N: usize>(self, i: usize, write: bool) {
                let align = if N == 1 { align_of::<T>() } else { 16 };
                simt::global_access(
                    self.ptr as *const u8,
                    self.len * size_of::<T>(),
                    self.ptr.wrapping_add(i) as *const u8,
                    N * size_of::<T>(),
                    align,
                    if write { simt::Access::Write } else { simt::Access::Read },
                );
            }
        }
    };
}
view!(Global, *const T);
view!(GlobalMut, *mut T);

impl<T: Copy> GlobalMut<T> {
    /// Stores `value` in element `i`.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn set(self, i: usize, value: T) {
        let ptr = self.ptr.wrapping_add(i);
        self.check::<1>(i, true);
        // SAFETY: the view's contract covers element i; the executor has checked it just above.
        unsafe { ptr.write(value) }
    }

    /// Stores `values` in elements `i..i + N` by one store of 16 bytes, to which `i` is aligned.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn set_wide<const N: usize>(self, i: usize, values: [T; N]) {
        const { assert!(N * size_of::<T>() == 16, "a wide access moves 16 bytes") }
        let ptr = self.ptr.wrapping_add(i) as *mut Wide<T, N>;
        self.check::<N>(i, true);
        // SAFETY: the view's contract covers the elements, the caller aligns i to 16 bytes, and the executor
        // has checked both just above.
        unsafe { ptr.write(Wide(values)) }
    }

    /// Stores a vector in the elements from `i` on, by one store; element `i` is aligned to 16 bytes.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn set_vector(self, i: usize, vector: T::Vector)
    where
        T: Vectors,
    {
        let ptr = self.ptr.wrapping_add(i) as *mut Aligned<T::Vector>;
        self.check_vector(i, true);
        // SAFETY: as for `set_wide`.
        unsafe { ptr.write(Aligned(vector)) }
    }

    /// The same elements, read only.
    #[inline(always)]
    pub const fn as_global(self) -> Global<T> {
        Global { ptr: self.ptr, len: self.len }
    }
}
