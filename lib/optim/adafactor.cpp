#include "optim/adafactor.hpp"
#include "optim/group_table.hpp"
#include <ATen/Parallel.h>

namespace trainx::optim {
namespace {

/// Calls `use(i)` for 0 .. n - 1, on LibTorch's threads.
template <class Use>
void for_each(std::int64_t n, const Use& use) {
  constexpr std::int64_t grain = 2;               // waking a thread takes longer than a little work
  at::parallel_for(0, n, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) use(i);
  });
}

class Adafactor final : public Optimizer {
 public:
  explicit Adafactor(const spec::AdafactorOptions& options) : states_(spec::states(options)), settings_(settings_of(options)) {}

  void update(const GroupMemory& memory, const StepScalars& step) const override {
    const auto ranges = update_ranges(memory, states_);
    std::vector<kernels::AdafactorShape> shapes;
    for (const auto& p : memory.group->parameters) shapes.push_back(adafactor_shape(p));
    const kernels::AdafactorLayout cut(shapes);
    std::vector<float> row_sums(static_cast<std::size_t>(cut.row_sums)), column_sums(static_cast<std::size_t>(cut.column_sums)), row_means(cut.parts.size()), steps(ranges.size()), clips(steps);
    std::vector<double> weights2(cut.tiles.size()), directions2(cut.tiles.size());
    kernels::AdafactorMemory sums;
    sums.parts = cut.parts.data();
    sums.tiles = cut.tiles.data();
    sums.lines = cut.lines.data();
    sums.first_tiles = cut.first_tiles.data();
    sums.elements = cut.elements.data();
    sums.part_count = static_cast<std::int64_t>(cut.parts.size());
    sums.tile_count = static_cast<std::int64_t>(cut.tiles.size());
    sums.line_count = static_cast<std::int64_t>(cut.lines.size());
    sums.ranges = static_cast<std::int64_t>(ranges.size());
    sums.row_sums = row_sums.data();
    sums.column_sums = column_sums.data();
    sums.weights2 = weights2.data();
    sums.directions2 = directions2.data();
    sums.row_means = row_means.data();
    sums.steps = steps.data();
    sums.clips = clips.data();
    const StepPointers pointers(step);
    kernels::AdafactorSettings settings = settings_;
    settings.scale = pointers.scale();
    const kernels::UpdateTable table{ranges.data(), nullptr, 0};
    const kernels::UpdateScalars scalars = pointers.get();
    const kernels::AdafactorReference run{table, weight_kind(memory), scalars, settings, sums};
    for_each(sums.tile_count, [&](std::int64_t t) { run.sums(t); });
    for_each(sums.line_count, [&](std::int64_t l) { run.means(l); });
    for_each(sums.part_count, [&](std::int64_t p) { run.row_mean(p); });
    for_each(sums.tile_count, [&](std::int64_t t) { run.directions(t); });
    for (std::int64_t r = 0; r < sums.ranges; ++r) run.step(r);
    for_each(sums.tile_count, [&](std::int64_t t) { run.apply(t); });
  }

 private:
  std::vector<program::StateSpec> states_;
  kernels::AdafactorSettings settings_;
};

}  // namespace

kernels::AdafactorSettings settings_of(const spec::AdafactorOptions& o) {
  return {o.eps1, o.eps2, o.clip_threshold, o.decay_rate, o.beta1.has_value(), o.beta1.value_or(0), o.weight_decay, o.scale_parameter, {}};
}

kernels::AdafactorShape adafactor_shape(const program::ParameterSpec& p) {
  if (p.dims.size() < 2) return {1, 0, p.elements()};
  std::int64_t count = 1;
  for (std::size_t d = 0; d + 2 < p.dims.size(); ++d) count *= p.dims[d];
  return {count, p.rows() / count, p.dims.back()};
}

std::unique_ptr<Optimizer> make(const spec::AdafactorOptions& options) { return std::make_unique<Adafactor>(options); }

}  // namespace trainx::optim
