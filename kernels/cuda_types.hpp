// The types that kernels are declared with, also where no CUDA toolkit is: references and sizes of
// the same headers are compiled there, and no kernel is called.
#pragma once
#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#else
using cudaError_t = int;
using cudaStream_t = struct CUstream_st*;
#endif
