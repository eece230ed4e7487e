#include "optim/lion.hpp"
#include "kernels/optimizer/lion_element.hpp"
#include "optim/rule_update.hpp"

namespace trainx::optim {
namespace {

using kernels::LionRule;
TRAINX_RULE_CHUNKS(LionRule)

class Lion final : public Optimizer {
 public:
  explicit Lion(const options::LionOptions& options) : settings_(settings_of(options)) {}
  void update(const GroupMemory& memory, const StepScalars& step) const override {
    update_by_rule<LionRule>(memory, step, settings_,
                             [](auto... of_chunk) { update_chunk(of_chunk...); });
  }

 private:
  kernels::LionSettings settings_;
};

}  // namespace

kernels::LionSettings settings_of(const options::LionOptions& o) {
  return {o.beta1, o.beta2, o.weight_decay, {}};
}
std::unique_ptr<Optimizer> make(const options::LionOptions& options) {
  return std::make_unique<Lion>(options);
}

}  // namespace trainx::optim
