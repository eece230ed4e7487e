// What a search varies of a run: a small value. Programs, bytes and seconds follow from it.
#pragma once
#include "plan/draft.hpp"
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trainx::plan {

// Decisions::turns_kept of weights that stay for all of a step.
constexpr int whole_step = 1 << 20;

/// One way to run a recipe: the cut of the batch, what is recomputed and where things lie.
struct Decisions {
  recipe::ParallelMode mode = recipe::ParallelMode::single;
  int shard = 1, experts = 1;                 // program::Mesh
  int tensor = 1, context = 1, pipeline = 1;  // likewise
  std::int64_t micro_batch_size = 1;          // the global batch never changes
  // of all layers, or of each
  std::vector<RecomputeLevel> levels{RecomputeLevel::none};
  std::int64_t segment = 1;  // memory.recompute_segment
  recipe::ActivationOffload activations = recipe::ActivationOffload::none;
  recipe::OptimizerOffload optimizer = recipe::OptimizerOffload::none;
  recipe::ParameterOffload weights = recipe::ParameterOffload::none;
  int groups_on_device = 0, groups_on_disk = 0;  // of an offloaded optimizer
  int turns_kept = 0;                            // passes::ZeroOptions
  bool casts_weights_once = true;                // weight_casts.hpp
  auto operator<=>(const Decisions&) const = default;
};

/// What a plan has chosen so far. `plan.recipe.memory.activation_checkpoint` auto: nothing is
/// recomputed.
Decisions decisions_of(const Draft& plan);

/// Writes a choice into a plan, whose samples of a step stay.
void apply(const Decisions& choice, Draft& plan);
Draft applied(Draft plan, const Decisions& choice);

/// Keys and values of the recipe in which a choice differs from another: "parallel.mode zero1".
std::vector<std::string> changed_keys(const Decisions& choice, const Decisions& from);
/// As a sentence names them: "parallel.mode zero1 with batch.micro_batch_size 4"; "" if none does.
/// Layers that are recomputed in two ways are counted.
std::string changes_of(const Decisions& choice, const Decisions& from,
                       std::string_view between = " with ");

}  // namespace trainx::plan
