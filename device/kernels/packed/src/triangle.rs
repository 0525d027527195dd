//! Where the elements of the triangle lie, and how they come there.
//!
//! Tiles of 32 by 32, of which those of the lower triangle are kept, those on the diagonal whole. Lane = row of a tile; of
//! each column of tiles a warp has some groups of columns. The tiles of the first columns are in shared memory, each
//! element with its own thread as those in registers are: so nothing is exchanged there, and no bank conflicts.

use crate::shape::{Form, Offsets, group, padded, threads, tiles, warps};
use cuda_std::partition::Tile;
use cuda_std::prelude::*;
use cuda_std::vector::Vectors as Wide;
use device_linalg::layout::Item;

/// Views of a block's shared memory.
#[derive(Clone, Copy)]
pub(crate) struct Memory<T: Scalar> {
    pub parts: Shared<T>,
    pub column: Shared<T>,
    pub own: Shared<T>,
    pub pivot: Shared<T>,
    pub sums: Shared<T::Real>,
    /// What rows give to columns, by lane.
    pub turned: Shared<T>,
    /// From this thread's first word on.
    tiles: Shared<T>,
}

/// A thread's part of the triangle. Rows and columns count so that the last is the last of the padded order: the kernel of
/// a larger order leaves out what it would have done with by then.
#[derive(Clone, Copy)]
pub(crate) struct Triangle<T: Scalar, const ROWS: usize, const COLUMNS: usize, const SHARED: usize> {
    /// By column of tiles, row of tiles, column.
    slots: [[[T; COLUMNS]; ROWS]; ROWS],
    pub memory: Memory<T>,
    pub tile: Tile,
    pub warp: u32,
}

impl<T: Scalar, const ROWS: usize, const COLUMNS: usize, const SHARED: usize>
    Triangle<T, ROWS, COLUMNS, SHARED>
{
    pub const WARPS: usize = warps(COLUMNS);
    pub const PADDED: u32 = padded(ROWS) as u32;
    pub const GROUP: usize = group(size_of::<T::Real>());
    /// Groups of a warp in a column of tiles.
    pub const GROUPS: usize = COLUMNS / Self::GROUP;

    /// All zero; nothing in shared memory is set.
    #[inline(always)]
    pub fn new() -> Self {
        let form = Form { rows: ROWS, columns: COLUMNS, in_shared: SHARED };
        let at = Offsets::new(form, size_of::<T>(), size_of::<T::Real>());
        let order = padded(ROWS);
        // SAFETY: the launch gives Offsets::end bytes; the parts are disjoint, and aligned as Offsets rounds them.
        let memory = unsafe {
            Memory {
                parts: dynamic_shared_mem(at.parts, 2 * Self::WARPS * order),
                column: dynamic_shared_mem(at.column, 2 * order),
                own: dynamic_shared_mem(at.own, 3 * order),
                pivot: dynamic_shared_mem(at.pivot, 2),
                sums: dynamic_shared_mem(at.sums, 4 * Self::WARPS),
                turned: dynamic_shared_mem(at.turned, 128 * T::LANES * Self::WARPS),
                tiles: dynamic_shared_mem(at.tiles, tiles(ROWS, SHARED) * 1024)
                    .at(T::LANES as u32 * thread::thread_idx_x()),
            }
        };
        let tile = Tile::native(32);
        // From one lane, so that the compiler knows that branches on it are a warp's: what lies in them is scheduled as one.
        // And of a block of one warp too: what is added to it is an address in a register, which else is made for each group.
        let warp = tile.shuffle_idx(warp::warp_id(), 0);
        Triangle { slots: [[[T::ZERO; COLUMNS]; ROWS]; ROWS], memory, tile, warp }
    }

    /// First column of group `q` of this warp in column `b` of tiles. All warps come to the end of such a column together,
    /// but for a group.
    #[inline(always)]
    pub fn first_column(&self, b: usize, q: usize) -> u32 {
        (32 * b + Self::GROUP * Self::WARPS * q) as u32 + Self::GROUP as u32 * self.warp
    }

    /// Whether this lane's rows are columns of this warp.
    #[inline(always)]
    pub fn is_own(&self) -> bool {
        Self::WARPS == 1 || self.tile.rank() / Self::GROUP as u32 % Self::WARPS as u32 == self.warp
    }

    /// The place of word `word` of 16 bytes of group `q` in tile (`r`, `b`), from this thread's first on: consecutive threads
    /// have consecutive words.
    #[inline(always)]
    fn place(r: usize, b: usize, q: usize, word: usize) -> u32 {
        let words = COLUMNS / T::LANES;
        let tile = tiles(ROWS, b) + r - b;
        let index = tile * words + q * (Self::GROUP / T::LANES) + word;
        (T::LANES * (index * threads(COLUMNS))) as u32
    }

    /// This lane's elements of group `q` in tile (`r`, `b`).
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn get(&self, r: usize, b: usize, q: usize) -> [T; 4] {
        let mut elements = [T::ZERO; 4];
        if b < SHARED {
            for word in 0..Self::GROUP / T::LANES {
                let vector = self.memory.tiles.get_vector(Self::place(r, b, q, word));
                for lane in 0..T::LANES {
                    elements[word * T::LANES + lane] = vector.as_ref()[lane];
                }
            }
        } else {
            for c in 0..Self::GROUP {
                elements[c] = self.slots[b][r][q * Self::GROUP + c];
            }
        }
        elements
    }

    /// Sets what [`get`](Self::get) reads.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    pub fn set(&mut self, r: usize, b: usize, q: usize, elements: [T; 4]) {
        if b < SHARED {
            for word in 0..Self::GROUP / T::LANES {
                let mut vector = <T as Wide>::splat(T::ZERO);
                for lane in 0..T::LANES {
                    vector.as_mut()[lane] = elements[word * T::LANES + lane];
                }
                self.memory.tiles.set_vector(Self::place(r, b, q, word), vector);
            }
        } else {
            for c in 0..Self::GROUP {
                self.slots[b][r][q * Self::GROUP + c] = elements[c];
            }
        }
    }

    /// Calls `f` with tile (`r`, `b`), group and its first column, for each group that is looked at from column `start` on.
    #[inline(always)]
    fn for_each(&mut self, start: u32, mut f: impl FnMut(&mut Self, (usize, usize), usize, u32)) {
        for b in 0..ROWS {
            for q in 0..Self::GROUPS {
                let first = self.first_column(b, q);
                if !self.is_done(b, q, start) {
                    for r in b..ROWS {
                        f(self, (r, b), q, first);
                    }
                }
            }
        }
    }

    /// Reads the item from the triangle `upper` (else lower), unscaled. Rows and columns before it are zero. Returns this
    /// thread's largest component; `None` where one is not finite.
    #[inline(always)]
    pub fn load(&mut self, item: Item<T>, upper: bool) -> Option<T::Real> {
        let start = Self::PADDED - item.n;
        let mut finite = true;
        let zero = <T::Real as Real>::ZERO;
        let mut largest = zero;
        self.for_each(start, |triangle, (r, b), q, first| {
            let row = 32 * r as u32 + triangle.tile.rank();
            let mut elements = [T::ZERO; 4];
            for c in 0..Self::GROUP {
                let column = first + c as u32;
                if row >= start && column >= start {
                    let stored = if upper { row <= column } else { row >= column };
                    let (i, j) = if stored { (row, column) } else { (column, row) };
                    let element = item.column(j - start).get((i - start) as usize);
                    let im = if row == column { zero } else { element.im() };
                    elements[c] = T::from_parts(element.re(), if stored { im } else { -im });
                }
                let x = elements[c];
                // Parts one by one: the sum of two finite ones may overflow.
                finite &= x.re().is_finite() && x.im().is_finite();
                largest = largest.max(x.re().abs()).max(x.im().abs());
            }
            triangle.set(r, b, q, elements);
        });
        if finite { Some(largest) } else { None }
    }

    /// Brings the largest element near 1 by a power of two, which is returned; `None` where an element is not finite. The
    /// answer is the block's.
    #[inline(always)]
    pub fn normalize(&mut self, n: u32, largest: Option<T::Real>) -> Option<T::Real> {
        let sums = self.memory.sums;
        let most = self.tile.reduce(largest.unwrap_or(<T::Real as Real>::ZERO), Real::max);
        if self.tile.rank() == 0 {
            sums.set(self.warp, most);
        }
        let bad = thread::sync_threads_or(largest.is_none());
        let mut most = <T::Real as Real>::ZERO;
        for warp in 0..Self::WARPS {
            most = most.max(sums.get(warp as u32));
        }
        let scale = most.normalizer();
        if bad {
            return None;
        }
        self.for_each(Self::PADDED - n, |triangle, (r, b), q, _| {
            let elements = triangle.get(r, b, q);
            triangle.set(r, b, q, elements.map(|x| x.scale(scale)));
        });
        // The sums are used again.
        thread::sync_threads();
        Some(scale)
    }
}
