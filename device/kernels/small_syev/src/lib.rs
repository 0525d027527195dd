//! Symmetric eigensolver kernels for n <= 32
