//! CPU executor of GPU kernels: coroutines for lanes, and a checker
