//! Atomics on elements of global memory, relaxed; order by [`fence_device`].
//!
//! LLVM drops the ordering of some NVPTX read-modify-write operations (rust-lang issue 136480), so none is
//! offered: a fence says what it orders.

use crate::global::GlobalMut;

/// Integers with atomic operations.
pub trait AtomicInt: Copy {
    #[doc(hidden)]
    unsafe fn fetch_add(ptr: *mut Self, value: Self) -> Self;
    #[doc(hidden)]
    unsafe fn fetch_max(ptr: *mut Self, value: Self) -> Self;
    #[doc(hidden)]
    unsafe fn fetch_min(ptr: *mut Self, value: Self) -> Self;
    #[doc(hidden)]
    unsafe fn exchange(ptr: *mut Self, value: Self) -> Self;
    #[doc(hidden)]
    unsafe fn compare_exchange(ptr: *mut Self, current: Self, new: Self) -> Self;
    #[doc(hidden)]
    unsafe fn load(ptr: *mut Self) -> Self;
}

macro_rules! atomic_int {
    ($($t:ty, $atomic:ident;)*) => { $(
        impl AtomicInt for $t {
            #[inline(always)]
            unsafe fn fetch_add(ptr: *mut Self, value: Self) -> Self {
                // SAFETY: the caller's view covers the element, and nobody accesses it otherwise meanwhile.
                unsafe { core::sync::atomic::$atomic::from_ptr(ptr) }.fetch_add(value, Relaxed)
            }
            #[inline(always)]
            unsafe fn fetch_max(ptr: *mut Self, value: Self) -> Self {
                // SAFETY: as in fetch_add.
                unsafe { core::sync::atomic::$atomic::from_ptr(ptr) }.fetch_max(value, Relaxed)
            }
            #[inline(always)]
            unsafe fn fetch_min(ptr: *mut Self, value: Self) -> Self {
                // SAFETY: as in fetch_add.
                unsafe { core::sync::atomic::$atomic::from_ptr(ptr) }.fetch_min(value, Relaxed)
            }
            #[inline(always)]
            unsafe fn exchange(ptr: *mut Self, value: Self) -> Self {
                // SAFETY: as in fetch_add.
                unsafe { core::sync::atomic::$atomic::from_ptr(ptr) }.swap(value, Relaxed)
            }
            #[inline(always)]
            unsafe fn compare_exchange(ptr: *mut Self, current: Self, new: Self) -> Self {
                // SAFETY: as in fetch_add.
                let cell = unsafe { core::sync::atomic::$atomic::from_ptr(ptr) };
                match cell.compare_exchange(current, new, Relaxed, Relaxed) { Ok(v) | Err(v) => v }
            }
            #[inline(always)]
            unsafe fn load(ptr: *mut Self) -> Self {
                // SAFETY: as in fetch_add.
                unsafe { core::sync::atomic::$atomic::from_ptr(ptr) }.load(Relaxed)
            }
        }
    )* };
}
use core::sync::atomic::Ordering::Relaxed;
atomic_int! {
    u32, AtomicU32;
    i32, AtomicI32;
    u64, AtomicU64;
}

macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident($($arg:ident),*);)*) => { $(
        $(#[$doc])*
        #[inline(always)]
        #[cfg_attr(not(target_os = "cuda"), track_caller)]
        pub fn $name<T: AtomicInt>(view: GlobalMut<T>, i: usize $(, $arg: T)*) -> T {
            let ptr = element(view, i);
            // SAFETY: the view's contract covers element i, which the executor has checked.
            unsafe { T::$name(ptr $(, $arg)*) }
        }
    )* };
}
operations! {
    /// Adds `value` to element `i`; returns what was there.
    fetch_add(value);
    /// Raises element `i` to `value`; returns what was there.
    fetch_max(value);
    /// Lowers element `i` to `value`; returns what was there.
    fetch_min(value);
    /// Stores `value` in element `i`; returns what was there.
    exchange(value);
    /// Stores `new` in element `i` if it holds `current`; returns what was there.
    compare_exchange(current, new);
    /// Element `i`, not cached.
    load();
}

#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
fn element<T: Copy>(view: GlobalMut<T>, i: usize) -> *mut T {
    let ptr = view.as_ptr().wrapping_add(i);
    #[cfg(not(target_os = "cuda"))]
    simt::global_access(
        view.as_ptr() as *const u8,
        view.len() * size_of::<T>(),
        ptr as *const u8,
        size_of::<T>(),
        align_of::<T>(),
        simt::Access::Atomic,
    );
    ptr
}

/// Orders this thread's accesses to global memory before the fence and after it, as the device sees them.
#[inline(always)]
pub fn fence_device() {
    #[cfg(target_os = "cuda")]
    {
        unsafe extern "C" {
            #[link_name = "llvm.nvvm.membar.gl"]
            fn membar_gl();
        }
        // SAFETY: a fence has no operands.
        unsafe { membar_gl() }
    }
    #[cfg(not(target_os = "cuda"))]
    core::sync::atomic::fence(core::sync::atomic::Ordering::SeqCst);
}
