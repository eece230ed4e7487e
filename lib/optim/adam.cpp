#include "optim/adam.hpp"
#include "kernels/optimizer/adam_element.hpp"
#include "optim/rule_update.hpp"

namespace trainx::optim {
namespace {

using kernels::AdamRule;
TRAINX_RULE_CHUNKS(AdamRule)

class Adam final : public Optimizer {
 public:
  explicit Adam(const options::AdamOptions& options) : settings_(settings_of(options)) {}
  void update(const GroupMemory& memory, const StepScalars& step) const override {
    update_by_rule<AdamRule>(memory, step, settings_,
                             [](auto... of_chunk) { update_chunk(of_chunk...); });
  }

 private:
  kernels::AdamSettings settings_;
};

}  // namespace

kernels::AdamSettings settings_of(const options::AdamOptions& o) {
  return {o.beta1, o.beta2, o.eps, o.weight_decay, {}};
}
std::unique_ptr<Optimizer> make(const options::AdamOptions& options) {
  return std::make_unique<Adam>(options);
}

}  // namespace trainx::optim
