//! How BatchLAS is measured: input classes, references in higher precision, arms that take turns, rows of
//! results, and the comparison of two runs. The command line's `bench`, `accuracy` and `compare`, the programs in
//! `benches/` and the tests share it; a user of the library needs none of it.

pub mod accuracy;
pub mod axes;
pub mod cell;
pub mod classes;
pub mod compare;
pub mod forms;
pub mod grid;
pub mod precise;
pub mod program;
pub mod provenance;
pub mod race;
pub mod random;
pub mod reference;
pub mod routes;
pub mod row;
pub mod saturation;
pub mod statistics;
pub mod tune;

mod gemm;
mod hash;
mod matrix;
mod quad;
mod steqr;
mod syev;

pub use cell::{Cell, Op, Padding, Sides};
pub use matrix::Matrix;
pub use provenance::Provenance;
pub use row::{Read, Row};
