#include "operations/cross_entropy/cross_entropy.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/cross_entropy/cross_entropy_backends.hpp"

namespace trainx::operations {

void summed_cross_entropy(const LossTo& to, const Tensor& logits, const std::int32_t* targets,
                          std::int64_t vocab_size) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(to.row_loss))
      return cuda::summed_cross_entropy(*gpu, to, logits, targets, vocab_size);
  return cpu::summed_cross_entropy(to, logits, targets, vocab_size);
}

void scored_cross_entropy(const LossTo& to, const Scores& scores, const Tensor& logits,
                          const std::int32_t* targets, std::int64_t vocab_size) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(to.row_loss))
      return cuda::scored_cross_entropy(*gpu, to, scores, logits, targets, vocab_size);
  return cpu::scored_cross_entropy(to, scores, logits, targets, vocab_size);
}

void summed_cross_entropy_with_gradient(const LossTo& to, const Tensor& logits,
                                        const std::int32_t* targets, std::int64_t vocab_size,
                                        LossSeed seed, const LossForm& form) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(to.row_loss))
      return cuda::summed_cross_entropy_with_gradient(*gpu, to, logits, targets, vocab_size, seed,
                                                      form);
  return cpu::summed_cross_entropy_with_gradient(to, logits, targets, vocab_size, seed, form);
}

void change_logits(const Tensor& logits, std::int64_t vocab_size, const LogitChange& change) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(logits))
      return cuda::change_logits(*gpu, logits, vocab_size, change);
  return cpu::change_logits(logits, vocab_size, change);
}

}  // namespace trainx::operations
