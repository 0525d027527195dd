//! The vendor's routines: cuSOLVER's batched eigensolvers, opened at run time
//! and kept to this library's promises, and cuBLAS's batched products.
//!
//! What surrounds the eigensolvers: [`kernels_pack`] packs each item from
//! the triangle that is read, replaces bad items and scales; afterwards it
//! restores the scale, the signs and the statuses. Batches past the routine's
//! hidden limit go through in chunks.

mod cublas;
mod cusolver;
mod gemm;
mod library;
mod search;
mod syev;

pub(crate) use cublas::{BlasScalar, Handle as BlasHandle};
pub(crate) use cusolver::Handle;
pub use gemm::gemm_available;
pub(crate) use gemm::{Place, gemm, gemm_fits};
pub use syev::{Routine, SyevPlan, VendorScalar, syev, syev_workspace_bytes};

/// A vendor's library on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    /// Its name.
    pub name: &'static str,
    /// Where it was found and its version, or what was looked for.
    pub found: std::result::Result<Found, String>,
}

/// A library that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The name or path under which it was opened.
    pub path: String,
    /// Its version: 11705 is 11.7.5.
    pub version: u32,
    /// The routines of families that it has.
    pub routines: Vec<&'static str>,
}

/// The vendor's libraries, for `info`. Opens them on the first call.
pub fn libraries() -> Vec<Library> {
    let found = library::solver().map_err(str::to_string).map(|solver| Found {
        path: solver.path.clone(),
        version: cusolver::version(),
        routines: Routine::ALL
            .into_iter()
            .filter(|routine| available(*routine).is_ok())
            .map(Routine::word)
            .collect(),
    });
    let blas = library::blas().map_err(str::to_string).map(|blas| Found {
        path: blas.path.clone(),
        version: blas.version_by("cublasGetProperty"),
        routines: if gemm_available().is_ok() { vec!["gemm"] } else { vec![] },
    });
    vec![Library { name: "cuSOLVER", found }, Library { name: "cuBLAS", found: blas }]
}

/// Whether a routine can be called on this machine.
///
/// # Errors
/// A text that says what was looked for, or which function the library lacks.
pub fn available(routine: Routine) -> std::result::Result<(), String> {
    let solver = library::solver()?;
    let missing = routine.functions().iter().find(|function| !solver.has(function));
    match missing {
        None => Ok(()),
        Some(function) => Err(format!("{} lacks {function}", solver.path)),
    }
}
