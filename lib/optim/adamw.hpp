#pragma once
#include "optim/optimizer.hpp"

namespace trainx::optim {

/// AdamW in the order of operations of torch.optim.AdamW, in fp32; bias corrections in double.
class AdamW final : public Optimizer {
 public:
  explicit AdamW(const options::AdamWOptions& options) : options_(options) {}
  void update(const GroupMemory& memory, const StepScalars& step) const override;

 private:
  options::AdamWOptions options_;
};

inline std::unique_ptr<Optimizer> make(const options::AdamWOptions& options) {
  return std::make_unique<AdamW>(options);
}

}  // namespace trainx::optim
