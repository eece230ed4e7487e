#include "operations/cross_entropy/cross_entropy.hpp"
#include "core/error.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/cross_entropy/cross_entropy_backends.hpp"

namespace trainx::operations {

namespace {

void require_no_terms(LossTerms terms) {
  if (terms.any()) throw InternalError("label smoothing and z-loss have no kernel");
}

}  // namespace

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
                                        LossSeed seed, LossTerms terms) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(to.row_loss)) {
      require_no_terms(terms);
      return cuda::summed_cross_entropy_with_gradient(*gpu, to, logits, targets, vocab_size, seed);
    }
  return cpu::summed_cross_entropy_with_gradient(to, logits, targets, vocab_size, seed, terms);
}

void scale_and_cap(const Tensor& logits, std::int64_t vocab_size, double scale, double cap) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(logits))
      return cuda::scale_and_cap(*gpu, logits, vocab_size, scale, cap);
  return cpu::scale_and_cap(logits, vocab_size, scale, cap);
}

void capped_cross_entropy_with_gradient(const LossTo& to, const Tensor& logits,
                                        const std::int32_t* targets, std::int64_t vocab_size,
                                        LossSeed seed, double scale, double cap, LossTerms terms) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(to.row_loss)) {
      require_no_terms(terms);
      return cuda::capped_cross_entropy_with_gradient(*gpu, to, logits, targets, vocab_size, seed,
                                                      scale, cap);
    }
  return cpu::capped_cross_entropy_with_gradient(to, logits, targets, vocab_size, seed, scale, cap,
                                                 terms);
}

}  // namespace trainx::operations
