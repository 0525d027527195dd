//! Happens-before within a block: vector clocks of the lanes of each warp, and block barriers.
//!
//! Every warp has a time that grows when lanes of it synchronise. An access is stamped with its warp's
//! time. It is ordered before a later access of another lane if a synchronisation that both took part in,
//! directly or through others, lies between: a block barrier, or within a warp a `sync_warp`. Shuffles,
//! votes and atomics order nothing, as in CUDA.

/// Time of a warp; 0 is before everything.
pub(crate) type Time = u32;

struct WarpClock {
    time: Time,
    /// Everything that any lane did before this time is ordered before everything after, in the block.
    barrier: Time,
    /// The same, within the warp.
    full: Time,
    /// `known[m][l]`: what lane l did before this time is ordered before what lane m does now.
    known: Box<[[Time; 32]; 32]>,
}

/// The clocks of a block.
pub(crate) struct Clocks {
    warps: Vec<WarpClock>,
}

impl Clocks {
    pub(crate) fn new(warps: usize) -> Self {
        let fresh = || WarpClock { time: 1, barrier: 0, full: 0, known: Box::new([[0; 32]; 32]) };
        Self { warps: (0..warps).map(|_| fresh()).collect() }
    }

    /// The stamp of an access that `thread` does now.
    #[inline]
    pub(crate) fn now(&self, thread: u32) -> Time {
        self.warps[(thread >> 5) as usize].time
    }

    /// Time of a warp before which everything is ordered for the whole block.
    #[inline]
    pub(crate) fn barrier_of(&self, warp: u32) -> Time {
        self.warps[warp as usize].barrier
    }

    /// Time of a warp before which everything is ordered for every lane of the warp.
    #[inline]
    pub(crate) fn full_of(&self, warp: u32) -> Time {
        self.warps[warp as usize].full
    }

    /// Whether what `thread` did at `time` is ordered before what `me` does now.
    #[inline]
    pub(crate) fn ordered(&self, thread: u32, time: Time, me: u32) -> bool {
        let clock = &self.warps[(thread >> 5) as usize];
        if thread == me || time < clock.barrier {
            return true;
        }
        if thread >> 5 != me >> 5 {
            return false;
        }
        time < clock.full || time < clock.known[(me & 31) as usize][(thread & 31) as usize]
    }

    /// The lanes of `mask` synchronise; `all` says that the warp has no other lane.
    pub(crate) fn sync_warp(&mut self, warp: usize, mask: u32, all: bool) {
        let clock = &mut self.warps[warp];
        clock.time += 1;
        if all {
            clock.full = clock.time;
            return;
        }
        let mut joined = [0; 32];
        for lane in lanes(mask) {
            for (time, &known) in joined.iter_mut().zip(&clock.known[lane]) {
                *time = known.max(*time);
            }
        }
        for lane in lanes(mask) {
            joined[lane] = clock.time;
        }
        for lane in lanes(mask) {
            clock.known[lane] = joined;
        }
    }

    /// All lanes of the block synchronise.
    pub(crate) fn barrier(&mut self) {
        for clock in &mut self.warps {
            clock.time += 1;
            clock.barrier = clock.time;
            clock.full = clock.time;
        }
    }
}

/// The lanes of a mask, ascending.
#[inline]
pub(crate) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let lane = rest.trailing_zeros() as usize;
        (rest != 0).then(|| {
            rest &= rest - 1;
            lane
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sync_orders_its_mask_only() {
        let mut clocks = Clocks::new(1);
        let before = clocks.now(0);
        clocks.sync_warp(0, 0b0011, false);
        assert!(clocks.ordered(0, before, 1));
        assert!(!clocks.ordered(0, before, 2));
        assert!(!clocks.ordered(0, clocks.now(0), 1));
    }

    #[test]
    fn order_is_transitive_through_masks() {
        let mut clocks = Clocks::new(1);
        let before = clocks.now(0);
        clocks.sync_warp(0, 0b0011, false);
        clocks.sync_warp(0, 0b0110, false);
        assert!(clocks.ordered(0, before, 2));
        assert!(!clocks.ordered(0, before, 3));
        assert!(!clocks.ordered(2, before, 0));
    }

    #[test]
    fn only_a_barrier_orders_warps() {
        let mut clocks = Clocks::new(2);
        let before = clocks.now(0);
        clocks.sync_warp(0, u32::MAX, true);
        clocks.sync_warp(1, u32::MAX, true);
        assert!(clocks.ordered(0, before, 31));
        assert!(!clocks.ordered(0, before, 32));
        clocks.barrier();
        assert!(clocks.ordered(0, before, 32));
    }
}
