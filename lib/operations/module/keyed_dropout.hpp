#pragma once
#include "tensor/random_key.hpp"
#include <ATen/core/Tensor.h>

namespace trainx::operations {

/// While one lives trainx::dropout of this thread draws by keys: from the run's seed, the module,
/// how many dropouts its forward had before, and the samples' positions.
class DropoutScope {
 public:
  /// `positions`: i64 [samples] of the micro-batch, on the modules' device.
  DropoutScope(tensor::RandomKey key, at::Tensor positions);
  ~DropoutScope();
  DropoutScope(const DropoutScope&) = delete;

  static DropoutScope* current();  // null: none
  /// Whether x is floating, [samples, ...] or with more rows for each, and a key is left.
  bool takes(const at::Tensor& x) const;
  /// x: one that it takes; throws std::invalid_argument for another.
  at::Tensor drop(const at::Tensor& x, double probability);

 private:
  tensor::RandomKey key_;
  at::Tensor positions_;
  std::uint32_t sites_ = 0;
  DropoutScope* before_;
};

}  // namespace trainx::operations
