//! CPU families of BatchLAS: faer and our own small solvers, instantiated in an optimised crate
