#include "plan/fit.hpp"
#include "core/units.hpp"
#include "plan/memory_plan.hpp"
#include "recipe/value.hpp"
#include "spec/arch/architecture.hpp"
#include <algorithm>
#include <cmath>
#include <cstdio>

namespace trainx::plan {

using recipe::ActivationCheckpoint;

namespace {

constexpr int last_level = static_cast<int>(ActivationCheckpoint::full);

/// Recomputation in one number: 0 nothing, `layers` all of them selective, ..., last_level * layers all of them full, then ever longer segments.
struct Depth {
  int layers = 1;
  int most() const { return last_level * layers + static_cast<int>(std::ceil(std::sqrt(layers))) - 1; }
  void write(int depth, recipe::MemorySection& memory) const {
    const int whole = last_level * layers, level = std::min(depth, whole) / layers, more = std::min(depth, whole) % layers;
    std::vector<ActivationCheckpoint> levels(static_cast<std::size_t>(layers), static_cast<ActivationCheckpoint>(level));
    std::fill_n(levels.begin(), more, static_cast<ActivationCheckpoint>(std::min(level + 1, last_level)));
    const bool any_full = std::ranges::count(levels, ActivationCheckpoint::full) > 0;
    memory.activation_checkpoint.value = compressed(std::move(levels));
    memory.checkpoint_segment = any_full ? std::max<std::int64_t>(memory.checkpoint_segment, depth > whole ? depth - whole + 1 : 1) : 1;
  }
};

struct Candidate {
  std::int64_t micro_batch_size = 1;
  int depth = 0;                        // ignored where the recipe says what is recomputed
  bool offload = false;                 // activations to the host, also where the recipe does not say so
  std::int64_t bytes = 0, host_bytes = 0, offloaded_bytes = 0;
  double seconds = 0;                   // of a step; 0 without rates
};

std::string percent(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * ratio);
  return text;
}

class Search {
 public:
  Search(const RunPlan& plan, std::int64_t budget_bytes, const program::Rates* rates) : plan_(plan), budget_(budget_bytes), rates_(rates) {
    samples_ = plan.batch.micro_batch_size * plan.batch.grad_accum_steps;
    depth_.layers = std::max(1, spec::model_graph(plan.dims, 1, plan.row_lengths.back(), plan.compute, spec::Machine(plan.threads)).layers());
  }

  const Depth& depth() const { return depth_; }
  bool fits(const Candidate& c) const {
    return (budget_ <= 0 || c.bytes <= budget_) && (plan_.host_memory_bytes <= 0 || c.host_bytes <= plan_.host_memory_bytes) && (!c.offload || c.offloaded_bytes > 0);
  }

  /// With the bytes and the time of a step.
  Candidate weigh(Candidate c) const {
    const std::int64_t steps = samples_ / c.micro_batch_size;
    const RunPlan two = sized(c, static_cast<int>(std::min<std::int64_t>(steps, 2)));   // more micro-steps take no more memory
    const MemoryPlan memory = plan_memory_budget(two);
    c.bytes = memory.total_bytes();
    c.host_bytes = plan_.on_gpu ? host_need(memory) : 0;
    c.offloaded_bytes = offloaded_bytes(two.train.back().program);
    if (!rates_) return c;
    c.seconds = step_seconds(two);
    if (steps > 2) c.seconds += static_cast<double>(steps - 2) * (c.seconds - step_seconds(sized(c, 1)));
    return c;
  }

  /// The least recomputation with which so many samples fit; the most there is where none does.
  Candidate least_depth(std::int64_t micro_batch_size) const {
    if (const Candidate nothing = weigh({micro_batch_size, 0}); fits(nothing)) return nothing;
    const int whole = last_level * depth_.layers;
    Candidate best = weigh({micro_batch_size, whole});
    for (int depth = whole + 1; !fits(best) && depth <= depth_.most(); ++depth) best = weigh({micro_batch_size, depth});
    if (!fits(best) || best.depth > whole) return best;
    for (int low = 0, high = whole; high - low > 1;) {   // low does not fit, high does
      const int middle = (low + high) / 2;
      const Candidate c = weigh({micro_batch_size, middle});
      (fits(c) ? high : low) = middle;
      if (fits(c)) best = c;
    }
    return best;
  }

  /// With activations on the host: the fastest level that fits, where it is not known how fast copies are the one that leaves the least to copy.
  Candidate offloaded(std::int64_t micro_batch_size) const {
    Candidate best = weigh({micro_batch_size, last_level * depth_.layers, true});
    if (!rates_ || rates_->host_bytes_per_s <= 0) return best;
    for (int level = last_level; level-- > 0;)
      if (const Candidate c = weigh({micro_batch_size, level * depth_.layers, true}); fits(c) && c.seconds < best.seconds) best = c;
    return best;
  }

  /// The numbers of samples that divide a step's, ascending.
  std::vector<std::int64_t> micro_batch_sizes() const {
    std::vector<std::int64_t> out;
    for (std::int64_t m = plan_.recipe.optimizer.update_in_backward ? samples_ : 1; m <= samples_; ++m)
      if (samples_ % m == 0) out.push_back(m);
    return out;
  }

  std::int64_t samples() const { return samples_; }

 private:
  RunPlan sized(const Candidate& c, int micro_steps) const {
    RunPlan p;
    p.recipe = plan_.recipe;
    if (p.recipe.memory.activation_checkpoint.is_auto() || c.depth > 0) depth_.write(c.depth, p.recipe.memory);
    if (c.offload) p.recipe.memory.activation_offload = recipe::ActivationOffload::cpu;
    p.dims = plan_.dims;
    p.batch = plan_.batch;
    p.mode = plan_.mode;
    p.rank = plan_.rank;
    p.rates = plan_.rates;
    p.groups_on_device = plan_.groups_on_device;
    p.groups_on_disk = plan_.groups_on_disk;
    p.batch.micro_batch_size = c.micro_batch_size;
    p.batch.grad_accum_steps = micro_steps;
    p.compute = plan_.compute;
    p.on_gpu = plan_.on_gpu;
    p.threads = plan_.threads;
    p.master = plan_.master;
    p.update = plan_.update;
    p.row_lengths = {plan_.row_lengths.back()};
    plan_programs(p);
    return p;
  }

  double step_seconds(const RunPlan& p) const {
    const PlacedProgram& placed = p.train.back();
    return program::predict_time(placed.program, placed.order, placed.graph, *rates_).step_s;
  }

  const RunPlan& plan_;
  std::int64_t budget_, samples_ = 1;
  const program::Rates* rates_;
  Depth depth_;
};

/// Of those that fit. Beyond what fills the machine a larger micro-batch takes memory alone.
const Candidate* fastest(const std::vector<Candidate>& all, const Search& search, std::int64_t samples_that_fill) {
  const Candidate* best = nullptr;
  const auto better = [&](const Candidate& c, const Candidate& than) {
    if (c.seconds > 0) return c.seconds < 0.99 * than.seconds;
    if (c.depth != than.depth) return c.depth < than.depth;
    return than.micro_batch_size < samples_that_fill;
  };
  for (const Candidate& c : all)        // ascending: a larger one must be better than the smaller
    if (search.fits(c) && (!best || better(c, *best))) best = &c;
  return best;
}

std::string of_layers(const recipe::MemorySection& memory, int layers) {
  const auto& levels = *memory.activation_checkpoint.value;
  std::string text = recipe::write_value(levels.front());
  if (levels.size() > 1) {
    const auto count = std::ranges::count(levels, levels.front());
    text += " in " + std::to_string(count) + " of " + std::to_string(layers) + " layers, " + recipe::write_value(levels.back()) + " in the rest";
  }
  if (memory.checkpoint_segment > 1) text += ", " + std::to_string(memory.checkpoint_segment) + " layers together";
  return text;
}

}  // namespace

passes::CheckpointLevels checkpoint_levels(const recipe::MemorySection& memory) {
  if (memory.activation_checkpoint.is_auto()) throw InternalError("memory.activation_checkpoint is still to be chosen");
  std::vector<passes::CheckpointLevel> levels;
  for (const ActivationCheckpoint level : *memory.activation_checkpoint.value) levels.push_back(static_cast<passes::CheckpointLevel>(level));
  return {std::move(levels), static_cast<int>(memory.checkpoint_segment)};
}

std::vector<ActivationCheckpoint> compressed(std::vector<ActivationCheckpoint> levels) {
  if (std::ranges::all_of(levels, [&](ActivationCheckpoint l) { return l == levels.front(); })) levels.resize(1);
  return levels;
}

void choose_what_fits(RunPlan& plan, std::int64_t budget_bytes, const program::Rates* rates) {
  auto& memory = plan.recipe.memory;
  const auto& asked = plan.recipe.batch;
  bool choose_batch = asked.micro_batch_size.is_auto() && !asked.grad_accum_steps, choose_depth = memory.activation_checkpoint.is_auto();
  if (!choose_batch && !choose_depth && !memory.fit) return;
  const Search search(plan, budget_bytes, rates);
  const std::int64_t written = plan.batch.micro_batch_size;
  if (memory.fit && !choose_batch && !choose_depth && search.fits(search.weigh({written, 0}))) {
    plan.choices.push_back("memory.fit changes nothing: the run fits as it is written");
    return;
  }
  const bool may_shrink = memory.fit && !choose_batch;
  if (memory.fit) {
    choose_depth = true;
    if (!memory.activation_checkpoint.is_auto()) memory.activation_checkpoint.value.reset();
  }
  std::vector<Candidate> all;
  const auto try_all = [&](const auto& candidate) {
    all.clear();
    for (const std::int64_t micro : search.micro_batch_sizes()) {
      if (!choose_batch && !(may_shrink && micro <= written) && micro != written) continue;
      all.push_back(candidate(micro));
      if (all.size() > 1 && !search.fits(all.back())) break;
    }
  };
  try_all([&](std::int64_t micro) { return choose_depth ? search.least_depth(micro) : search.weigh({micro, 0}); });
  const bool may_offload = memory.fit && plan.on_gpu && memory.activation_offload == recipe::ActivationOffload::none;
  if (may_offload && std::ranges::none_of(all, [&](const Candidate& c) { return search.fits(c); })) {
    const std::vector<Candidate> on_device = all;
    try_all([&](std::int64_t micro) { return search.offloaded(micro); });
    if (std::ranges::none_of(all, [&](const Candidate& c) { return search.fits(c); })) all = on_device;
  }
  const std::int64_t tokens_that_fill = plan.on_gpu ? 65536 : 4096, length = plan.row_lengths.back();
  const Candidate* best = fastest(all, search, (tokens_that_fill + length - 1) / length);
  if (!best) best = &*std::ranges::min_element(all, {}, &Candidate::bytes);
  plan.batch.micro_batch_size = best->micro_batch_size;
  plan.batch.grad_accum_steps = search.samples() / best->micro_batch_size;
  const std::string budget = budget_bytes > 0 ? " of " + human_bytes(budget_bytes) : "";
  if (choose_batch || may_shrink) {
    std::string text = "batch.micro_batch_size " + std::to_string(best->micro_batch_size) + (may_shrink ? " instead of " + std::to_string(written) : "") + ": " + human_bytes(best->bytes) + budget;
    const Candidate* smaller = nullptr;
    for (const Candidate& c : all)
      if (c.micro_batch_size < best->micro_batch_size && search.fits(c)) smaller = &c;
    if (smaller && best->seconds > 0) text += "; " + std::to_string(smaller->micro_batch_size) + " would take " + percent(smaller->seconds / best->seconds - 1) + " longer";
    else if (best->seconds == 0) text += "; " + std::to_string(best->micro_batch_size * length) + " tokens at a time";
    plan.choices.push_back(std::move(text));
  }
  if (best->offload) {
    memory.activation_offload = recipe::ActivationOffload::cpu;
    const Candidate recomputed = search.least_depth(best->micro_batch_size);
    std::string text = "memory.activation_offload cpu: the most that recomputation saves needs " + human_bytes(recomputed.bytes) + ", " + human_bytes(best->bytes) + budget + " with " + human_bytes(best->host_bytes) +
                       " on the host, of what layers keep";
    if (best->seconds > 0 && rates->host_bytes_per_s > 0) text += "; costs " + percent(best->seconds / recomputed.seconds - 1) + " of a step more";
    else text += "; what the copies cost was not measured on this GPU";
    plan.choices.push_back(std::move(text));
  }
  if (choose_depth) {
    search.depth().write(best->depth, memory);
    std::string text = "memory.activation_checkpoint " + of_layers(memory, search.depth().layers);
    const Candidate nothing = search.weigh({best->micro_batch_size, 0});
    if (best->depth == 0) text += ": nothing need be recomputed";
    else text += ": " + human_bytes(best->bytes) + budget + ", where none would need " + human_bytes(nothing.bytes);
    if (best->depth > 0 && best->seconds > 0) text += "; costs " + percent(best->seconds / nothing.seconds - 1) + " of a step";
    plan.choices.push_back(std::move(text));
  }
}

}  // namespace trainx::plan
