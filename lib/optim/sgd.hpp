#pragma once
#include "optim/optimizer.hpp"

namespace trainx::optim {

/// SGD in the order of operations of torch.optim.SGD (dampening 0), in fp32.
class Sgd final : public Optimizer {
 public:
  explicit Sgd(const spec::SgdOptions& options);
  void update(const GroupMemory& memory, const StepScalars& step) const override;

 private:
  spec::SgdOptions options_;
};

inline std::unique_ptr<Optimizer> make(const spec::SgdOptions& options) {
  return std::make_unique<Sgd>(options);
}

}  // namespace trainx::optim
