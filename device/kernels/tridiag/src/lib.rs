//! Tridiagonal eigensolver kernels
