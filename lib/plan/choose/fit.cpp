#include "plan/choose/fit.hpp"
#include "core/error.hpp"
#include "core/units.hpp"
#include "plan/choose/offload.hpp"
#include "plan/choose/fit_search.hpp"
#include "plan/limits.hpp"
#include "plan/memory_plan.hpp"
#include "plan/explain/percent.hpp"
#include "recipe/value.hpp"
#include <algorithm>
#include <cstdio>

namespace trainx::plan {

namespace {

// What saves less of a step is below what predictions are good for.
constexpr double worthwhile = 0.99;

/// Of those that fit. Beyond what fills the machine a larger micro-batch takes memory alone.
const Candidate* fastest(const std::vector<Candidate>& all, const FitSearch& search,
                         std::int64_t samples_that_fill) {
  const Candidate* best = nullptr;
  const auto better = [&](const Candidate& c, const Candidate& than) {
    if (c.seconds > 0) return c.seconds < worthwhile * than.seconds;
    if (c.depth != than.depth) return c.depth < than.depth;
    return than.micro_batch_size < samples_that_fill;
  };
  for (const Candidate& c : all)  // ascending: a larger one must be better than the smaller
    if (search.fits(c) && (!best || better(c, *best))) best = &c;
  return best;
}

std::string of_layers(const recipe::MemorySection& memory, int layers) {
  const auto& levels = *memory.activation_checkpoint.value;
  std::string text = recipe::write_value(levels.front());
  if (levels.size() > 1) {
    const auto count = std::ranges::count(levels, levels.front());
    text += " in " + std::to_string(count) + " of " + std::to_string(layers) + " layers, " +
            recipe::write_value(levels.back()) + " in the rest";
  }
  if (memory.recompute_segment > 1)
    text += ", " + std::to_string(memory.recompute_segment) + " layers together";
  return text;
}

/// All that can be done with the same things on the host.
struct Way {
  OnHost on_host;
  std::vector<Candidate> all;     // by micro-batch
  std::optional<Candidate> best;  // of those that fit
};

/// What memory.fit may put on the host, where the recipe has it on a GPU: nothing first, weights
/// last.
std::vector<OnHost> places_of(const Decisions& plan) {
  std::vector<OnHost> places{{}};
  if (!plan.recipe.memory.fit || !plan.on_gpu) return places;
  const auto also = [&](bool may, bool OnHost::*what) {
    for (const OnHost& before : may ? std::vector(places) : std::vector<OnHost>{})
      places.emplace_back(before).*what = true;
  };
  // what modules of the user's own keep cannot be moved
  also(plan.recipe.memory.activation_offload == recipe::ActivationOffload::none &&
           !std::holds_alternative<architectures::CustomDims>(plan.dims),
       &OnHost::activations);
  also(may_update_on_host(plan), &OnHost::optimizer);
  also(may_keep_weights_on_host(plan), &OnHost::weights);
  return places;
}

/// As a sentence names it: "activations and the optimizer".
std::string name_of(OnHost what) {
  std::vector<std::string> names;
  if (what.activations) names.emplace_back("activations");
  if (what.optimizer) names.emplace_back("the optimizer");
  if (what.weights) names.emplace_back("weights");
  std::string text;
  for (std::size_t k = 0; k < names.size(); ++k)
    text += (k == 0 ? "" : k + 1 == names.size() ? " and " : ", ") + names[k];
  return text;
}

/// Writes what waits on the host into the plan, with what it was chosen over.
void put_on_host(Decisions& plan, const FitSearch& search, const std::vector<Way>& ways,
                 const Candidate& best, const std::string& budget) {
  const Way& on_device = ways.front();
  const Candidate most = search.least_depth(best.micro_batch_size);
  const std::string why =
      on_device.best ? "without the host the fastest that fits would take " +
                           percent(on_device.best->seconds / best.seconds - 1) + " longer"
                     : "the most that recomputation saves needs " + human_bytes(most.bytes);
  const auto say = [&](const std::string& key, const std::string& what, OnHost without) {
    Candidate other = best;
    other.on_host = without;
    std::string text = key + " cpu: " + why + "; " + human_bytes(best.bytes) + budget + " with " +
                       human_bytes(best.host_bytes) + " on the host, of " + what;
    if (search.knows_copies())
      text += "; costs " + percent(std::max(0.0, best.seconds / search.weigh(other).seconds - 1)) +
              " of a step more";
    else
      text += "; what the copies cost was not measured on this GPU";
    for (const Way& way : ways)
      if (way.best && way.on_host.any() && way.on_host != best.on_host && search.knows_copies())
        text += "; with " + name_of(way.on_host) + " there instead a step would take " +
                percent(way.best->seconds / best.seconds - 1) + " longer";
    plan.choices.push_back(std::move(text));
  };
  const auto without = [&](bool OnHost::*what) {
    OnHost others = best.on_host;
    others.*what = false;
    return others;
  };
  if (best.on_host.optimizer)
    say("memory.optimizer_offload",
        "optimizer states, exact weights and gradients, whose norm is summed by parts (what is "
        "clipped may differ in the last bit)",
        without(&OnHost::optimizer));
  if (best.on_host.activations)
    say("memory.activation_offload", "what layers keep", without(&OnHost::activations));
  if (best.on_host.weights)
    say("memory.parameter_offload", "weights, which come in a block ahead of their use",
        without(&OnHost::weights));
  if (best.on_host.activations)
    plan.recipe.memory.activation_offload = recipe::ActivationOffload::cpu;
  if (best.on_host.optimizer)
    plan.recipe.memory.optimizer_offload.where = recipe::OptimizerOffload::cpu;
  if (best.on_host.weights) plan.recipe.memory.parameter_offload = recipe::ParameterOffload::cpu;
}

}  // namespace

passes::RecomputeLevels recompute_levels(const recipe::MemorySection& memory) {
  if (memory.activation_checkpoint.is_auto())
    throw InternalError("memory.activation_checkpoint is still to be chosen");
  std::vector<RecomputeLevel> levels;
  for (const RecomputeLevel level : *memory.activation_checkpoint.value)
    levels.push_back(static_cast<RecomputeLevel>(level));
  return {std::move(levels), static_cast<int>(memory.recompute_segment)};
}

std::vector<RecomputeLevel> compressed(std::vector<RecomputeLevel> levels) {
  if (std::ranges::all_of(levels, [&](RecomputeLevel l) { return l == levels.front(); }))
    levels.resize(1);
  return levels;
}

double step_seconds(const Programs& programs, const program::Rates& rates) {
  const PlacedProgram& placed = programs.train.back();
  return program::predict_time(placed.program, placed.order, placed.graph, rates).step_s;
}

void choose_what_fits(Decisions& plan, std::int64_t budget_bytes, const program::Rates* rates) {
  auto& memory = plan.recipe.memory;
  const auto& asked = plan.recipe.batch;
  bool choose_batch = asked.micro_batch_size.is_auto() && !asked.grad_accum_steps,
       choose_depth = memory.activation_checkpoint.is_auto();
  if (!choose_batch && !choose_depth && !memory.fit) return;
  if (const std::int64_t layers = layers_of(plan.dims); layers > most_searched_layers)
    throw UserError(ExitCode::invalid_recipe,
                    "model.options.num_layers is " + with_commas(layers) +
                        ", and trainx chooses micro-batches and recomputation for at most " +
                        with_commas(most_searched_layers) +
                        " layers: write batch.micro_batch_size and memory.activation_checkpoint, "
                        "and leave memory.fit out");
  const FitSearch search(plan, budget_bytes, rates);
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
  const std::int64_t tokens_that_fill = plan.on_gpu ? 65536 : 4096,
                     length = plan.row_lengths.back(),
                     samples_that_fill = (tokens_that_fill + length - 1) / length;
  const std::vector<std::int64_t> sizes = search.micro_batch_sizes();
  if (sizes.empty()) require_plannable_micro_steps(plan, search.samples());
  std::vector<Way> ways;
  double fastest_s = 0;  // of all that fits so far
  const std::vector<OnHost> places = places_of(plan);
  // What takes least memory of all that can be done with these things on the host.
  const auto least = [&](std::int64_t micro, OnHost on_host) {
    return search.weigh({micro, choose_depth ? search.depth().whole() : 0, on_host});
  };
  for (const OnHost on_host : places) {
    const bool spent = is_spent(plan), any_fits = std::ranges::any_of(ways, [](const Way&way) {
                                         return way.best.has_value();
                                       });
    if (!ways.empty() && spent && any_fits) break;
    // which are needed in each micro-step: the last resort
    if (on_host.weights && any_fits) break;
    if (!ways.empty() && spent && budget_bytes > 0 &&
        least(ways.front().all.front().micro_batch_size, places.back()).bytes > budget_bytes)
      break;  // not even with all of them there
    Way& way = ways.emplace_back(Way{on_host, {}, {}});
    for (const std::int64_t micro : sizes) {
      if (!way.all.empty() && is_spent(plan)) break;
      if (!choose_batch && !(may_shrink && micro <= written) && micro != written) continue;
      // nothing fits so far: only what takes least memory is tried
      if (spent) {
        way.all.push_back(least(micro, on_host));
        break;
      }
      if (on_host.any() && fastest_s > 0 &&
          search.least_seconds(micro, on_host) >= worthwhile * fastest_s)
        continue;
      way.all.push_back(
          !choose_depth ? search.weigh({micro, 0})
          : on_host.activations
              ? search.offloaded(micro, on_host)
              : search.least_depth(micro, on_host, way.all.empty() ? 0 : way.all.back().depth));
      if (way.all.size() > 1 && !search.fits(way.all.back())) break;
    }
    if (const Candidate* best = fastest(way.all, search, samples_that_fill)) way.best = *best;
    if (way.best && search.knows_copies() && (fastest_s == 0 || way.best->seconds < fastest_s))
      fastest_s = way.best->seconds;
    // what lies on the host costs nobody knows what: the less the better
    if (way.best && !search.knows_copies()) break;
  }
  if (is_spent(plan))
    plan.choices.push_back(
        "the search ended early: there are too many ways to try for this model; what follows is "
        "the best that was tried");
  const Way* chosen = &ways.front();
  for (const Way& way : ways)
    if (way.best && (!chosen->best || way.best->seconds < worthwhile * chosen->best->seconds))
      chosen = &way;
  const Candidate best =
      chosen->best ? *chosen->best : *std::ranges::min_element(chosen->all, {}, &Candidate::bytes);
  plan.batch.micro_batch_size = best.micro_batch_size;
  plan.batch.grad_accum_steps = search.samples() / best.micro_batch_size;
  const std::string budget = budget_bytes > 0 ? " of " + human_bytes(budget_bytes) : "";
  if (choose_batch || may_shrink) {
    std::string text = "batch.micro_batch_size " + std::to_string(best.micro_batch_size) +
                       (may_shrink && best.micro_batch_size != written
                            ? " instead of " + std::to_string(written)
                            : "") +
                       ": " + human_bytes(best.bytes) + budget;
    const Candidate* smaller = nullptr;
    for (const Candidate& c : chosen->all)
      if (c.micro_batch_size < best.micro_batch_size && search.fits(c)) smaller = &c;
    if (smaller && best.seconds > 0)
      text += "; " + std::to_string(smaller->micro_batch_size) + " would take " +
              percent(smaller->seconds / best.seconds - 1) + " longer";
    else if (best.seconds == 0)
      text += "; " + std::to_string(best.micro_batch_size * length) + " tokens at a time";
    plan.choices.push_back(std::move(text));
  }
  if (best.on_host.any()) put_on_host(plan, search, ways, best, budget);
  if (choose_depth) {
    // while the level is not written
    const Candidate nothing = search.weigh({best.micro_batch_size, 0, best.on_host});
    search.depth().write(best.depth, memory);
    std::string text = "memory.activation_checkpoint " + of_layers(memory, search.depth().layers);
    if (best.depth == 0)
      text += ": nothing need be recomputed";
    else
      text += ": " + human_bytes(best.bytes) + budget + ", where none would need " +
              human_bytes(nothing.bytes);
    if (best.depth > 0 && best.seconds > 0)
      text += "; costs " + percent(best.seconds / nothing.seconds - 1) + " of a step";
    plan.choices.push_back(std::move(text));
  }
}

}  // namespace trainx::plan
