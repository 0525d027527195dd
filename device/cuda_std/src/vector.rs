//! Elements that move 16 bytes at a time.

use num_complex::Complex;

/// A type of which a whole number of elements fills 16 bytes.
pub trait Vectors: Copy {
    /// How many.
    const LANES: usize;
    /// So many elements.
    type Vector: Copy + AsRef<[Self]> + AsMut<[Self]>;
    /// The same element over and over.
    fn splat(self) -> Self::Vector;
}

macro_rules! vectors {
    ($($t:ty, $lanes:literal;)*) => { $(
        impl Vectors for $t {
            const LANES: usize = $lanes;
            type Vector = [$t; $lanes];
            #[inline(always)]
            fn splat(self) -> [$t; $lanes] {
                [self; $lanes]
            }
        }
    )* };
}
vectors! {
    f32, 4;
    f64, 2;
    Complex<f32>, 2;
    Complex<f64>, 1;
}

/// What one instruction moves.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
pub(crate) struct Aligned<V>(pub(crate) V);
