#include "recipe/rules.hpp"
#include "recipe/rules_evaluation.hpp"
#include "architectures/architecture.hpp"
#include <algorithm>
#include <map>
#include <functional>
#include <initializer_list>

namespace trainx::recipe {
namespace {

class Rules {
 public:
  Rules(const Recipe& recipe, const Reading& reading, yaml::Problems& problems)
      : r_(recipe), reading_(reading), problems_(problems) {}

  void check() {
    run();
    model();
    data();
    batch();
    parallel();
    precision();
    optimizer();
    update_in_backward();
    schedule();
    intervals();
    eval();
    for (const BrokenRule& b : broken_generation_rules(r_)) refuse(true, b.key, b.also, b.sentence);
    memory();
  }

 private:
  /// Reports at `key` unless one of the keys that the rule looks at has been reported already.
  void refuse(bool broken, const std::string& key, const std::vector<std::string>& also,
              const std::string& sentence) {
    if (!broken || is_bad(key) ||
        std::any_of(also.begin(), also.end(), [&](const std::string& k) { return is_bad(k); }))
      return;
    problems_.add(where(key), key, sentence);
  }

  bool is_bad(std::string key) const {
    for (;;) {
      if (reading_.bad.contains(key)) return true;
      const std::size_t outer = key.find_last_of(".[");
      if (outer == std::string::npos) return false;
      key.resize(outer);
    }
  }

  /// Of the key, else of the section that it would stand in, else of the recipe.
  yaml::Location where(std::string key) const {
    for (;;) {
      if (const auto found = reading_.where.find(key); found != reading_.where.end())
        return found->second;
      const std::size_t outer = key.find_last_of(".[");
      key.resize(outer == std::string::npos ? 0 : outer);
    }
  }

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

  void model() {
    std::visit([&](const auto& options) { dimensions(options); }, r_.model.options);
    const AttentionKind kind = r_.model.attention;
    refuse(kind != AttentionKind::automatic &&
               std::holds_alternative<architectures::CustomOptions>(r_.model.options),
           "model.attention", {"model.type"},
           "can have no effect with " + alternative_name(r_.model.options) +
               ", whose modules compute their own: remove it");
    const bool on_cpu = !r_.run.device.is_auto() && *r_.run.device.value == DeviceKind::cpu;
    refuse(on_cpu && architectures::needs_gpu(kind), "model.attention", {"run.device"},
           std::string(name_of(kind)) +
               " is a GPU's, and run.device is cpu: write auto, flash or math");
    // What a GPU will compute, wherever this is read.
    const bool on_gpu = !r_.run.device.is_auto() || r_.precision.compute == Compute::tf32 ||
                        architectures::needs_gpu(kind);
    if (on_cpu || !on_gpu) return;
    const DType compute = r_.precision.compute == Compute::bf16   ? DType::bf16
                          : r_.precision.compute == Compute::fp16 ? DType::f16
                                                                  : DType::f32;
    const std::string why =
        architectures::unfit_attention(kind, compute, written_head_size(), r_.data.sequence_length,
                                       options::packs_documents(r_.data.source));
    refuse(!why.empty(), "model.attention",
           {"model.type", "model.size", "model.options", "precision.compute",
            "data.sequence_length", "data.packed", "run.device"},
           std::string(name_of(kind)) + " " + why);
  }

  /// Elements of a head, where the recipe says; else 0, which fits everything.
  std::int64_t written_head_size() const {
    return std::visit(
        [&](const auto& o) -> std::int64_t {
          if constexpr (requires { o.num_heads; }) {
            if (o.hidden_size && o.num_heads)
              return *o.hidden_size % *o.num_heads == 0 ? *o.hidden_size / *o.num_heads : 0;
          }
          return 0;
        },
        r_.model.options);
  }

  void dimensions(const architectures::CustomOptions& o) {
    refuse(r_.model.size.has_value(), "model.size", {"model.type"},
           "can have no effect: " + o.name + " has no published sizes, model.options says all");
    const auto& levels = r_.memory.activation_checkpoint.value;
    const bool parts = levels && std::ranges::any_of(*levels, [](RecomputeLevel l) {
                         return l == RecomputeLevel::selective || l == RecomputeLevel::mlp;
                       });
    refuse(parts, "memory.activation_checkpoint", {"model.type"},
           "can have no effect with " + o.name +
               ", whose modules are recomputed as a whole: write none or full");
    refuse(r_.memory.fit, "memory.fit", {"model.type"},
           "cannot choose for " + o.name +
               ", whose bytes are known for the written sizes alone: give batch.micro_batch_size "
               "and memory.activation_checkpoint");
    refuse(r_.batch.micro_batch_size.is_auto() && !r_.batch.grad_accum_steps,
           "batch.micro_batch_size", {"batch", "model.type"},
           "cannot be chosen for " + o.name +
               ", whose bytes are known for the written sizes alone: give a number");
    const bool whole = levels && std::ranges::all_of(*levels, [](RecomputeLevel l) {
                         return l == RecomputeLevel::full;
                       });
    refuse(r_.memory.activation_offload != ActivationOffload::none && !whole,
           "memory.activation_offload", {"memory.activation_checkpoint", "model.type"},
           "needs memory.activation_checkpoint: full with " + o.name +
               ": what its modules keep for backward is LibTorch's and cannot be moved, the hidden "
               "values between layers can");
    refuse(!levels, "memory.activation_checkpoint", {"model.type"},
           "cannot be chosen for " + o.name +
               ", whose bytes are known for the written sizes alone: write none or full");
  }

  /// Do heads have a size that does not follow from hidden_size?
  template <class Options, class Dims>
  static bool frees_heads(const Options& o, const Dims& published) {
    if constexpr (requires { o.head_size; })
      return o.head_size.has_value() ||
             (published.head_size > 0 &&
              published.head_size * published.num_heads != published.hidden_size);
    return false;
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
             "must be one of " + joined(names, ", ") + ", not " + yaml::excerpt(*r_.model.size) +
                 did_you_mean(*r_.model.size, names));
      return;
    }
    // With init_from the folder has the dimensions: a fact.
    const bool from_folder = r_.model.init_from.has_value();
    refuse(from_folder && o.initializer_range != Options{}.initializer_range,
           "model.options.initializer_range", {"model.init_from", "model.type"},
           "can have no effect: model.init_from gives the initial weights; leave one of them out");
    if constexpr (requires { o.rope_scaling; })
      refuse(!from_folder && o.rope_scaling != Options{}.rope_scaling, "model.options.rope_scaling",
             {"model.type"},
             "stretches the positions of model.init_from, and there is none: a new model has "
             "model.options.max_positions");
    const bool both = o.hidden_size && o.num_heads;
    if (frees_heads(o, *published)) {
      // heads have a size of their own
    } else if (both || (!from_folder && (o.hidden_size || o.num_heads))) {
      const std::int64_t hidden = o.hidden_size.value_or(published->hidden_size),
                         heads = o.num_heads.value_or(published->num_heads);
      refuse(hidden % heads != 0,
             o.hidden_size ? "model.options.hidden_size" : "model.options.num_heads",
             {"model.options.num_heads", "model.options.hidden_size", "model.size", "model.type"},
             "hidden_size (" + std::to_string(hidden) + ") must be a multiple of num_heads (" +
                 std::to_string(heads) + ")");
    }
    if (o.max_positions || !from_folder) {
      const std::int64_t positions = o.max_positions.value_or(published->max_positions);
      refuse(r_.data.sequence_length > positions, "data.sequence_length",
             {"model.options.max_positions", "model.size", "model.type"},
             "must not exceed model.options.max_positions (" + std::to_string(positions) + "), " +
                 std::to_string(r_.data.sequence_length) + " does");
    }
  }

  void data() {
    // key of the source that names it, by path
    std::map<std::string, std::string> trained_on;
    for_each_source([&](const std::string& prefix, const auto& source) {
      if constexpr (requires { source.train; })
        for (const std::string& name : source.train.names)
          trained_on.emplace(name, prefix + "train");
    });
    for_each_source([&](const std::string& prefix, const auto& source) {
      if constexpr (requires { source.packed; }) packed(prefix, source);
      if constexpr (requires { source.train; }) {
        same_files(prefix, source.train, source.eval, trained_on);
        refuse(
            source.held_out && source.eval, prefix + "held_out", {prefix + "type", prefix + "eval"},
            "cannot go together with eval, which names held-out data already: remove one of them");
      }
      refuse(source.fills_rows && architectures::has_labels(architectures::task(r_.model.options)),
             prefix + "type", {"model.type", "model.options.task"},
             "gives no class to learn: classification takes type jsonl or csv");
      refuse(source.fills_rows &&
                 architectures::task(r_.model.options) == architectures::Task::seq2seq,
             prefix + "type", {"model.type", "model.options.task"},
             "gives no text to write: seq2seq takes type jsonl or csv, with input_ids and labels");
    });
    if (const auto* mixture = std::get_if<options::MixtureOptions>(&r_.data.source))
      shares(*mixture);
    padding();
    // a folder may say which type it is
    refuse(r_.data.target_length && !r_.model.init_from &&
               architectures::task(r_.model.options) != architectures::Task::seq2seq,
           "data.target_length", {"model.type", "model.options.task"},
           "can have no effect with " + alternative_name(r_.model.options) +
               ", whose targets are the tokens' own text: leave it out");
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

  void packed(const std::string& prefix, const options::JsonlOptions& source) {
    refuse(source.packed && !architectures::packs(r_.model.options), prefix + "packed",
           {prefix + "type", "model.type"},
           "keeps documents of a row apart, which " + alternative_name(r_.model.options) +
               " cannot: leave it out, and give a document a line");
    refuse(source.packed && source.truncate, prefix + "packed",
           {prefix + "type", prefix + "truncate"},
           "cannot go together with truncate, which would cut documents: `trainx data pack` cuts "
           "them");
  }

  /// As far as names tell: what globs match is looked up with the data.
  void same_files(const std::string& prefix, const options::FileList& train,
                  const std::optional<options::FileList>& eval,
                  const std::map<std::string, std::string>& trained_on) {
    const std::string key = prefix + "eval";
    if (!eval) return;
    refuse(eval->empty(), key, {prefix + "type"}, "must not be empty (did you mean null?)");
    if (eval->empty()) return;
    refuse(*eval == train, key, {prefix + "type", prefix + "train"},
           "is the training data itself: held-out data must differ from it");
    if (*eval == train) return;
    for (const std::string& name : eval->names) {
      const auto found = trained_on.find(name);
      if (found == trained_on.end()) continue;
      refuse(true, key, {prefix + "type", found->second},
             "has " + yaml::excerpt(name) + ", which " + found->second +
                 " names too: held-out data must differ from what is trained on");
      return;
    }
  }

  void shares(const options::MixtureOptions& mixture) {
    constexpr std::size_t most_sources = 256;
    // a block of a mixture has 1024 samples at most, one of each source at least
    constexpr double least_share = 1.0 / 1024;
    refuse(mixture.sources.size() > most_sources, "data.sources", {},
           "must be at most " + std::to_string(most_sources) + ", not " +
               std::to_string(mixture.sources.size()));
    const auto first_bad = reading_.bad.lower_bound("data.sources");
    if (first_bad != reading_.bad.end() && first_bad->starts_with("data.sources")) return;
    double sum = 0;
    bool words = false, bytes = false;
    for (const options::MixtureEntry& entry : mixture.sources) {
      sum += entry.weight;
      words = words || std::holds_alternative<options::StoriesOptions>(entry.source);
      bytes = bytes || std::holds_alternative<options::TextOptions>(entry.source);
    }
    refuse(words && bytes, "data.sources", {},
           "cannot be both stories and text: the same token id is a word of the one and a byte of "
           "the other");
    for (std::size_t i = 0; i < mixture.sources.size(); ++i) {
      refuse(!(mixture.sources[i].weight >= least_share * sum),
             "data.sources[" + std::to_string(i) + "].weight", {"data.sources"},
             "must be at least 1/1024 of the sum of all weights (" + write_value(sum) + "), not " +
                 write_value(mixture.sources[i].weight));
    }
  }

  void padding() {
    const auto& pad_to = r_.data.pad_to.value;
    const std::int64_t longest = r_.data.sequence_length;
    const bool padded = !options::always_fills_rows(r_.data.source);
    const std::initializer_list<std::string> also{"data.type", "data.sources",
                                                  "data.sequence_length"};
    const std::string no_effect = "can have no effect: samples of type " +
                                  alternative_name(r_.data.source) + " always fill their row";
    refuse(!padded && r_.data.group_by_length, "data.group_by_length", also, no_effect);
    refuse(padded && r_.data.group_by_length && !r_.data.shuffle, "data.group_by_length",
           {"data.type", "data.sources", "data.shuffle"},
           "rearranges samples, which shuffle: false forbids: leave one of them out");
    if (!pad_to) return;
    const bool ascending =
        !pad_to->empty() &&
        std::adjacent_find(pad_to->begin(), pad_to->end(), std::greater_equal<>()) == pad_to->end();
    refuse(!ascending, "data.pad_to", also,
           pad_to->empty() ? "must not be empty; auto lets trainx pick"
                           : "must be ascending, each length once, not " + write_value(*pad_to));
    if (!ascending) return;
    refuse(!padded && *pad_to != std::vector{longest}, "data.pad_to", also, no_effect);
    refuse(padded && pad_to->back() != longest, "data.pad_to", also,
           "must end with sequence_length (" + std::to_string(longest) + "), not with " +
               std::to_string(pad_to->back()) + ": some batch may hold a sample as long as that");
  }

  /// global_batch_size [samples per step] = micro_batch_size [samples per forward, per rank] *
  /// grad_accum_steps * world_size. How many ranks there are may show only when the run is launched
  /// (world_size: auto): then what holds for any number is asked.
  void batch() {
    const auto &global = r_.batch.global_batch_size, &micro = r_.batch.micro_batch_size.value,
               &accum = r_.batch.grad_accum_steps;
    const auto& ranks = r_.parallel.world_size.value;
    const std::initializer_list<std::string> keys{"batch", "batch.global_batch_size",
                                                  "batch.micro_batch_size",
                                                  "batch.grad_accum_steps", "parallel.world_size"};
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
      const std::string factors = std::string("micro_batch_size * grad_accum_steps") +
                                  (several ? " * world_size (" : " (") + std::to_string(*micro) +
                                  " * " + std::to_string(*accum) +
                                  (several ? " * " + std::to_string(*ranks) : "") + " = " +
                                  std::to_string(whole) + ")";
      const bool told = ranks || mode_is(ParallelMode::single);
      refuse(!overflow && global && (told ? *global != whole : *global % whole != 0),
             "batch.global_batch_size", keys,
             (told ? "must be " : "must be a multiple of ") + factors + ", not " +
                 std::to_string(*global) + ": mend one, or leave one out");
    }
  }

  bool mode_is(ParallelMode mode) const {
    return !r_.parallel.mode.is_auto() && *r_.parallel.mode.value == mode;
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

  void precision() {
    const PrecisionSection& p = r_.precision;
    const bool half = p.compute == Compute::fp16;
    const std::string compute = "compute: " + std::string(p.compute == Compute::fp32   ? "fp32"
                                                          : p.compute == Compute::tf32 ? "tf32"
                                                                                       : "bf16");
    refuse(p.compute != Compute::bf16 && !half && !p.master.is_auto(), "precision.master",
           {"precision.compute"},
           "can have no effect with " + compute +
               ", whose weights are exact: remove it, or write auto");
    if (half && !p.master.is_auto()) {
      refuse(*p.master.value == MasterWeights::split, "precision.master", {"precision.compute"},
             "split cannot complete compute: fp16, whose exponents are not those of fp32: write "
             "fp32, or compute: bf16");
      refuse(*p.master.value == MasterWeights::none, "precision.master", {"precision.compute"},
             "none loses updates below 2^-11 of a weight with compute: fp16, and no rounding "
             "brings them back: write fp32, or compute: bf16");
    }
    const bool alone = p.compute == Compute::bf16 && !p.master.is_auto() &&
                       *p.master.value == MasterWeights::none,
               stochastic = p.rounding == Rounding::stochastic;
    refuse(stochastic && !alone, "precision.rounding", {"precision.compute", "precision.master"},
           "stochastic can have no effect without precision: {compute: bf16, master: none}: other "
           "weights are exact, rounding loses nothing of them");
    const auto* any = std::get_if<options::AdamWAnyPrecisionOptions>(&r_.optimizer.options);
    refuse(stochastic && any && any->use_kahan_summation, "precision.rounding",
           {"optimizer.type", "optimizer.options.use_kahan_summation"},
           "stochastic cannot go together with optimizer.options.use_kahan_summation, which makes "
           "up for what rounding to nearest takes: leave one of them out");
    const std::string unscaled =
        "can have no effect with " + compute +
        ", whose gradients do not vanish: remove it, or write compute: fp16";
    refuse(!half && !p.loss_scale.is_auto(), "precision.loss_scale", {"precision.compute"},
           unscaled);
    const std::string fixed =
        "can have no effect with a loss_scale that never changes: remove it, or write loss_scale: "
        "auto";
    for (const auto& [key, written] :
         {std::pair{"precision.initial_loss_scale",
                    p.initial_loss_scale != PrecisionSection{}.initial_loss_scale},
          std::pair{"precision.loss_scale_window",
                    p.loss_scale_window != PrecisionSection{}.loss_scale_window}}) {
      refuse(!half && written, key, {"precision.compute"}, unscaled);
      refuse(half && !p.loss_scale.is_auto() && written, key, {"precision.loss_scale"}, fixed);
    }
    refuse(half && std::holds_alternative<architectures::CustomOptions>(r_.model.options),
           "precision.compute", {"model.type"},
           "fp16 needs its loss scaled, which a model of your own does not do: write fp32 or bf16");
  }

  void groups() {
    for (std::size_t k = 0; k < r_.optimizer.groups.size(); ++k) {
      const ParameterGroup& group = r_.optimizer.groups[k];
      const std::string key = "optimizer.groups[" + std::to_string(k) + "]";
      const bool sets = group.freeze || group.lr || group.lr_scale || group.weight_decay;
      refuse(!sets, key, {},
             "sets nothing for " + group.match +
                 ": give it freeze, lr, lr_scale or weight_decay, or remove it");
      refuse(group.lr && group.lr_scale, key + ".lr_scale", {key + ".lr"},
             "cannot go together with lr, which it would be a factor of: remove one");
      const auto* adafactor = std::get_if<options::AdafactorOptions>(&r_.optimizer.options);
      refuse(group.lr && adafactor && adafactor->relative_step, key + ".lr",
             {"optimizer.type", "optimizer.options.relative_step"},
             "can have no effect with optimizer.options.relative_step: true, by which Adafactor "
             "makes its own: write lr_scale");
      refuse(group.lr && r_.optimizer.lr == 0, key + ".lr", {"optimizer.lr"},
             "needs optimizer.lr greater than 0, whose schedule it follows");
      refuse(group.freeze.value_or(false) && (group.lr || group.lr_scale || group.weight_decay),
             key + ".freeze", {key + ".lr", key + ".lr_scale", key + ".weight_decay"},
             "cannot go together with lr, lr_scale or weight_decay: frozen parameters get no "
             "update");
    }
  }

  void optimizer() {
    groups();
    if (const auto* sgd = std::get_if<options::SgdOptions>(&r_.optimizer.options))
      refuse(sgd->nesterov && sgd->momentum == 0, "optimizer.options.nesterov",
             {"optimizer.type", "optimizer.options.momentum"},
             "needs optimizer.options.momentum greater than 0");
    if (const auto* adafactor = std::get_if<options::AdafactorOptions>(&r_.optimizer.options))
      of_adafactor(*adafactor);
    if (const auto* bytes = std::get_if<options::AdamW8bitOptions>(&r_.optimizer.options))
      refuse(bytes->embeddings_32bit &&
                 std::holds_alternative<architectures::CustomOptions>(r_.model.options),
             "optimizer.options.embeddings_32bit", {"optimizer.type", "model.type"},
             "can have no effect with model.type " + alternative_name(r_.model.options) +
                 ": no tensor of a model of your own is known as an embedding; "
                 "optimizer.options.min_8bit_size tells tensors by size");
    if (const auto* any = std::get_if<options::AdamWAnyPrecisionOptions>(&r_.optimizer.options)) {
      const bool alone = r_.precision.compute == Compute::bf16 && !r_.precision.master.is_auto() &&
                         *r_.precision.master.value == MasterWeights::none;
      refuse(any->use_kahan_summation && !alone, "optimizer.options.use_kahan_summation",
             {"optimizer.type", "precision.compute", "precision.master"},
             "can have no effect without precision: {compute: bf16, master: none}: other weights "
             "are exact, there is nothing to compensate");
    }
  }

  /// Each update comes before backward is done: nothing that needs all gradients at once (clipping,
  /// their sum over micro-steps, the steps that a loss scale skips) goes together with it.
  /// Optimizers all do: none looks beyond a tensor.
  void update_in_backward() {
    if (!r_.optimizer.update_in_backward) return;
    const std::string key = "optimizer.update_in_backward";
    refuse(r_.optimizer.max_grad_norm > 0, key, {"optimizer.max_grad_norm"},
           "cannot go together with optimizer.max_grad_norm (" +
               write_value(r_.optimizer.max_grad_norm) +
               "): clipping needs the norm of all gradients before the first update: write "
               "optimizer.max_grad_norm: 0, or leave update_in_backward out");
    refuse(r_.precision.compute == Compute::fp16, key, {"precision.compute"},
           "cannot go together with precision.compute: fp16, whose steps are skipped where any "
           "gradient overflows, when the first weights are updated already: write compute: bf16, "
           "or leave update_in_backward out");
    const auto &global = r_.batch.global_batch_size, &micro = r_.batch.micro_batch_size.value,
               &accum = r_.batch.grad_accum_steps;
    const std::int64_t of_rank = global ? *global / r_.parallel.world_size.value.value_or(1) : 0;
    // else planning tells
    const bool known = accum || r_.parallel.world_size.value || mode_is(ParallelMode::single);
    const std::int64_t micro_steps = accum                                      ? *accum
                                     : global && micro && of_rank % *micro == 0 ? of_rank / *micro
                                                                                : 1;
    refuse(known && micro_steps > 1, key,
           {"batch", "batch.global_batch_size", "batch.micro_batch_size", "batch.grad_accum_steps"},
           "cannot go together with batch.grad_accum_steps (" + std::to_string(micro_steps) +
               "): the gradients of all micro-steps are summed first, so none could be freed "
               "early: write batch.grad_accum_steps: 1, or leave update_in_backward out");
  }

  void of_adafactor(const options::AdafactorOptions& o) {
    const std::string own =
        "can have no effect with optimizer.options.relative_step: true, by which Adafactor makes "
        "its own step sizes: leave it out, or write relative_step: false";
    const std::initializer_list<std::string> also{"optimizer.type",
                                                  "optimizer.options.relative_step"};
    refuse(o.relative_step && r_.optimizer.lr != OptimizerSection{}.lr, "optimizer.lr", also, own);
    refuse(
        o.relative_step && !std::holds_alternative<options::ConstantSchedule>(r_.schedule.course),
        "schedule.type", also, own);
    refuse(o.relative_step && r_.schedule.warmup.amount > 0, "schedule.warmup", also, own);
    refuse(o.relative_step && r_.run.duration.unit == Duration::Unit::seconds, "run.duration", also,
           "cannot be in time with optimizer.options.relative_step: true, whose step sizes follow "
           "from the step: give steps, epochs or tokens, or write relative_step: false");
    refuse(o.warmup_init && !o.relative_step, "optimizer.options.warmup_init", also,
           "can have no effect with optimizer.options.relative_step: false: schedule.warmup is "
           "what there is then");
    refuse(!o.scale_parameter && o.eps2 != options::AdafactorOptions{}.eps2,
           "optimizer.options.eps2", {"optimizer.type", "optimizer.options.scale_parameter"},
           "can have no effect with optimizer.options.scale_parameter: false");
  }

  void schedule() {
    const ScheduleSection& schedule = r_.schedule;
    const std::string type = alternative_name(schedule.course);
    const bool ends = std::visit([](const auto& o) { return o.has_final_ratio; }, schedule.course);
    refuse(!ends && schedule.final_ratio != 0, "schedule.final_ratio", {"schedule.type"},
           "can have no effect with type: " + type +
               ": remove it, or write type: " + types_with_final_ratio());
    refuse(
        !std::holds_alternative<options::ConstantSchedule>(schedule.course) &&
            r_.run.duration.unit == Duration::Unit::seconds,
        "run.duration", {"schedule.type"},
        "cannot be in time with schedule.type: " + type +
            ", which needs the number of steps: give steps, epochs or tokens, or type: constant");
    const bool flat = std::holds_alternative<options::ConstantSchedule>(schedule.course);
    refuse(flat && schedule.resume == ScheduleResume::restart, "schedule.resume", {"schedule.type"},
           "can have no effect with type: constant, whose learning rate hangs on no duration: "
           "remove it");
    part_of_the_run("schedule.warmup", schedule.warmup);
    if (const auto* wsd = std::get_if<options::WsdSchedule>(&schedule.course);
        wsd && !wsd->decay.is_auto()) {
      const Duration &decay = *wsd->decay.value, &warmup = schedule.warmup;
      refuse(decay.amount <= 0, "schedule.decay", {},
             "must be greater than 0: without a decay this is type: constant");
      part_of_the_run("schedule.decay", decay);
      refuse(decay.unit == warmup.unit && decay.unit == r_.run.duration.unit &&
                 std::max(decay.amount, warmup.amount) <= r_.run.duration.amount &&
                 decay.amount + warmup.amount > r_.run.duration.amount,
             "schedule.decay", {"run.duration", "schedule.warmup"},
             "(" + to_string(decay) + ") and schedule.warmup (" + to_string(warmup) +
                 ") together are longer than run.duration (" + to_string(r_.run.duration) + ")");
    }
    if (const auto* inverse = std::get_if<options::InverseSqrtSchedule>(&schedule.course);
        inverse && !inverse->timescale.is_auto()) {
      refuse(inverse->timescale.value->amount <= 0, "schedule.timescale", {},
             "must be greater than 0");
      refuse_time("schedule.timescale", *inverse->timescale.value);
      refuse_percent("schedule.timescale", *inverse->timescale.value);
    }
  }

  void refuse_time(const std::string& key, const Duration& duration) {
    refuse(duration.unit == Duration::Unit::seconds, key, {},
           "must be in steps, epochs or tokens, not in time: a learning rate that hangs on the "
           "clock cannot be repeated");
  }

  void part_of_the_run(const std::string& key, const Duration& part) {
    refuse_time(key, part);
    refuse(part.unit == Duration::Unit::percent && part.amount > 100, key, {},
           "is " + to_string(part) + " of run.duration; at most 100 % are there");
    refuse(part.unit == Duration::Unit::percent && r_.run.duration.unit == Duration::Unit::seconds,
           key, {"run.duration"},
           "is a percentage of run.duration, which is in time: give steps, epochs or tokens for "
           "one of them");
    refuse(part.unit == r_.run.duration.unit && part.amount > r_.run.duration.amount, key,
           {"run.duration"},
           "is " + to_string(part) + ", which is longer than run.duration (" +
               to_string(r_.run.duration) + ")");
  }

  static std::string types_with_final_ratio() {
    std::vector<std::string> names;
    for_each_alternative(options::ScheduleOptions{}, [&](const auto& o) {
      if (o.has_final_ratio) names.emplace_back(o.name);
    });
    const std::string last = names.back();
    names.pop_back();
    return joined(names, ", ") + " or " + last;
  }

  // Only parts of the schedule may be a percentage: elsewhere it would hide how often something
  // happens.
  void refuse_percent(const std::string& key, const Duration& duration) {
    refuse(duration.unit == Duration::Unit::percent, key, {},
           "cannot be a percentage (" + to_string(duration) +
               "): give steps, epochs, tokens or a time");
  }

  void intervals() {
    refuse_percent("run.duration", r_.run.duration);
    if (!r_.checkpoint.every.is_auto())
      refuse_percent("checkpoint.every", *r_.checkpoint.every.value);
    refuse_percent("eval.every", r_.eval.every);
    refuse_percent("metrics.every", r_.metrics.every);
    if (r_.memory.release_cache_every)
      refuse_percent("memory.release_cache_every", *r_.memory.release_cache_every);
    refuse(!r_.checkpoint.every.is_auto() && r_.checkpoint.every.value->amount <= 0,
           "checkpoint.every", {}, "must be greater than 0");
    refuse(r_.eval.every.amount <= 0, "eval.every", {}, "must be greater than 0");
    refuse(r_.metrics.every.amount <= 0, "metrics.every", {}, "must be greater than 0");
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
    refuse(std::holds_alternative<architectures::CustomOptions>(r_.model.options), "eval.precision",
           {"model.type"},
           "cannot be chosen with model.type " + alternative_name(r_.model.options) +
               ": the modules of a model of your own are built for precision.compute alone: write "
               "auto");
  }

  void memory() {
    const auto& levels = r_.memory.activation_checkpoint.value;
    refuse(r_.memory.recompute_segment > 1 && levels &&
               !std::ranges::count(*levels, RecomputeLevel::full),
           "memory.recompute_segment", {"memory.activation_checkpoint"},
           "can have no effect without layers whose memory.activation_checkpoint is full");
    const bool exact_elsewhere =
        (r_.precision.compute == Compute::bf16 || r_.precision.compute == Compute::fp16) &&
        !(!r_.precision.master.is_auto() && *r_.precision.master.value == MasterWeights::none);
    const bool keeps_states =
        std::visit([](const auto& o) { return !options::states(o).empty(); }, r_.optimizer.options);
    refuse(r_.memory.optimizer_offload.where != OptimizerOffload::none && !keeps_states &&
               !exact_elsewhere,
           "memory.optimizer_offload.where",
           {"optimizer.type", "optimizer.options", "precision.compute", "precision.master"},
           "can have no effect: " + alternative_name(r_.optimizer.options) +
               " as written keeps nothing beside the weights that blocks compute with; write none");
    optimizer_offload();
    const bool held = mode_is(ParallelMode::dp) || mode_is(ParallelMode::zero1) ||
                      mode_is(ParallelMode::zero2);
    refuse(r_.memory.parameter_offload != ParameterOffload::none && held,
           "memory.parameter_offload", {"parallel.mode"},
           "frees nothing with parallel.mode: " +
               (held ? write_value(*r_.parallel.mode.value) : std::string()) +
               ", which has all weights on the GPU for the whole step: write zero3 or ddp, or "
               "leave parameter_offload out");
    refuse(r_.memory.release_cache_every && r_.memory.release_cache_every->amount <= 0,
           "memory.release_cache_every", {}, "must be greater than 0 (did you mean null?)");
    refuse(!r_.memory.budget.is_auto() && r_.memory.budget.value->bytes == 0, "memory.budget", {},
           "must be greater than 0");
  }

  void optimizer_offload() {
    const OptimizerOffloadSection& o = r_.memory.optimizer_offload;
    const std::string path = "memory.optimizer_offload.", where = path + "where";
    const bool on_disk = uses_disk(r_.memory);
    const auto only_with = [&](bool is_set, const char* key, const std::string& what) {
      refuse(is_set, path + key, {where}, "can have no effect without where: " + what);
    };
    only_with(o.where == OptimizerOffload::none && o.gradients != OffloadedGradients::fp32,
              "gradients", "cpu, disk or cpu+disk");
    only_with(o.where == OptimizerOffload::none && (o.share.is_auto() || *o.share.value != 0),
              "share", "cpu, disk or cpu+disk");
    only_with(!on_disk && o.folder, "folder",
              "disk or cpu+disk, or memory.parameter_offload: disk");
    only_with(!on_disk && o.read_ahead != OptimizerOffloadSection{}.read_ahead, "read_ahead",
              "disk or cpu+disk, or memory.parameter_offload: disk");
    only_with(o.where != OptimizerOffload::cpu_disk && !o.host_budget.is_auto(), "host_budget",
              "cpu+disk, which puts on the disk what is beyond it");
    refuse(o.where != OptimizerOffload::none && !o.share.is_auto() && *o.share.value == 1,
           path + "share", {where}, "1 leaves all of the optimizer on the GPU: write where: none");
    refuse(o.folder && o.folder->empty(), path + "folder", {},
           "must not be empty (did you mean null?)");
    refuse(!o.host_budget.is_auto() && o.host_budget.value->bytes == 0, path + "host_budget", {},
           "must be greater than 0");
    const bool of_optimizer = uses_disk(o.where);
    refuse(on_disk && r_.checkpoint.asynchronous.value.value_or(false), "checkpoint.asynchronous",
           {of_optimizer ? where : "memory.parameter_offload"},
           "cannot go together with " +
               (of_optimizer ? where + ": " + write_value(o.where)
                             : "memory.parameter_offload: disk") +
               ": memory has no room for a copy of what is on the disk; write false or auto");
  }

  const Recipe& r_;
  const Reading& reading_;
  yaml::Problems& problems_;
};

}  // namespace

void check_rules(const Recipe& recipe, const Reading& reading, yaml::Problems& problems) {
  Rules(recipe, reading, problems).check();
}

}  // namespace trainx::recipe
