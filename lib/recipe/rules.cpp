#include "recipe/rules.hpp"
#include "recipe/rule_set.hpp"
#include "recipe/rules_evaluation.hpp"
#include <algorithm>
#include <initializer_list>

namespace trainx::recipe {
namespace {

/// The run itself, and evaluations.
class RunRules : public RuleSet {
 public:
  using RuleSet::RuleSet;

  void run() {
    const std::string& name = r_.run.name;
    const std::string shown = yaml::excerpt(name);
    const bool control = std::any_of(name.begin(), name.end(), [](char c) {
      return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
    });
    refuse(name.find('/') != std::string::npos, "run.name", {},
           "must be a folder's name without '/', not " + shown +
               ": run.output_dir says where the folder is made");
    refuse(name.starts_with('.'), "run.name", {}, "must not begin with '.', " + shown + " does");
    refuse(control, "run.name", {}, "must not hold control characters, " + shown + " does");
    refuse(
        name.size() > 200, "run.name", {},
        "is too long for a folder's name: " + std::to_string(name.size()) + " bytes, at most 200");
    refuse(r_.run.duration.amount <= 0, "run.duration", {}, "must be greater than 0");
  }

  void eval() {
    bool held_out = false;
    for_each_source([&](const std::string&, const auto& source) {
      if constexpr (requires { source.eval; })
        held_out = held_out || source.eval || source.held_out;
      else
        held_out = true;
    });
    const std::string sentence =
        "can have no effect: neither data.eval nor data.held_out gives held-out data";
    const std::initializer_list<std::string> also{"data.eval", "data.held_out", "data.type",
                                                  "data.sources"};
    refuse(!held_out && r_.eval.every != EvalSection{}.every, "eval.every", also, sentence);
    for (const BrokenRule& b : broken_evaluation_rules(r_, held_out))
      refuse(true, b.key, b.also, b.sentence);
    if (r_.eval.precision.is_auto()) return;
    refuse(!held_out, "eval.precision", also, sentence);
    const bool half = *r_.eval.precision.value == EvalPrecision::fp16;
    refuse(r_.precision.compute == (half ? Compute::fp16 : Compute::bf16), "eval.precision",
           {"precision.compute"},
           "can have no effect with precision.compute: " + std::string(half ? "fp16" : "bf16") +
               ", in which evaluations compute anyway: remove it, or write auto");
  }

  void generate() {
    for (const BrokenRule& b : broken_generation_rules(r_)) refuse(true, b.key, b.also, b.sentence);
  }
};

}  // namespace

void check_rules(const Recipe& recipe, const Reading& reading, bool trains,
                 yaml::Problems& problems) {
  const RuleContext context{recipe, reading, trains, problems};
  RunRules of_run(context);
  of_run.run();
  check_model_rules(context);
  check_data_rules(context);
  check_parallel_rules(context);
  check_pipeline_rules(context);
  check_optimizer_rules(context);
  check_schedule_rules(context);
  of_run.eval();
  of_run.generate();
  check_memory_rules(context);
}

}  // namespace trainx::recipe
