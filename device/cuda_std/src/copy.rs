//! Asynchronous copies from global to shared memory, which take no registers: `cp.async` (sm_80).
//!
//! [`Shared::copy_async`](crate::shared::Shared::copy_async) and
//! [`copy_vector_async`](crate::shared::Shared::copy_vector_async) begin one. A thread makes groups of its copies with
//! [`commit`] and waits for the older ones with [`wait`]; then what *it* has copied is there for itself, and for the block
//! after a barrier. The executor does a copy when its thread waits for it, so that what is read earlier is found.

/// Makes a group of the copies that this thread has begun since its last group; the group may be empty.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn commit() {
    #[cfg(target_os = "cuda")]
    // SAFETY: no operands; orders this thread's own copies.
    unsafe {
        core::arch::asm!("cp.async.commit_group;", options(nostack))
    }
    #[cfg(not(target_os = "cuda"))]
    simt::copy_commit();
}

/// Waits for this thread's groups of copies, all but the latest `PENDING`.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn wait<const PENDING: usize>() {
    #[cfg(target_os = "cuda")]
    // SAFETY: waits for this thread's own copies. Without `nomem`, no access moves across it.
    unsafe {
        core::arch::asm!("cp.async.wait_group {n};", n = const PENDING, options(nostack))
    }
    #[cfg(not(target_os = "cuda"))]
    simt::copy_wait(PENDING);
}

/// Copies `size_of::<T>()` bytes in pieces as `T` is aligned, or zeros them.
///
/// # Safety
/// `to` is an element of the block's shared memory, `from` one of global memory where `live`; both aligned for `T`.
#[cfg(target_os = "cuda")]
#[inline(always)]
pub(crate) unsafe fn element<T>(to: *mut T, from: *const T, live: bool) {
    const { assert!(align_of::<T>() == 4 || align_of::<T>() == 8, "pieces have 4 or 8 bytes") }
    let (size, align) = (size_of::<T>(), align_of::<T>());
    let mut at = 0;
    while at < size {
        let (to, from) = (to.wrapping_byte_add(at), from.wrapping_byte_add(at));
        // Of a copy of no bytes the source is not read, and the rest of the piece is zeroed.
        let bytes = if live { align as u32 } else { 0 };
        if align == 4 {
            // SAFETY: the contract of this function.
            unsafe { piece::<4>(to.cast(), from.cast(), bytes) }
        } else {
            // SAFETY: as above.
            unsafe { piece::<8>(to.cast(), from.cast(), bytes) }
        }
        at += align;
    }
}

/// # Safety
/// As for [`element`], a piece of it.
#[cfg(target_os = "cuda")]
#[inline(always)]
unsafe fn piece<const BYTES: usize>(to: *mut u8, from: *const u8, bytes: u32) {
    // SAFETY: the contract of this function; the addresses are turned into those of their spaces.
    unsafe {
        core::arch::asm!(
            "{{ .reg .b64 s; .reg .b32 t; .reg .b64 g; cvta.to.shared.u64 s, {to}; cvt.u32.u64 t, s;",
            "cvta.to.global.u64 g, {from}; cp.async.ca.shared.global [t], [g], {n}, {bytes}; }}",
            to = in(reg64) to, from = in(reg64) from, n = const BYTES, bytes = in(reg32) bytes,
            options(nostack)
        )
    }
}

/// Copies 16 bytes past the first cache, or zeros them.
///
/// # Safety
/// `to` is in the block's shared memory, `from` in global memory where `live`; both aligned to 16 bytes.
#[cfg(target_os = "cuda")]
#[inline(always)]
pub(crate) unsafe fn vector(to: *mut u8, from: *const u8, live: bool) {
    let bytes = if live { 16 } else { 0 };
    // SAFETY: the contract of this function; the addresses are turned into those of their spaces.
    unsafe {
        core::arch::asm!(
            "{{ .reg .b64 s; .reg .b32 t; .reg .b64 g; cvta.to.shared.u64 s, {to}; cvt.u32.u64 t, s;",
            "cvta.to.global.u64 g, {from}; cp.async.cg.shared.global [t], [g], 16, {bytes}; }}",
            to = in(reg64) to, from = in(reg64) from, bytes = in(reg32) bytes,
            options(nostack)
        )
    }
}
