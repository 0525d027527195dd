//! What all kernels of this crate are given.

use cuda_std::prelude::*;
use device_linalg::layout::Items;

/// The kernels' arguments.
#[derive(Clone, Copy)]
pub struct Arguments<T> {
    pub d: GlobalMut<T>,
    pub e: Global<T>,
    pub q: GlobalMut<T>,
    pub status: GlobalMut<i32>,
    /// The batch of `q`.
    pub items: Items,
    pub iteration: Iteration,
}

/// How to iterate, and what from and to.
#[derive(Clone, Copy)]
pub struct Iteration {
    pub sweeps_per_value: u32,
    pub wilkinson: u32,
    pub back_transform: u32,
    pub sort: u32,
}

impl<T: Real> Arguments<T> {
    /// Diagonal, or eigenvalues, of an item.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn diagonal(&self, item: u64) -> GlobalMut<T> {
        self.d.at(item as usize * self.items.n as usize)
    }

    /// Element `i` of an item's off-diagonal.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn coupling(&self, item: u64, i: u32) -> T {
        self.e.get(item as usize * (self.items.n as usize - 1) + i as usize)
    }

    /// The item's basis.
    #[inline(always)]
    pub fn basis(&self, item: u64) -> GlobalMut<T> {
        self.q.at((item * self.items.stride) as usize)
    }
}

/// 1 where `equal`, else 0.
#[inline(always)]
pub fn kronecker<R: Real>(equal: bool) -> R {
    if equal { R::ONE } else { R::ZERO }
}

/// Item and element of the item of element `index` of items of `count`.
#[inline(always)]
pub fn split_index(index: u32, count: u32) -> (u32, u32) {
    // A plain division by a run-time value holds a panic, which is a call.
    let item = index.checked_div(count).unwrap_or(0);
    (item, index - item * count)
}
