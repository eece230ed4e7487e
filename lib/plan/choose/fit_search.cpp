#include "plan/choose/fit_search.hpp"
#include "plan/choose/fit.hpp"
#include "plan/custom_dims.hpp"
#include "plan/limits.hpp"
#include "plan/precision.hpp"
#include "architectures/architecture.hpp"
#include <algorithm>
#include <cmath>

namespace trainx::plan {

namespace {

/// Largest micro-batch that the worker measured modules of the user's own for.
std::int64_t most_described(const Decisions& plan, const architectures::CustomDims& dims) {
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t length : plan.row_lengths)
    for (const DType compute : {plan.compute, evaluation_dtype_of(plan.recipe)}) {
      std::int64_t largest = 0;
      for (const architectures::CustomShape& s : dims.shapes)
        if (s.length == length && s.compute == compute)
          largest = std::max(largest, s.micro_batch_size);
      most = std::min(most, largest);
    }
  return most;
}

}  // namespace

int Depth::whole() const { return (static_cast<int>(levels.size()) - 1) * layers; }
int Depth::most() const { return whole() + static_cast<int>(std::ceil(std::sqrt(layers))) - 1; }

void Depth::write(int depth, recipe::MemorySection& memory) const {
  const int level = std::min(depth, whole()) / layers, more = std::min(depth, whole()) % layers;
  const auto at = [&](int k) {
    return levels[std::min(static_cast<std::size_t>(k), levels.size() - 1)];
  };
  std::vector<RecomputeLevel> of_layers(static_cast<std::size_t>(layers), at(level));
  std::fill_n(of_layers.begin(), more, at(level + 1));
  const bool any_full = std::ranges::count(of_layers, RecomputeLevel::full) > 0;
  memory.activation_checkpoint.value = compressed(std::move(of_layers));
  memory.recompute_segment = any_full
                                 ? std::max<std::int64_t>(memory.recompute_segment,
                                                          depth > whole() ? depth - whole() + 1 : 1)
                                 : 1;
}

FitSearch::FitSearch(const Decisions& plan, std::int64_t budget_bytes, const program::Rates* rates)
    : plan_(plan), budget_(budget_bytes), rates_(rates) {
  samples_ = plan.batch.micro_batch_size * plan.batch.grad_accum_steps;
  const auto* custom = std::get_if<architectures::CustomDims>(&plan.dims);
  if (custom) {
    most_described_ = most_described(plan, *custom);
    depth_.levels = possible_levels(*custom);
  }
  depth_.layers = std::max(1, architectures::model_graph(
                                  plan.dims, 1, plan.row_lengths.back(), plan.compute,
                                  custom ? machine_of(plan) : architectures::Machine(plan.threads))
                                  .layers());
}

bool FitSearch::fits(const Candidate& c) const {
  return c.micro_batch_size <= most_described_ && (budget_ <= 0 || c.bytes <= budget_) &&
         (plannable_host_bytes(plan_) <= 0 || c.host_bytes <= plannable_host_bytes(plan_)) &&
         (!c.on_host.activations || c.offloaded_bytes > 0);
}

Candidate FitSearch::weigh(const Candidate& c) const { return weighed(c, true); }

Candidate FitSearch::weighed(Candidate c, bool timed) const {
  const Key key{c.micro_batch_size, c.depth, c.on_host,
                plan_.recipe.memory.activation_checkpoint.is_auto()};
  if (const auto known = weighed_.find(key);
      known != weighed_.end() && (known->second.timed || !timed))
    return known->second.candidate;
  if (c.micro_batch_size > most_described_) {
    c.bytes = std::numeric_limits<std::int64_t>::max();
    return c;
  }
  const std::int64_t steps = samples_ / c.micro_batch_size;
  // more take no more memory
  const auto micro_steps = static_cast<int>(std::min<std::int64_t>(steps, 2));
  const Extent extent = timed && rates_ ? Extent::candidate : Extent::bytes;
  const Decisions decided = sized(c, micro_steps);
  const Programs two = plan_programs(decided, extent);
  const MemoryPlan memory = plan_memory_totals(decided, two);
  c.bytes = memory.total_bytes();
  c.host_bytes = plan_.on_gpu ? host_need(memory) : 0;
  c.offloaded_bytes = offloaded_bytes(two.train.back().program);
  c.seconds = timed && rates_ ? seconds_of(c, two, memory.host_bytes > 0) : 0;
  weighed_[key] = {c, timed};
  return c;
}

double FitSearch::seconds_of(const Candidate& c, const Programs& two, bool uses_host) const {
  const std::int64_t steps = samples_ / c.micro_batch_size;
  const double of_two = step_seconds(two, *rates_);
  if (steps <= 2) return of_two;
  // What one more takes; the first and the last may wait for copies that those between them do not
  // have.
  const double of_one_more =
      uses_host ? step_seconds(plan_programs(sized(c, 3), Extent::training), *rates_) - of_two
                : of_two - step_seconds(plan_programs(sized(c, 1), Extent::training), *rates_);
  return of_two + static_cast<double>(steps - 2) * of_one_more;
}

Candidate FitSearch::least_depth(std::int64_t micro_batch_size, OnHost on_host,
                                 int at_least) const {
  // segments: fewer than the root of the layers
  if (at_least > depth_.whole()) at_least = 0;
  if (const Candidate least = weigh({micro_batch_size, at_least, on_host}); fits(least))
    return least;
  // the time of what is chosen is enough
  const auto bytes_of = [&](int depth) {
    return weighed({micro_batch_size, depth, on_host}, false);
  };
  Candidate best = bytes_of(depth_.whole());
  for (int depth = depth_.whole() + 1; !fits(best) && depth <= depth_.most() && !is_spent(plan_);
       ++depth)
    best = bytes_of(depth);
  if (!fits(best) || best.depth > depth_.whole()) return weigh(best);
  // low does not fit, high does
  for (int low = at_least, high = depth_.whole(); high - low > 1 && !is_spent(plan_);) {
    const int middle = (low + high) / 2;
    const Candidate c = bytes_of(middle);
    (fits(c) ? high : low) = middle;
    if (fits(c)) best = c;
  }
  return weigh(best);
}

Candidate FitSearch::offloaded(std::int64_t micro_batch_size, OnHost on_host) const {
  Candidate best = weigh({micro_batch_size, depth_.whole(), on_host});
  if (!knows_copies()) return best;
  for (int level = static_cast<int>(depth_.levels.size()) - 1; level-- > 0;)
    if (const Candidate c = weigh({micro_batch_size, level * depth_.layers, on_host});
        fits(c) && c.seconds < best.seconds)
      best = c;
  return best;
}

double FitSearch::least_seconds(std::int64_t micro_batch_size, OnHost on_host) const {
  // what is recomputed need not be copied; at the least nothing is either
  on_host.activations = false;
  return weigh({micro_batch_size, 0, on_host}).seconds;
}

std::vector<std::int64_t> FitSearch::micro_batch_sizes() const {
  if (plan_.recipe.optimizer.update_in_backward) return {samples_};
  std::vector<std::int64_t> sizes = plannable_micro_batch_sizes(plan_, samples_);
  std::erase_if(sizes, [&](std::int64_t micro) { return micro > most_described_; });
  return sizes;
}

Decisions FitSearch::sized(const Candidate& c, int micro_steps) const {
  Decisions d = plan_;
  recipe::MemorySection& memory = d.recipe.memory;
  if (memory.activation_checkpoint.is_auto() || c.depth > 0) depth_.write(c.depth, memory);
  if (c.on_host.activations) memory.activation_offload = recipe::ActivationOffload::cpu;
  if (c.on_host.optimizer) memory.optimizer_offload.where = recipe::OptimizerOffload::cpu;
  if (c.on_host.weights) memory.parameter_offload = recipe::ParameterOffload::cpu;
  d.batch.micro_batch_size = c.micro_batch_size;
  d.batch.grad_accum_steps = micro_steps;
  d.row_lengths = {plan_.row_lengths.back()};
  return d;
}

}  // namespace trainx::plan
