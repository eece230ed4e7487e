#pragma once
#include "spec/arch/gpt2.hpp"

namespace trainx::spec {

/// Most that ATen's CPU kernels allocate of their own within one instruction, with `threads` threads.
program::Bytes gpt2_library_bytes(const Gpt2Dims& dims, std::int64_t micro_batch_size, std::int64_t length, DType compute, std::int64_t threads);

}  // namespace trainx::spec
