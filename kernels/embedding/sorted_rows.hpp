#pragma once
#include "kernels/cuda_types.hpp"
#include <cstdint>

namespace trainx::kernels {

/// keys[n] ascending and rows[n] = the places where they stood, in order among equals; temporary
/// memory of sort_bytes(n) at `temporary`, 16-byte aligned. Own source file: the sort takes long to
/// compile.
cudaError_t sort_tokens(std::int32_t* keys, std::int32_t* rows, const std::int32_t* tokens,
                        std::int64_t n, std::int64_t vocab_size, void* temporary,
                        cudaStream_t stream);
std::int64_t sort_bytes(std::int64_t n);

}  // namespace trainx::kernels
