// What the rules of all parts of a recipe have in common.
#pragma once
#include "recipe/reader.hpp"
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace trainx::recipe {

/// A recipe that was read, and where broken rules are reported.
struct RuleContext {
  const Recipe& recipe;
  const Reading& reading;
  bool trains;
  yaml::Problems& problems;
};

class RuleSet {
 public:
  explicit RuleSet(const RuleContext& context)
      : r_(context.recipe),
        reading_(context.reading),
        trains_(context.trains),
        problems_(context.problems) {}

 protected:
  /// Reports at `key` unless one of the keys that the rule looks at has been reported already.
  void refuse(bool broken, const std::string& key, const std::vector<std::string>& also,
              const std::string& sentence);
  // Only parts of the schedule may be a percentage: elsewhere it would hide how often something
  // happens.
  void refuse_percent(const std::string& key, const Duration& duration);

  bool mode_is(ParallelMode mode) const {
    return !r_.parallel.mode.is_auto() && *r_.parallel.mode.value == mode;
  }

  // 1 while it is to be chosen
  std::int64_t tensor_ranks() const { return r_.parallel.tensor.value.value_or(1); }
  std::int64_t context_ranks() const { return r_.parallel.context.value.value_or(1); }
  std::int64_t pipeline_stages() const { return r_.parallel.pipeline.value.value_or(1); }

  /// Ranks with a batch of their own, if their number is known.
  std::optional<std::int64_t> batches() const {
    const auto& ranks = r_.parallel.world_size.value;
    const auto sharing = r_.parallel.batch_ranks();
    if (ranks && *ranks == 1) return 1;
    if (!ranks || !sharing) return std::nullopt;
    return std::max<std::int64_t>(1, *ranks / *sharing);
  }

  /// Calls `f(prefix, source)` for the source, or for each of a mixture's: its keys are prefix +
  /// "train" and so on.
  template <class F>
  void for_each_source(F&& f) {
    std::size_t i = 0;
    const bool single = !std::holds_alternative<options::MixtureOptions>(r_.data.source);
    options::for_each_source(r_.data.source, [&](const auto& source) {
      f(single ? std::string("data.") : "data.sources[" + std::to_string(i++) + "].", source);
    });
  }

  const Recipe& r_;
  const Reading& reading_;
  const bool trains_;

 private:
  bool is_bad(std::string key) const;
  /// Of the key, else of the section that it would stand in, else of the recipe.
  yaml::Location where(std::string key) const;

  yaml::Problems& problems_;
};

// One of each part; rules.cpp has the order.
void check_model_rules(const RuleContext& context);
void check_data_rules(const RuleContext& context);
void check_parallel_rules(const RuleContext& context);
void check_pipeline_rules(const RuleContext& context);
void check_optimizer_rules(const RuleContext& context);
void check_schedule_rules(const RuleContext& context);
void check_memory_rules(const RuleContext& context);

}  // namespace trainx::recipe
