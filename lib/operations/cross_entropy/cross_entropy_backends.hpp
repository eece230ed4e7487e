// Backends of these operations, for tensors of the host and of a GPU. The dispatchers choose by
// Tensor::place.
#pragma once
#include "operations/cross_entropy/cross_entropy.hpp"
#include <cstdint>

namespace trainx::operations {

struct Gpu;  // operations/common/gpu.hpp

namespace cpu {
void summed_cross_entropy(const LossTo& to, const Tensor& logits, const std::int32_t* targets,
                          std::int64_t vocab_size);
void scored_cross_entropy(const LossTo& to, const Scores& scores, const Tensor& logits,
                          const std::int32_t* targets, std::int64_t vocab_size);
void summed_cross_entropy_with_gradient(const LossTo& to, const Tensor& logits,
                                        const std::int32_t* targets, std::int64_t vocab_size,
                                        LossSeed seed, const LossForm& form);
void change_logits(const Tensor& logits, std::int64_t vocab_size, const LogitChange& change);
}  // namespace cpu

namespace cuda {
void summed_cross_entropy(const Gpu& gpu, const LossTo& to, const Tensor& logits,
                          const std::int32_t* targets, std::int64_t vocab_size);
void scored_cross_entropy(const Gpu& gpu, const LossTo& to, const Scores& scores,
                          const Tensor& logits, const std::int32_t* targets,
                          std::int64_t vocab_size);
void summed_cross_entropy_with_gradient(const Gpu& gpu, const LossTo& to, const Tensor& logits,
                                        const std::int32_t* targets, std::int64_t vocab_size,
                                        LossSeed seed, const LossForm& form);
void change_logits(const Gpu& gpu, const Tensor& logits, std::int64_t vocab_size,
                   const LogitChange& change);
}  // namespace cuda

}  // namespace trainx::operations
