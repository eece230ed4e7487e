#pragma once
#include "kernels/bits.hpp"
#include "kernels/loss/loss_form.hpp"
#include <cstdint>
#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#endif

namespace trainx::kernels {

constexpr std::int32_t no_target = -100;

/// Rows of logits[R, Vp], of which the first `vocab_size` columns are classes. Memory of the
/// device; for the reference, of the host.
template <class T>
struct CrossEntropy {
  std::int64_t rows = 0, columns = 0, vocab_size = 0;  // R >= 0, Vp >= vocab_size >= 1
  T* logits = nullptr;                                 // only the variant with gradient writes them
  // [R]: below vocab_size, or no_target. Any other makes its row's loss and gradient NaN.
  const std::int32_t* targets = nullptr;
  float* row_loss = nullptr;           // [R] in nats; 0 where there is no target
  const double* loss_scale = nullptr;  // the seed of the gradient is multiplied by it; null: by 1
};

/// Sums over the rows, each in fp64 in a fixed order: repeats are bit-equal.
struct LossSums {
  double* loss_sum = nullptr;
  double* target_count = nullptr;
  // added to, rather than overwritten; holds for what is counted of predictions as well
  bool accumulate = false;
};

/// The most probable class of each row, the first of equals, and what is counted of those. NaN is
/// never the most probable; a row without targets counts nowhere.
struct PredictionCounts {
  std::int32_t* predictions = nullptr;  // [R]; must be given where anything is counted
  double* correct = nullptr;            // rows whose prediction is the target; null: not wanted
  // [vocab_size, vocab_size]: rows by target (row) and prediction (column), for few classes; null:
  // not wanted
  double* confusion = nullptr;
};

/// row_loss as LossForm says, and the sums of it. The logits become its gradient times `seed`,
/// rounded once: that of what they are in memory, (softmax - one_hot(target)) * seed where the form
/// is plain; 0 in columns from vocab_size on and in rows without target. NaN in a row makes its
/// loss and gradient NaN. Pointers need their element's alignment; 16 bytes, with Vp a multiple of
/// 16 bytes, are faster: a row of up to 224 KiB is then read once and written once, that is 2 T an
/// element. References compute in double precision.
template <class T>
void cross_entropy_with_gradient_reference(const CrossEntropy<T>& op, const LossForm& form,
                                           double seed, const LossSums& sums);
void cross_entropy_reference(const CrossEntropy<float>& op, const LossSums& sums,
                             const PredictionCounts& counts);
void cross_entropy_reference(const CrossEntropy<Bf16>& op, const LossSums& sums,
                             const PredictionCounts& counts);
void cross_entropy_reference(const CrossEntropy<Fp16>& op, const LossSums& sums,
                             const PredictionCounts& counts);
#if __has_include(<cuda_runtime_api.h>)
/// Asynchronous on `stream`; one launch, whose status is returned. `counters` as in FoldMemory.
/// With no rows the sums are 0.
template <class T>
cudaError_t cross_entropy_with_gradient(const CrossEntropy<T>& op, const LossForm& form,
                                        double seed, const LossSums& sums, std::uint32_t* counters,
                                        cudaStream_t stream);
cudaError_t cross_entropy(const CrossEntropy<float>& op, const LossSums& sums,
                          const PredictionCounts& counts, std::uint32_t* counters,
                          cudaStream_t stream);
cudaError_t cross_entropy(const CrossEntropy<Bf16>& op, const LossSums& sums,
                          const PredictionCounts& counts, std::uint32_t* counters,
                          cudaStream_t stream);
cudaError_t cross_entropy(const CrossEntropy<Fp16>& op, const LossSums& sums,
                          const PredictionCounts& counts, std::uint32_t* counters,
                          cudaStream_t stream);
#endif

}  // namespace trainx::kernels
