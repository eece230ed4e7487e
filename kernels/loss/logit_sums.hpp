// Cross-entropy over logits of which ranks have some columns each.
#pragma once
#include "kernels/bits.hpp"
#include "kernels/loss/loss_form.hpp"
#include <cstdint>
#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#endif

namespace trainx::kernels {

/// What a rank knows of a row, beside each other as f32: the largest logit of its classes, the sum
/// of exp(logit - largest), the target's logit (0 where another rank has it), the sum of its
/// logits, and the first class, among all ranks', of the largest.
struct LogitNumber {
  enum : int { largest, exponentials, at_target, total, best, count };
};

/// Rows of logits[R, W], whose first `classes` columns are the classes from `first` on of all.
/// Memory of the device; for the reference, of the host.
template <class T>
struct LogitSums {
  std::int64_t rows = 0, columns = 0, classes = 0, first = 0;  // R, W >= classes >= 0
  const T* logits = nullptr;
  const std::int32_t* targets = nullptr;  // [R], among all classes, or no_target
  float* numbers = nullptr;               // [R, LogitNumber::count]
  LogitChange change;
};

/// gradient[R, W] of the same logits, given that of the numbers; 0 beyond the classes. It may lie
/// where the logits are.
template <class T>
struct LogitSumsGradient {
  LogitSums<T> of;
  const float* d_numbers = nullptr;  // [R, LogitNumber::count]
  T* gradient = nullptr;
};

/// The loss of rows by what all ranks know of them, as LossForm says.
struct PartLoss {
  std::int64_t rows = 0, ranks = 1, classes = 0;  // of all ranks
  const float* numbers = nullptr;                 // [ranks, R, LogitNumber::count]
  const std::int32_t* targets = nullptr;          // [R]: any other than a class makes NaN
  double smoothing = 0, z_loss = 0;
};

/// Where the sums over rows go, f64 each, made in a fixed order.
struct PartLossSums {
  double* loss_sum = nullptr;
  double* target_count = nullptr;
  double* correct = nullptr;  // rows whose largest logit is the target's; null: not wanted
  bool accumulate = false;
};

/// d_numbers[R, LogitNumber::count] of rank `place`, of the loss times `seed` and *loss_scale
/// (null: 1). What an exponential's sum is worth beside the other ranks' largest is in its
/// gradient; the largest has none.
struct PartLossGradient {
  PartLoss of;
  std::int64_t place = 0;
  double seed = 1;
  const double* loss_scale = nullptr;
  float* d_numbers = nullptr;
};

/// References, in double precision, of the rows [begin, end).
template <class T>
void logit_sums_reference(const LogitSums<T>& op, std::int64_t begin, std::int64_t end);
template <class T>
void logit_sums_gradient_reference(const LogitSumsGradient<T>& op, std::int64_t begin,
                                   std::int64_t end);
void part_loss_reference(const PartLoss& op, const PartLossSums& sums);
void part_loss_gradient_reference(const PartLossGradient& op);
#if __has_include(<cuda_runtime_api.h>)
/// Asynchronous on `stream`; one launch each, whose status is returned.
template <class T>
cudaError_t logit_sums(const LogitSums<T>& op, cudaStream_t stream);
template <class T>
cudaError_t logit_sums_gradient(const LogitSumsGradient<T>& op, cudaStream_t stream);
cudaError_t part_loss(const PartLoss& op, const PartLossSums& sums, cudaStream_t stream);
cudaError_t part_loss_gradient(const PartLossGradient& op, cudaStream_t stream);
#endif

}  // namespace trainx::kernels
