#pragma once
// Marks functions that kernels of a GPU run.
//
//   XYLEM_SHARED inline std::size_t chunkOf(const Shape& shape, std::size_t start) { ... }
//
// XYLEM_SHARED: both the host and kernels run the function, so that both get the same results. XYLEM_KERNEL: only kernels do.
// nvcc compiles a marked function for the GPU; for every other compiler the marks mean nothing. Functions that are `constexpr`
// need none: kernels are compiled with --expt-relaxed-constexpr.

#if defined(__CUDACC__)
#define XYLEM_SHARED __host__ __device__
#define XYLEM_KERNEL __device__
#else
#define XYLEM_SHARED
#define XYLEM_KERNEL
#endif
