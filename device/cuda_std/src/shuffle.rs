//! Values that a warp can exchange.

use num_complex::Complex;

/// Ways in which a shuffle picks its source lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[doc(hidden)]
pub enum Source {
    Xor,
    Up,
    Down,
    Idx,
}

/// A value that moves between lanes: 4 or 8 bytes, or a pair of such.
pub trait Shuffle: Copy {
    /// The value of the source lane; `SOURCE` is a [`Source`] as a number, so that it folds.
    #[doc(hidden)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn shuffle(self, source: Source, mask: u32, lane: u32, width: u32) -> Self;
}

#[cfg(target_os = "cuda")]
mod imp {
    use super::Source;
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.shfl.sync.bfly.i32"]
        fn bfly(mask: u32, value: u32, lane: u32, clamp: u32) -> u32;
        #[link_name = "llvm.nvvm.shfl.sync.up.i32"]
        fn up(mask: u32, value: u32, lane: u32, clamp: u32) -> u32;
        #[link_name = "llvm.nvvm.shfl.sync.down.i32"]
        fn down(mask: u32, value: u32, lane: u32, clamp: u32) -> u32;
        #[link_name = "llvm.nvvm.shfl.sync.idx.i32"]
        fn idx(mask: u32, value: u32, lane: u32, clamp: u32) -> u32;
    }
    #[inline(always)]
    pub fn shuffle_32(value: u32, source: Source, mask: u32, lane: u32, width: u32) -> u32 {
        // PTX: bits 8..13 hold the segment mask, bits 0..5 the clamp.
        let segment = (32 - width) << 8;
        // SAFETY: the lanes of `mask` reach the shuffle together; the executor checks it.
        unsafe {
            match source {
                Source::Xor => bfly(mask, value, lane, segment | 31),
                Source::Up => up(mask, value, lane, segment),
                Source::Down => down(mask, value, lane, segment | 31),
                Source::Idx => idx(mask, value, lane, segment | 31),
            }
        }
    }
    #[inline(always)]
    pub fn shuffle_64(value: u64, source: Source, mask: u32, lane: u32, width: u32) -> u64 {
        let low = shuffle_32(value as u32, source, mask, lane, width);
        let high = shuffle_32((value >> 32) as u32, source, mask, lane, width);
        low as u64 | (high as u64) << 32
    }
}

#[cfg(not(target_os = "cuda"))]
mod imp {
    use super::Source;
    use simt::Collective;
    #[track_caller]
    pub fn shuffle_64(value: u64, source: Source, mask: u32, lane: u32, width: u32) -> u64 {
        let kind = match source {
            Source::Xor => Collective::ShuffleXor,
            Source::Up => Collective::ShuffleUp,
            Source::Down => Collective::ShuffleDown,
            Source::Idx => Collective::ShuffleIdx,
        };
        simt::warp_collective(kind, mask, value, lane, width)
    }
    #[track_caller]
    pub fn shuffle_32(value: u32, source: Source, mask: u32, lane: u32, width: u32) -> u32 {
        shuffle_64(value as u64, source, mask, lane, width) as u32
    }
}

macro_rules! shuffle {
    ($($t:ty, $move:ident, $to:expr, $from:expr;)*) => { $(
        impl Shuffle for $t {
            #[inline(always)]
            #[cfg_attr(not(target_os = "cuda"), track_caller)]
            fn shuffle(self, source: Source, mask: u32, lane: u32, width: u32) -> Self {
                $from(imp::$move($to(self), source, mask, lane, width))
            }
        }
    )* };
}
shuffle! {
    u32, shuffle_32, (|x| x), (|x| x);
    i32, shuffle_32, (|x| x as u32), (|x| x as i32);
    f32, shuffle_32, f32::to_bits, f32::from_bits;
    u64, shuffle_64, (|x| x), (|x| x);
    i64, shuffle_64, (|x| x as u64), (|x| x as i64);
    f64, shuffle_64, f64::to_bits, f64::from_bits;
}

impl<T: Shuffle> Shuffle for Complex<T> {
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn shuffle(self, source: Source, mask: u32, lane: u32, width: u32) -> Self {
        Complex {
            re: self.re.shuffle(source, mask, lane, width),
            im: self.im.shuffle(source, mask, lane, width),
        }
    }
}
