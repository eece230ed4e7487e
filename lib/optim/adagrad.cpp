#include "optim/adagrad.hpp"
#include "kernels/optimizer/adagrad_element.hpp"
#include "optim/rule_update.hpp"

namespace trainx::optim {
namespace {

using kernels::AdagradRule;
TRAINX_RULE_CHUNKS(AdagradRule)

class Adagrad final : public Optimizer {
 public:
  explicit Adagrad(const options::AdagradOptions& options) : settings_(settings_of(options)) {}
  void update(const GroupMemory& memory, const StepScalars& step) const override {
    update_by_rule<AdagradRule>(memory, step, settings_,
                                [](auto... of_chunk) { update_chunk(of_chunk...); });
  }

 private:
  kernels::AdagradSettings settings_;
};

}  // namespace

kernels::AdagradSettings settings_of(const options::AdagradOptions& o) {
  return {o.lr_decay, o.eps, o.weight_decay, {}};
}
std::unique_ptr<Optimizer> make(const options::AdagradOptions& options) {
  return std::make_unique<Adagrad>(options);
}

}  // namespace trainx::optim
