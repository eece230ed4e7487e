#pragma once
#include "optim/optimizer.hpp"

namespace trainx::optim {

/// SGD in the order of operations of torch.optim.SGD (dampening 0), in fp32.
class Sgd final : public Optimizer {
 public:
  explicit Sgd(const options::SgdOptions& options);
  void update(const GroupMemory& memory, const StepScalars& step) const override;

 private:
  options::SgdOptions options_;
};

inline std::unique_ptr<Optimizer> make(const options::SgdOptions& options) {
  return std::make_unique<Sgd>(options);
}

}  // namespace trainx::optim
