//! Device library of BatchLAS kernels: threads, warps, partitions, memory views, math
