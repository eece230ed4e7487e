#include "optim/lamb.hpp"
#include "optim/group_table.hpp"

namespace trainx::optim {
namespace {

class Lamb final : public Optimizer {
 public:
  explicit Lamb(const spec::LambOptions& options) : states_(spec::states(options)), settings_(settings_of(options)) {}

  void update(const GroupMemory& memory, const StepScalars& step) const override {
    const GroupTable group(memory, states_);
    const StepPointers scalars(step);
    kernels::LambSettings settings = settings_;
    settings.scale = scalars.scale();
    std::vector<double> partial(2 * group.chunks.size());
    std::vector<float> ratios(group.ranges.size());
    const auto first = kernels::first_chunks(group.chunks, group.ranges.size());
    const kernels::LambMemory sums{partial.data(), ratios.data(), first.data(), static_cast<std::int64_t>(ratios.size())};
    group.for_each([&](std::int64_t chunk) { kernels::lamb_reference_moments(group.table(), chunk, group.kind, scalars.get(), settings, sums); });
    for (std::int64_t r = 0; r < sums.ranges; ++r) kernels::lamb_reference_ratio(r, sums);
    group.for_each([&](std::int64_t chunk) { kernels::lamb_reference_apply(group.table(), chunk, group.kind, scalars.get(), settings, sums); });
  }

 private:
  std::vector<program::StateSpec> states_;
  kernels::LambSettings settings_;
};

}  // namespace

kernels::LambSettings settings_of(const spec::LambOptions& o) { return {o.beta1, o.beta2, o.eps, o.weight_decay, {}}; }
std::unique_ptr<Optimizer> make(const spec::LambOptions& options) { return std::make_unique<Lamb>(options); }

}  // namespace trainx::optim
