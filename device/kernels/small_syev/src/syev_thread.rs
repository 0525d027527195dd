//! `syev_thread`: one matrix a thread, cyclic Jacobi in registers.

use cuda_std::prelude::*;
use device_linalg::jacobi::Pencil;
use device_linalg::layout::Items;

/// Shared elements that a thread needs to stage its matrix: an odd number, so that threads meet different banks.
pub const fn staging_elements(n: usize) -> usize {
    (n * n) | 1
}

/// Eigenvalues and vectors of tiny symmetric or Hermitian matrices, one a thread.
///
/// # Layout and shapes
/// `a`: `batch` column-major matrices of order `N`, leading dimension `ld`, `stride` elements apart; the
/// triangle named by `upper` (0: lower) is read. With `VECTORS` overwritten by the eigenvectors, else left as it
/// is. `w`: `batch * N` eigenvalues, ascending. `status`: `batch` elements: 0, the number of pairs still coupled
/// after the last sweep, or -1 where an element read is not finite; where it is not 0 the outputs are NaN.
///
/// # Lanes
/// One thread an item; all indices are static, so the matrix stays in registers.
///
/// # Shared memory
/// [`staging_elements`] elements a thread. Where `staged` is not 0 the items lie back to back, and a block
/// moves its items in and out as one piece, so that global accesses coalesce; else threads access their item
/// directly.
///
/// The budget `max_sweeps` is an argument, so that the compiler does not unroll sweeps; random matrices of order
/// 8 take 5 to 7.
///
/// # Synchronisation
/// Block barriers around the staging; a vote of the warp after each sweep.
///
/// # Numerics
/// Cyclic Jacobi by disjoint pairs. A pair is rotated while `|a_pq| > eps sqrt(|a_pp a_qq|)`: small
/// eigenvalues of graded positive definite matrices keep their relative accuracy. The component of largest
/// modulus of each vector is real and positive.
///
/// # Safety
/// The views cover the items; the launch gives the shared memory; blocks are whole warps.
///
/// # Source
/// Demmel and Veselić, "Jacobi's method is more accurate than QR", 1992; Golub and Van Loan, 8.5.
#[kernel(
    group(T = [f32], N = [1, 2, 3, 4, 5, 6, 7, 8], VECTORS = [true, false], launch_bounds(128)),
    group(T = [f64, c32], N = [1, 2, 3, 4, 5, 6], VECTORS = [true, false], launch_bounds(128)),
    group(T = [c64], N = [1, 2, 3, 4], VECTORS = [true, false], launch_bounds(128))
)]
pub unsafe fn syev_thread<T: Scalar, const N: usize, const VECTORS: bool>(
    a: GlobalMut<T>,
    w: GlobalMut<T::Real>,
    status: GlobalMut<i32>,
    ld: u32,
    stride: u64,
    batch: u64,
    upper: u32,
    staged: u32,
    max_sweeps: u32,
) {
    let items = Items { n: N as u32, ld, stride, batch };
    let block = thread::block_dim_x();
    let thread_index = thread::thread_idx_x();
    let first = thread::block_idx_x() as u64 * block as u64;
    let item = first + thread_index as u64;
    let live = item < batch;
    let elements = staging_elements(N);
    // SAFETY: the launch gives staging_elements a thread.
    let staging = unsafe { dynamic_shared_mem::<T>(0, block as usize * elements) };
    let own = staging.at(thread_index * elements as u32);
    let here = a.at(if live { (item * stride) as usize } else { 0 });

    let mut pencil = Pencil::<T, N>::zero();
    if staged != 0 {
        copy_in::<T, N>(a, first, batch, staging);
        thread::sync_threads();
        if live {
            pencil.load(upper != 0, |row, column| own.get((column * N + row) as u32));
        }
    } else if live {
        pencil.load(upper != 0, |row, column| here.get(column * items.ld as usize + row));
    }

    let bad = !pencil.is_finite();
    let scale = if bad { pencil.clear() } else { pencil.normalize() };
    let coupled = pencil.diagonalize::<VECTORS>(max_sweeps);
    pencil.sort::<VECTORS>();
    let nan = <T::Real as Real>::NAN;
    let unscale = scale.recip();
    let failed = bad || coupled != 0;
    if live {
        status.set(item as usize, if bad { -1 } else { coupled as i32 });
        for k in 0..N {
            let value = pencil.value(k) * unscale;
            w.set(item as usize * N + k, if failed { nan } else { value });
        }
    }
    if VECTORS {
        if !failed {
            pencil.fix_phases();
        }
        let vector = |row: usize, column: usize| {
            if failed { T::from_parts(nan, nan) } else { pencil.vector(row, column) }
        };
        if staged != 0 {
            // The block's own elements were read above; each thread writes its own part only.
            for column in 0..N {
                for row in 0..N {
                    own.set((column * N + row) as u32, vector(row, column));
                }
            }
            thread::sync_threads();
            copy_out::<T, N>(a, first, batch, staging);
        } else if live {
            for column in 0..N {
                for row in 0..N {
                    here.set(column * items.ld as usize + row, vector(row, column));
                }
            }
        }
    }
}

/// Moves the block's items from global memory to the staging, element by element, consecutive lanes abreast.
#[inline(always)]
fn copy_in<T: Scalar, const N: usize>(a: GlobalMut<T>, first: u64, batch: u64, staging: Shared<T>) {
    for_each_element::<N>(first, batch, |from, to| staging.set(to, a.get(from)));
}

/// Moves the block's items back.
#[inline(always)]
fn copy_out<T: Scalar, const N: usize>(a: GlobalMut<T>, first: u64, batch: u64, staging: Shared<T>) {
    for_each_element::<N>(first, batch, |to, from| a.set(to, staging.get(from)));
}

/// Calls `f(global, shared)` for this thread's share of the block's elements.
#[inline(always)]
fn for_each_element<const N: usize>(first: u64, batch: u64, mut f: impl FnMut(usize, u32)) {
    let square = (N * N) as u32;
    let block = thread::block_dim_x();
    let items = if batch - first < block as u64 { (batch - first) as u32 } else { block };
    let base = first as usize * N * N;
    for step in 0..square {
        let element = step * block + thread::thread_idx_x();
        if element < items * square {
            let padded = element / square * staging_elements(N) as u32 + element % square;
            f(base + element as usize, padded);
        }
    }
}
