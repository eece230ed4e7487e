#include "plan/choose/cells.hpp"
#include "plan/choose/offload.hpp"
#include <algorithm>
#include <cmath>

namespace trainx::plan {
namespace {

// By how much memory that is estimated from fewer layers may be off.
constexpr double slack_of_estimates = 0.03;

}  // namespace

bool Cells::is_possible(const Cell& cell) const {
  const Decisions c = choice_of(cell, 0);
  const Draft& plan = search_.evaluator().problem();
  const int stage = recipe::zero_stage(c.mode);
  const bool on_host = c.optimizer != recipe::OptimizerOffload::none,
             weights = c.weights != recipe::ParameterOffload::none;
  if (weights && (stage == 1 || stage == 2)) return false;
  const bool in_parts = stage > 0 || c.experts > 1;
  return !(on_host && in_parts && plan.update.unit == program::Unit::tensor);
}

Decisions Cells::choice_of(const Cell& cell, int depth) const {
  Decisions c = space_.written;
  const ModeOfShards& mode = space_.modes[cell.mode];
  c.mode = mode.mode;
  c.shard = mode.shard;
  c.experts = space_.experts[cell.experts];
  c.micro_batch_size = space_.micro_batch_sizes[cell.micro];
  if (space_.depth) space_.depth->write(depth, c);
  if (cell.on_host.activations) c.activations = recipe::ActivationOffload::cpu;
  if (cell.on_host.optimizer) c.optimizer = recipe::OptimizerOffload::cpu;
  if (cell.on_host.weights) c.weights = recipe::ParameterOffload::cpu;
  c.groups_on_device = space_.groups_on_device.front();
  c.turns_kept = 0;
  c.casts_weights_once = true;
  return c;
}

std::vector<Cell> Cells::with_more_on_host(const Cell& cell) const {
  std::vector<Cell> out;
  const auto also = [&](bool OnHost::*what) {
    Cell more = cell;
    more.on_host.*what = true;
    if (std::ranges::find(space_.on_host, more.on_host) != space_.on_host.end() &&
        is_possible(more))
      out.push_back(more);
  };
  // each set of things is reached once: the optimizer, then weights, then activations
  if (cell.on_host.activations) return out;
  also(&OnHost::activations);
  if (cell.on_host.weights) return out;
  also(&OnHost::weights);
  if (!cell.on_host.optimizer) also(&OnHost::optimizer);
  return out;
}

Way Cells::estimated(const Decisions& choice, bool timed) {
  Estimator& estimator = search_.estimator();
  const Decisions whole =
      completed(choice, [&](const Decisions& c) { return estimator.memory_of(c); });
  return {whole, timed ? estimator.of(whole) : estimator.memory_of(whole)};
}

int Cells::trained_groups() {
  if (!trained_groups_) trained_groups_ = plan::trained_groups(search_.evaluator().problem());
  return *trained_groups_;
}

bool Cells::nearly_fits(const Decisions& choice, const Evaluation& takes) const {
  if (search_.estimator().is_exact()) return search_.fits(choice, takes);
  Evaluation less = takes;
  const auto lower = [](std::int64_t bytes) {
    return std::llround(static_cast<double>(bytes) * (1 - slack_of_estimates));
  };
  less.bytes = lower(takes.bytes), less.host_bytes = lower(takes.host_bytes);
  return search_.fits(choice, less);
}

std::int64_t Cells::most_saved_by_segments(const Cell& cell) const {
  if (!space_.depth || cell.on_host.activations || space_.depth->layers < 2 ||
      space_.depth->levels.back() != RecomputeLevel::full)
    return 0;
  const Draft& plan = search_.evaluator().problem();
  const double hidden = std::visit(
      [&](const auto& d) -> double {
        if constexpr (requires { d.hidden_size; })
          return static_cast<double>(d.hidden_size) * static_cast<double>(size_of(plan.compute));
        else
          return 1e9;  // not known
      },
      plan.dims);
  return std::llround(hidden * space_.depth->layers *
                      static_cast<double>(space_.micro_batch_sizes[cell.micro]) * 2 *
                      static_cast<double>(plan.row_lengths.back()));
}

}  // namespace trainx::plan
