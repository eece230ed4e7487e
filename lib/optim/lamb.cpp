#include "optim/lamb.hpp"
#include "optim/group_table.hpp"

namespace trainx::optim {
namespace {

/// What a group's kernels work through, in host memory.
struct LambWork {
  TensorRanges tensors;
  GroupTable table;
  std::vector<double> partial;
  std::vector<float> ratios;
  std::vector<std::int64_t> first;
  kernels::LambMemory sums;

  LambWork(const GroupMemory& memory, const options::LambOptions& options)
      : tensors(tensor_ranges(memory, options::states(options), options::tensor_sums(options))),
        table(tensors.ranges, weight_kind(memory)),
        partial(2 * table.chunks.size()),
        ratios(table.ranges.size()),
        first(kernels::first_chunks(table.chunks, table.ranges.size())),
        sums{partial.data(), ratios.data(), first.data(), static_cast<std::int64_t>(ratios.size()),
             tensors.sums.empty() ? nullptr : tensors.sums.front().data()} {}
  LambWork(const LambWork&) = delete;
};

class Lamb final : public Optimizer {
 public:
  explicit Lamb(const options::LambOptions& options) : options_(options) {}

  void update(const GroupMemory& memory, const StepScalars& step) const override {
    const LambWork work(memory, options_);
    const StepPointers scalars(step);
    const kernels::LambSettings settings = settings_with(scalars);
    find_moments(work, scalars, settings, kernels::LambStates::moved);
    for (std::int64_t r = 0; r < work.sums.ranges; ++r) kernels::lamb_reference_ratio(r, work.sums);
    work.table.for_each([&](std::int64_t chunk) {
      kernels::lamb_reference_apply(work.table.table(), chunk, work.table.kind, scalars.get(),
                                    settings, work.sums);
    });
  }

  void measure(const GroupMemory& memory, const StepScalars& step, int) const override {
    const LambWork work(memory, options_);
    const StepPointers scalars(step);
    find_moments(work, scalars, settings_with(scalars), kernels::LambStates::kept);
    for (std::int64_t r = 0; r < work.sums.ranges; ++r) kernels::lamb_reference_sums(r, work.sums);
  }

 private:
  kernels::LambSettings settings_with(const StepPointers& scalars) const {
    kernels::LambSettings settings = settings_of(options_);
    settings.scale = scalars.scale();
    return settings;
  }
  static void find_moments(const LambWork& work, const StepPointers& scalars,
                           const kernels::LambSettings& settings, kernels::LambStates states) {
    work.table.for_each([&](std::int64_t chunk) {
      kernels::lamb_reference_moments(work.table.table(), chunk, work.table.kind, scalars.get(),
                                      settings, work.sums, states);
    });
  }

  options::LambOptions options_;
};

}  // namespace

kernels::LambSettings settings_of(const options::LambOptions& o) {
  return {o.beta1, o.beta2, o.eps, o.weight_decay, {}};
}
std::unique_ptr<Optimizer> make(const options::LambOptions& options) {
  return std::make_unique<Lamb>(options);
}

}  // namespace trainx::optim
