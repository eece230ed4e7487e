#include "recipe/rules.hpp"
#include <algorithm>
#include <initializer_list>

namespace trainx::recipe {
namespace {

class Rules {
 public:
  Rules(const Recipe& recipe, const Reading& reading, yaml::Problems& problems) : r_(recipe), reading_(reading), problems_(problems) {}

  void check() {
    run();
    model();
    data();
    batch();
    precision();
    optimizer();
    schedule();
    intervals();
    eval();
    memory();
  }

 private:
  /// Reports at `key` unless one of the keys that the rule looks at has been reported already.
  void refuse(bool broken, const std::string& key, std::initializer_list<std::string> also, const std::string& sentence) {
    if (!broken || is_bad(key) || std::any_of(also.begin(), also.end(), [&](const std::string& k) { return is_bad(k); })) return;
    problems_.add(where(key), key, sentence);
  }

  bool is_bad(std::string key) const {
    for (;;) {
      if (reading_.bad.contains(key)) return true;
      const std::size_t dot = key.rfind('.');
      if (dot == std::string::npos) return false;
      key.resize(dot);
    }
  }

  /// Of the key, else of the section that it would stand in, else of the recipe.
  yaml::Location where(std::string key) const {
    for (;;) {
      if (const auto found = reading_.where.find(key); found != reading_.where.end()) return found->second;
      const std::size_t dot = key.rfind('.');
      key.resize(dot == std::string::npos ? 0 : dot);
    }
  }

  void run() {
    const std::string& name = r_.run.name;
    const std::string shown = yaml::excerpt(name);
    const bool control = std::any_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
    refuse(name.find('/') != std::string::npos, "run.name", {},
           "must be a folder's name without '/', not " + shown + ": run.output_dir says where the folder is made");
    refuse(name.starts_with('.'), "run.name", {}, "must not begin with '.', " + shown + " does");
    refuse(control, "run.name", {}, "must not hold control characters, " + shown + " does");
    refuse(name.size() > 200, "run.name", {}, "is too long for a folder's name: " + std::to_string(name.size()) + " bytes, at most 200");
    refuse(r_.run.duration.amount <= 0, "run.duration", {}, "must be greater than 0");
  }

  void model() {
    std::visit([&](const auto& options) { dimensions(options); }, r_.model.options);
  }

  template <class Options>
  void dimensions(const Options& o) {
    decltype(&sizes(o).front().second) published = nullptr;
    std::vector<std::string> names;
    for (const auto& [name, dims] : sizes(o)) {
      names.emplace_back(name);
      if (!r_.model.size || *r_.model.size == name) published = published ? published : &dims;
    }
    if (!published) {
      refuse(true, "model.size", {"model.type"},
             "must be one of " + joined(names, ", ") + ", not " + yaml::excerpt(*r_.model.size) + did_you_mean(*r_.model.size, names));
      return;
    }
    // With init_from the folder has the dimensions: a fact.
    const bool from_folder = r_.model.init_from.has_value();
    refuse(from_folder && o.initializer_range != Options{}.initializer_range, "model.options.initializer_range", {"model.init_from", "model.type"},
           "can have no effect: model.init_from gives the initial weights; leave one of them out");
    const bool both = o.hidden_size && o.num_heads;
    if (both || (!from_folder && (o.hidden_size || o.num_heads))) {
      const std::int64_t hidden = o.hidden_size.value_or(published->hidden_size), heads = o.num_heads.value_or(published->num_heads);
      refuse(hidden % heads != 0, o.hidden_size ? "model.options.hidden_size" : "model.options.num_heads",
             {"model.options.num_heads", "model.options.hidden_size", "model.size", "model.type"},
             "hidden_size (" + std::to_string(hidden) + ") must be a multiple of num_heads (" + std::to_string(heads) + ")");
    }
    if (o.max_positions || !from_folder) {
      const std::int64_t positions = o.max_positions.value_or(published->max_positions);
      refuse(r_.data.sequence_length > positions, "data.sequence_length", {"model.options.max_positions", "model.size", "model.type"},
             "must not exceed model.options.max_positions (" + std::to_string(positions) + "), " + std::to_string(r_.data.sequence_length) + " does");
    }
  }

  void data() {
    if (const auto* tokens = std::get_if<spec::TokensOptions>(&r_.data.source)) same_files(tokens->train, tokens->eval);
    if (const auto* text = std::get_if<spec::TextOptions>(&r_.data.source)) same_files(text->train, text->eval);
  }

  void same_files(const std::string& train, const std::optional<std::string>& eval) {
    refuse(eval && eval->empty(), "data.eval", {"data.type"}, "must not be empty (did you mean null?)");
    refuse(eval && !eval->empty() && *eval == train, "data.eval", {"data.type", "data.train"}, "is the training data itself: held-out data must differ from it");
  }

  /// global_batch_size [samples per step] = micro_batch_size [samples per forward, per rank] * grad_accum_steps, with the one rank that parallel.mode has.
  void batch() {
    const auto &global = r_.batch.global_batch_size, &micro = r_.batch.micro_batch_size, &accum = r_.batch.grad_accum_steps;
    const std::initializer_list<std::string> keys{"batch", "batch.global_batch_size", "batch.micro_batch_size", "batch.grad_accum_steps"};
    const int given = global.has_value() + micro.has_value() + accum.has_value();
    refuse(given < 2, "batch", keys,
           "needs two of global_batch_size, micro_batch_size and grad_accum_steps, " + std::string(given == 0 ? "none is" : "only one is") + " given; the third follows");
    for (const auto& [name, value] : {std::pair{"micro_batch_size", micro}, std::pair{"grad_accum_steps", accum}}) {
      if (!global || !value || *global % *value == 0 || given == 3) continue;
      const std::int64_t below = *global / *value * *value, above = below > std::numeric_limits<std::int64_t>::max() - *value ? below : below + *value;
      const std::int64_t nearest = below > 0 && *global - below < above - *global ? below : above;
      refuse(true, "batch.global_batch_size", keys,
             "must be a multiple of " + std::string(name) + " (" + std::to_string(*value) + "), " + std::to_string(*global) + " is not; the nearest that is: " + std::to_string(nearest));
    }
    std::int64_t product = 0;
    if (micro && accum) {
      const bool overflow = __builtin_mul_overflow(*micro, *accum, &product);
      refuse(overflow, "batch.grad_accum_steps", keys, "times micro_batch_size is too large a number");
      const std::string factors = "micro_batch_size * grad_accum_steps (" + std::to_string(*micro) + " * " + std::to_string(*accum) + " = " + std::to_string(product) + ")";
      refuse(!overflow && global && *global != product, "batch.global_batch_size", keys,
             "must be " + factors + ", not " + std::to_string(*global) + ": mend one, or leave one out");
    }
  }

  void precision() {
    refuse(r_.precision.compute == Compute::fp32 && !r_.precision.master.is_auto(), "precision.master", {"precision.compute"},
           "can have no effect with compute: fp32, whose weights are exact: remove it, or write auto");
  }

  void optimizer() {
    if (const auto* sgd = std::get_if<spec::SgdOptions>(&r_.optimizer.options))
      refuse(sgd->nesterov && sgd->momentum == 0, "optimizer.options.nesterov", {"optimizer.type", "optimizer.options.momentum"},
             "needs optimizer.options.momentum greater than 0");
  }

  void schedule() {
    const bool constant = r_.schedule.type == ScheduleType::constant;
    const std::string type = write_value(r_.schedule.type);
    refuse(constant && r_.schedule.final_ratio != 0, "schedule.final_ratio", {"schedule.type"},
           "can have no effect with type: constant: remove it, or write type: linear or cosine");
    refuse(r_.schedule.warmup.unit == Duration::Unit::seconds, "schedule.warmup", {},
           "must be in steps, epochs or tokens, not in time: a learning rate that hangs on the clock cannot be repeated");
    refuse(!constant && r_.run.duration.unit == Duration::Unit::seconds, "run.duration", {"schedule.type"},
           "cannot be in time with schedule.type: " + type + ", which needs the number of steps: give steps, epochs or tokens, or type: constant");
    refuse(r_.schedule.warmup.unit == r_.run.duration.unit && r_.schedule.warmup.amount > r_.run.duration.amount, "schedule.warmup", {"run.duration"},
           "(" + to_string(r_.schedule.warmup) + ") is longer than run.duration (" + to_string(r_.run.duration) + ")");
  }

  void intervals() {
    refuse(r_.checkpoint.every.amount <= 0, "checkpoint.every", {}, "must be greater than 0");
    refuse(r_.eval.every.amount <= 0, "eval.every", {}, "must be greater than 0");
    refuse(r_.metrics.every.amount <= 0, "metrics.every", {}, "must be greater than 0");
  }

  void eval() {
    const bool text = std::holds_alternative<spec::TextOptions>(r_.data.source) && !std::get<spec::TextOptions>(r_.data.source).eval;
    const bool tokens = std::holds_alternative<spec::TokensOptions>(r_.data.source) && !std::get<spec::TokensOptions>(r_.data.source).eval;
    const std::string sentence = "can have no effect: data.eval names no held-out data";
    refuse((text || tokens) && r_.eval.every != EvalSection{}.every, "eval.every", {"data.eval", "data.type"}, sentence);
    refuse((text || tokens) && r_.eval.batches != EvalSection{}.batches, "eval.batches", {"data.eval", "data.type"}, sentence);
  }

  void memory() {
    refuse(!r_.memory.budget.is_auto() && r_.memory.budget.value->bytes == 0, "memory.budget", {}, "must be greater than 0");
  }

  const Recipe& r_;
  const Reading& reading_;
  yaml::Problems& problems_;
};

}  // namespace

void check_rules(const Recipe& recipe, const Reading& reading, yaml::Problems& problems) { Rules(recipe, reading, problems).check(); }

}  // namespace trainx::recipe
