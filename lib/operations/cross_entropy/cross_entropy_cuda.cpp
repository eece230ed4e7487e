#include "kernels/loss/cross_entropy.hpp"
#include "kernels/loss/scale_and_cap.hpp"
#include "operations/common/launch.hpp"
#include "operations/cross_entropy/cross_entropy_backends.hpp"

namespace trainx::operations::cuda {
namespace {

template <class T>
kernels::CrossEntropy<T> rows_of(const LossTo& to, const Tensor& logits,
                                 const std::int32_t* targets, std::int64_t vocab_size) {
  return {logits.size(0),     logits.size(1), vocab_size,
          pointer<T>(logits), targets,        pointer<float>(to.row_loss)};
}

kernels::LossSums sums_of(const LossTo& to) {
  return {pointer<double>(to.loss_sum), pointer<double>(to.target_count), to.accumulate};
}

}  // namespace

void summed_cross_entropy(const Gpu& gpu, const LossTo& to, const Tensor& logits,
                          const std::int32_t* targets, std::int64_t vocab_size) {
  with_kernel_element(logits, [&]<class T>(T) {
    gpu::require(kernels::cross_entropy(rows_of<T>(to, logits, targets, vocab_size), sums_of(to),
                                        {}, gpu.fold.counters, gpu.space.stream),
                 "cross-entropy");
  });
  gpu.done(Work::loss);
}

void scored_cross_entropy(const Gpu& gpu, const LossTo& to, const Scores& scores,
                          const Tensor& logits, const std::int32_t* targets,
                          std::int64_t vocab_size) {
  const kernels::PredictionCounts counts{pointer<std::int32_t>(scores.predictions),
                                         pointer<double>(scores.correct),
                                         pointer<double>(scores.confusion)};
  with_kernel_element(logits, [&]<class T>(T) {
    gpu::require(kernels::cross_entropy(rows_of<T>(to, logits, targets, vocab_size), sums_of(to),
                                        counts, gpu.fold.counters, gpu.space.stream),
                 "cross-entropy");
  });
  gpu.done(Work::loss);
}

void summed_cross_entropy_with_gradient(const Gpu& gpu, const LossTo& to, const Tensor& logits,
                                        const std::int32_t* targets, std::int64_t vocab_size,
                                        LossSeed seed, const LossForm& form) {
  with_kernel_element(logits, [&]<class T>(T) {
    auto rows = rows_of<T>(to, logits, targets, vocab_size);
    rows.loss_scale = seed.scale;
    gpu::require(kernels::cross_entropy_with_gradient(rows, form, seed.factor, sums_of(to),
                                                      gpu.fold.counters, gpu.space.stream),
                 "cross-entropy");
  });
  gpu.done(Work::loss);
}

void change_logits(const Gpu& gpu, const Tensor& logits, std::int64_t vocab_size,
                   const LogitChange& change) {
  with_kernel_element(logits, [&]<class T>(T) {
    const kernels::ScaleAndCap<T> op{logits.size(0), logits.size(1), vocab_size, pointer<T>(logits),
                                     change};
    gpu::require(kernels::scale_and_cap(op, gpu.space.stream), "scale and cap of logits");
  });
  gpu.done(Work::loss);
}

}  // namespace trainx::operations::cuda
