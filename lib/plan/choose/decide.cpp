#include "plan/choose/decide.hpp"
#include "core/error.hpp"
#include "core/units.hpp"
#include "plan/choose/mode.hpp"
#include "plan/choose/offload.hpp"
#include "plan/choose/search.hpp"
#include "plan/choose/words.hpp"
#include "plan/libraries_fill.hpp"
#include "plan/limits.hpp"
#include "plan/weight_casts.hpp"
#include <algorithm>

namespace trainx::plan {
namespace {

bool is_batch_open(const Draft& plan) {
  const auto& asked = plan.recipe.batch;
  return asked.micro_batch_size.is_auto() && !asked.grad_accum_steps;
}

/// Whether there is one choice alone.
bool is_decided(const Space& space, const Draft& plan) {
  const bool gathers = plan.zero_stage() == 3 && plan.knows_links,
             casts = weight_casts_of(plan) != operations::Fp8WeightCasts::in_each_use,
             disk = plan.recipe.memory.optimizer_offload.where ==
                    recipe::OptimizerOffload::cpu_disk;
  return space.modes.size() == 1 && space.experts.size() == 1 &&
         space.micro_batch_sizes == std::vector{plan.batch.micro_batch_size} && !space.depth &&
         space.on_host.size() == 1 && space.groups_on_device.size() == 1 && !gathers && !casts &&
         !disk;
}

/// Throws UserError 78 if a model that is too deep for a search leaves something to choose.
void require_searchable(const Draft& plan, const Space& open) {
  if (is_searchable(plan)) return;
  if (plan.recipe.memory.fit || open.modes.size() > 1 || open.depth ||
      open.micro_batch_sizes.size() > 1)
    throw UserError(ExitCode::invalid_recipe,
                    "model.options.num_layers is " + with_commas(layers_of(plan.dims)) +
                        ", and trainx makes choices for at most " +
                        with_commas(most_repeated_layers) + " layers, or " +
                        with_commas(most_searched_layers) +
                        " that differ or that the recipe tells apart: write "
                        "batch.micro_batch_size, memory.activation_checkpoint and "
                        "parallel.mode, and leave memory.fit out");
}

/// The first choice of each kind, with the smallest micro-batch.
Space only_the_smallest(Space space) {
  space.modes.resize(1);
  space.experts.resize(1);
  space.micro_batch_sizes = {std::ranges::min(space.micro_batch_sizes)};
  space.depth.reset();
  space.on_host.resize(1);
  space.groups_on_device.resize(1);
  return space;
}

/// With memory.fit: as it is written where that fits, else with all levers.
Found find_what_fits(const Draft& plan, Search& search, const Space& open, Space& used,
                     std::int64_t local_ranks, bool& as_written) {
  const bool batch_open = is_batch_open(plan),
             depth_open = plan.recipe.memory.activation_checkpoint.is_auto();
  // where times between ranks are not known shards come before recomputation and the host
  const bool modes_first = open.modes.size() > 1 && !search.knows_links();
  if (!batch_open && !depth_open) {
    Space first = open;
    first.modes.resize(1);
    Found found = search.find(first);
    as_written = found.best() != nullptr;
    if (!as_written && search.passed_over()) return found;
  }
  if (as_written || modes_first)
    if (Found found = search.find(open); found.best() || search.passed_over()) return found;
  used = space_of(plan, Freedom::to_fit, local_ranks);
  if (libraries_fill(plan)) return search.find(only_the_smallest(used));
  if (modes_first) used.modes.erase(used.modes.begin());
  return search.find(used);
}

void write_into_recipe(Draft& plan, const Space& open) {
  auto& parallel = plan.recipe.parallel;
  parallel.mode = {plan.mode};
  if (plan.zero_stage() > 0) parallel.shard_ranks = {plan.mesh.shard};
  parallel.experts = plan.mesh.experts;
  if (open.groups_on_device.size() == 1) return;
  auto& offload = plan.recipe.memory.optimizer_offload;
  offload.share.value = share_on_device(plan);
  if (plan.groups_on_device < open.groups_on_device.back()) return;
  recipe::OptimizerOffloadSection nothing;
  if (weights_on_disk(plan)) {  // which have the same file
    nothing.folder = offload.folder;
    nothing.read_ahead = offload.read_ahead;
  }
  offload = nothing;
  plan.groups_on_device = 0;
}

}  // namespace

Choosing::Choosing(Draft plan, const program::Rates* rates, std::int64_t local_ranks)
    : before_(std::move(plan)),
      local_ranks_(local_ranks),
      open_(space_of(before_, Freedom::unwritten, local_ranks)),
      used_(open_),
      evaluator_(before_, rates),
      search_(evaluator_, budget_of(before_)),
      is_decided_(plan::is_decided(open_, before_) && !before_.recipe.memory.fit) {
  if (!is_decided_) require_searchable(before_, open_);
}

void Choosing::search(double limit_s) {
  if (is_decided_) return;
  search_.look_below(limit_s);
  found_ = before_.recipe.memory.fit
               ? find_what_fits(before_, search_, open_, used_, local_ranks_, as_written_)
               : search_.find(open_);
}

double Choosing::least_seconds() { return search_.least_seconds(open_); }

Way Choosing::way() {
  if (!is_decided_) return found_.best() ? *found_.best() : found_.smallest;
  Decisions choice = open_.written;
  choice.shard = open_.modes.front().shard;
  return {choice, evaluator_.of(choice)};
}

bool Choosing::fits() {
  if (!is_decided_) return found_.best() != nullptr;
  const Way only = way();
  return search_.fits(only.choice, only.takes);
}

double Choosing::fastest_s() {
  if (!is_decided_) return least_seconds_of(found_.fitting);
  return fits() ? way().takes.seconds : std::numeric_limits<double>::infinity();
}

void Choosing::settle(double fastest_s) {
  if (const Way* simplest = simplest_of(found_.fitting, fastest_s, used_))
    found_.chosen = static_cast<std::size_t>(simplest - found_.fitting.data());
}

void Choosing::take(Draft& plan) {
  search_.look_below(std::numeric_limits<double>::infinity());
  if (is_decided_) {
    plan.mesh.shard = open_.modes.front().shard;
    tell_kept_weights(plan, search_);
    return write_into_recipe(plan, open_);
  }
  auto& level = plan.recipe.memory.activation_checkpoint;
  if (level.is_auto()) level.value = {RecomputeLevel::none};
  apply(way().choice, plan);
  tell(plan, search_, {before_, used_, found_, as_written_});
  write_into_recipe(plan, open_);
}

void decide(Draft& plan, const program::Rates* rates, std::int64_t local_ranks) {
  Choosing choosing(plan, rates, local_ranks);
  choosing.search();
  choosing.take(plan);
}

}  // namespace trainx::plan
