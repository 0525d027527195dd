//! Names of types in entry names, tables and options.

use num_complex::Complex;

/// The short name of a scalar type: `f32`, `f64`, `c32`, `c64`.
pub trait ExportName {
    /// The name.
    const NAME: &'static str;
}

macro_rules! export_name {
    ($($t:ty, $name:literal;)*) => { $(
        impl ExportName for $t {
            const NAME: &'static str = $name;
        }
    )* };
}
export_name! {
    f32, "f32";
    f64, "f64";
    Complex<f32>, "c32";
    Complex<f64>, "c64";
    u32, "u32";
    i32, "i32";
    u64, "u64";
}
