//! BatchLAS.
