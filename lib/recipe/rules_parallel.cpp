// The global batch and the ranks that share it.
#include "recipe/rule_set.hpp"
#include "recipe/rules.hpp"
#include <algorithm>
#include <initializer_list>
#include <limits>

namespace trainx::recipe {
namespace {

class ParallelRules : public RuleSet {
 public:
  using RuleSet::RuleSet;

  void check() {
    batch();
    parallel();
    chosen_degrees();
    tensor();
    context();
    if (r_.parallel.experts > 1)
      experts();
    else
      no_experts();
  }

 private:
  /// global_batch_size [samples per step] = micro_batch_size [samples per forward, per rank] *
  /// grad_accum_steps * world_size. How many ranks there are may show only when the run is launched
  /// (world_size: auto): then what holds for any number is asked.
  void batch() {
    const auto &global = r_.batch.global_batch_size, &micro = r_.batch.micro_batch_size.value,
               &accum = r_.batch.grad_accum_steps;
    const auto ranks = batches();
    std::string sharing;  // a batch, by key
    for (const auto& [name, count] : {std::pair{"tensor", tensor_ranks()},
                                      {"context", context_ranks()},
                                      {"pipeline", pipeline_stages()}})
      if (count > 1) sharing += (sharing.empty() ? "" : " * ") + std::string(name);
    if (sharing.find('*') != std::string::npos) sharing = "(" + sharing + ")";
    const std::initializer_list<std::string> keys{"batch",
                                                  "batch.global_batch_size",
                                                  "batch.micro_batch_size",
                                                  "batch.grad_accum_steps",
                                                  "parallel.world_size",
                                                  "parallel.tensor",
                                                  "parallel.context",
                                                  "parallel.pipeline"};
    const int given = global.has_value() + micro.has_value() + accum.has_value();
    refuse(given < 2 && !global, "batch", keys,
           "needs global_batch_size, or two of global_batch_size, micro_batch_size and "
           "grad_accum_steps, " +
               std::string(given == 0 ? "none is" : "only one is") + " given; the rest follows");
    for (const auto& [name, value] :
         {std::pair{"micro_batch_size", micro}, std::pair{"grad_accum_steps", accum}}) {
      if (!global || !value || *global % *value == 0 || given == 3) continue;
      const std::int64_t below = *global / *value * *value,
                         above = below > std::numeric_limits<std::int64_t>::max() - *value
                                     ? below
                                     : below + *value;
      const std::int64_t nearest = below > 0 && *global - below < above - *global ? below : above;
      refuse(true, "batch.global_batch_size", keys,
             "must be a multiple of " + std::string(name) + " (" + std::to_string(*value) + "), " +
                 std::to_string(*global) +
                 " is not; the nearest that is: " + std::to_string(nearest));
    }
    std::int64_t whole = 0;
    if (micro && accum) {
      const bool overflow = __builtin_mul_overflow(*micro, *accum, &whole) ||
                            __builtin_mul_overflow(whole, ranks.value_or(1), &whole);
      refuse(overflow, "batch.grad_accum_steps", keys,
             "times micro_batch_size and the ranks is too large a number");
      const bool several = ranks.value_or(1) > 1;
      const std::string factors =
          std::string("micro_batch_size * grad_accum_steps") + (several ? " * world_size" : "") +
          (several && !sharing.empty() ? " / " + sharing : "") + " (" + std::to_string(*micro) +
          " * " + std::to_string(*accum) + (several ? " * " + std::to_string(*ranks) : "") + " = " +
          std::to_string(whole) + ")";
      const bool told = ranks || mode_is(ParallelMode::single);
      refuse(!overflow && global && (told ? *global != whole : *global % whole != 0),
             "batch.global_batch_size", keys,
             (told ? "must be " : "must be a multiple of ") + factors + ", not " +
                 std::to_string(*global) + ": mend one, or leave one out");
    }
  }

  /// The samples of a step must not depend on what is chosen.
  void chosen_degrees() {
    for (const auto& [key, degree] : {std::pair{"parallel.tensor", r_.parallel.tensor},
                                      {"parallel.context", r_.parallel.context},
                                      {"parallel.pipeline", r_.parallel.pipeline}})
      refuse(degree.is_auto() && !r_.batch.global_batch_size, key,
             {"batch", "batch.global_batch_size"},
             "auto chooses how many ranks share a batch, and without batch.global_batch_size the "
             "samples of a step would depend on it: write batch.global_batch_size");
  }

  /// What ranks have parts of, as far as a recipe shows it.
  void tensor() {
    if (tensor_ranks() <= 1) return;
    const std::string key = "parallel.tensor";
    const auto& ranks = r_.parallel.world_size.value;
    const std::string several = "gives each rank a part of each layer, and ";
    refuse(mode_is(ParallelMode::single) || (ranks && *ranks == 1), key,
           {"parallel.mode", "parallel.world_size"},
           several + "there is one: start more, or write 1");
    refuse(ranks && *ranks % tensor_ranks() != 0, key, {"parallel.world_size"},
           "must divide parallel.world_size: " + std::to_string(ranks.value_or(0)) +
               " ranks are no groups of " + std::to_string(tensor_ranks()));
    refuse(mode_is(ParallelMode::dp), key, {"parallel.mode"},
           several + "parallel.mode: dp keeps all weights on rank 0: write ddp");
    refuse(r_.parallel.experts > 1, key, {"parallel.experts"},
           several + "parallel.experts other ranks' experts: leave one out");
    refuse(r_.generate.every.has_value(), key, {"generate.every"},
           several + "generate.every needs all weights on one rank: leave one out");
  }

  /// What ranks have tokens of, as far as a recipe shows it.
  void context() {
    const std::int64_t ranks = context_ranks();
    if (ranks <= 1) return;
    const std::string key = "parallel.context";
    const auto& world = r_.parallel.world_size.value;
    const std::string several = "gives each rank some tokens of each row, and ";
    refuse(mode_is(ParallelMode::single) || (world && *world == 1), key,
           {"parallel.mode", "parallel.world_size"},
           several + "there is one: start more, or write 1");
    const std::int64_t sharing = ranks * tensor_ranks();  // a batch
    refuse(world && *world % sharing != 0, key, {"parallel.world_size", "parallel.tensor"},
           std::string(tensor_ranks() > 1 ? "times parallel.tensor " : "") +
               "must divide parallel.world_size: " + std::to_string(world.value_or(0)) +
               " ranks are no groups of " + std::to_string(sharing));
    refuse(mode_is(ParallelMode::dp), key, {"parallel.mode"},
           several + "parallel.mode: dp hands out batches of whole rows: write ddp");
    refuse(r_.generate.every.has_value(), key, {"generate.every"},
           several + "generate.every needs all of them on one: leave one out");
    const auto no_grid = [&](std::int64_t others) {
      return others % ranks != 0 && ranks % others != 0;
    };
    if (const auto& shards = r_.parallel.shard_ranks.value)
      refuse(no_grid(*shards), key, {"parallel.shard_ranks"},
             "must divide parallel.shard_ranks (" + std::to_string(*shards) + ") or be a multiple");
    refuse(no_grid(r_.parallel.experts), key, {"parallel.experts"},
           "must divide parallel.experts (" + std::to_string(r_.parallel.experts) +
               ") or be a multiple");
  }

  void no_experts() {
    refuse(r_.parallel.experts_capacity > 0, "parallel.experts_capacity", {"parallel.experts"},
           "can have no effect with parallel.experts: 1: no row goes to another rank");
    refuse(r_.parallel.experts_overflow != ExpertsOverflow::error, "parallel.experts_overflow",
           {"parallel.experts"},
           "can have no effect with parallel.experts: 1: no row goes to another rank");
  }

  void experts() {
    const std::string key = "parallel.experts";
    const auto& ranks = r_.parallel.world_size.value;
    const std::string several = "shares experts among ranks, and ";
    refuse(mode_is(ParallelMode::single) || (ranks && *ranks == 1), key,
           {"parallel.mode", "parallel.world_size"},
           several + "there is one: start more, or write 1");
    refuse(ranks && *ranks % r_.parallel.experts != 0, key, {"parallel.world_size"},
           "must divide parallel.world_size: " + std::to_string(ranks.value_or(0)) +
               " ranks are no groups of " + std::to_string(r_.parallel.experts));
    refuse(mode_is(ParallelMode::dp), key, {"parallel.mode"},
           several + "parallel.mode: dp keeps all weights on rank 0: write ddp");
    refuse(r_.generate.every.has_value(), key, {"generate.every"},
           several + "generate.every needs all weights on one rank: leave one out");
    refuse(r_.parallel.experts_overflow != ExpertsOverflow::error &&
               !(r_.parallel.experts_capacity > 0),
           "parallel.experts_overflow", {"parallel.experts_capacity"},
           "can have no effect with parallel.experts_capacity: 0: any choice has room");
  }

  void parallel() {
    const auto& ranks = r_.parallel.world_size.value;
    const std::initializer_list<std::string> also{"parallel.world_size"};
    refuse(mode_is(ParallelMode::single) && ranks && *ranks > 1, "parallel.mode", also,
           "single has one rank, and parallel.world_size is " + std::to_string(ranks.value_or(0)) +
               ": write ddp or auto");
    const int stage = r_.parallel.mode.is_auto() ? 0 : zero_stage(*r_.parallel.mode.value);
    refuse((mode_is(ParallelMode::ddp) || mode_is(ParallelMode::dp) || stage > 0) && ranks &&
               *ranks == 1,
           "parallel.mode", also,
           "can have no effect with parallel.world_size: 1: write auto, or more ranks");
    const auto& of_shards = r_.parallel.shard_ranks.value;
    refuse(of_shards && stage == 0, "parallel.shard_ranks", {"parallel.mode"},
           "can have no effect without shards: write parallel.mode: zero1, zero2 or zero3, or "
           "leave shard_ranks out");
    refuse(of_shards && ranks && *ranks % *of_shards != 0, "parallel.shard_ranks", also,
           "must divide parallel.world_size: " + std::to_string(ranks.value_or(0)) +
               " ranks are no groups of " + std::to_string(of_shards.value_or(0)));
    const bool alone = mode_is(ParallelMode::single) || (ranks && *ranks == 1);
    refuse(r_.precision.reduce != Reduce::fp32 && alone, "precision.reduce",
           {"parallel.mode", "parallel.world_size"},
           "can have no effect with one rank: no gradient travels");
    refuse(r_.run.hang_limit.unit != Duration::Unit::seconds || r_.run.hang_limit.amount < 1,
           "run.hang_limit", {},
           "is a time of at least 1 s, e.g. `60 s`, not " + to_string(r_.run.hang_limit));
    refuse(mode_is(ParallelMode::dp) && r_.optimizer.update_in_backward, "parallel.mode",
           {"optimizer.update_in_backward"},
           "dp lets rank 0 alone update, after backward, and optimizer.update_in_backward updates "
           "during it: write ddp, or leave update_in_backward out");
    refuse(stage > 0 && r_.optimizer.update_in_backward, "parallel.mode",
           {"optimizer.update_in_backward"},
           "no rank has a whole gradient that could be not finite, so that each block's update "
           "would wait for a sum over ranks, and gradients end with their block already: write "
           "ddp, or leave update_in_backward out");
  }
};

}  // namespace

void check_parallel_rules(const RuleContext& context) { ParallelRules(context).check(); }

std::vector<Problem> parallel_problems(const Recipe& recipe) {
  Reading nowhere;
  nowhere.where[""] = {};
  yaml::Problems problems;
  const RuleContext context{recipe, nowhere, true, problems};
  check_parallel_rules(context);
  check_pipeline_rules(context);
  return problems.listed();
}

}  // namespace trainx::recipe
