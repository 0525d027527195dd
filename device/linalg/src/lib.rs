//! Device building blocks that several kernel families share. No kernels live here: a kernel in a dependency
//! would be exported by every crate above it.
//!
//! | module | what it holds |
//! |---|---|
//! | [`givens`] | plane rotations, the 2x2 eigenproblem |
//! | [`reflector`], [`reduce`] | elementary reflectors across a tile, reduction to tridiagonal form |
//! | [`rows`] | lanes that hold several rows |
//! | [`steqr_cta`] | implicit QL by the lanes of a tile |
//! | [`train`] | implicit QL by a warp that chases alone, several sweeps at a time |
//! | [`sturm`], [`intervals`] | eigenvalues of tridiagonal matrices one by one: counts; bisection and interpolation |
//! | [`fold`] | sums over the lanes of a warp, several at a time |
//! | [`fragments`] | a warp's product on the tensor cores, as sums of its lanes |
//! | [`jacobi`] | cyclic Jacobi in the registers of a thread |
//! | [`jacobi_tile`] | cyclic Jacobi by the lanes of a tile |
//! | [`layout`], [`load`], [`output`] | where a tile finds its item; the way in; sorting, signs |
// Index loops: an iterator by value would put a register array into local memory.
#![allow(clippy::needless_range_loop)]
#![cfg_attr(target_os = "cuda", no_std)]

pub mod fold;
pub mod fragments;
pub mod givens;
pub mod intervals;
pub mod jacobi;
pub mod jacobi_tile;
pub mod layout;
pub mod load;
pub mod output;
pub mod reduce;
pub mod reflector;
pub mod rows;
pub mod steqr_cta;
pub mod sturm;
pub mod train;
