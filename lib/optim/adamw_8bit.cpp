#include "optim/adamw_8bit.hpp"
#include "kernels/optimizer/dynamic_map.hpp"
#include "optim/group_table.hpp"

namespace trainx::optim {
namespace {

class AdamW8bit final : public Optimizer {
 public:
  explicit AdamW8bit(const options::AdamW8bitOptions& options)
      : states_(options::states(options)), settings_(settings_of(options)) {}

  void update(const GroupMemory& memory, const StepScalars& step) const override {
    const GroupTable group(memory, states_);
    const StepPointers scalars(step);
    kernels::AdamW8bitSettings settings = settings_;
    settings.scale = scalars.scale();
    group.for_each([&](std::int64_t chunk) {
      kernels::adamw_8bit_reference_chunk(group.table(), chunk, group.kind, scalars.get(), settings,
                                          &kernels::dynamic_codes());
    });
  }

 private:
  std::vector<program::StateSpec> states_;
  kernels::AdamW8bitSettings settings_;
};

}  // namespace

kernels::AdamW8bitSettings settings_of(const options::AdamW8bitOptions& o) {
  return {{o.beta1, o.beta2, o.eps, o.weight_decay, {}}};
}
std::unique_ptr<Optimizer> make(const options::AdamW8bitOptions& options) {
  return std::make_unique<AdamW8bit>(options);
}

}  // namespace trainx::optim
