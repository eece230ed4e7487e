// The model: its sizes, and attention that can run.
#include "recipe/rule_set.hpp"
#include "options/model/attention.hpp"
#include "options/model/published.hpp"
#include <algorithm>

namespace trainx::recipe {
namespace {

class ModelRules : public RuleSet {
 public:
  using RuleSet::RuleSet;

  void check() {
    std::visit([&](const auto& options) { dimensions(options); }, r_.model.options);
    adapter(r_.model.adapter);
    const AttentionKind kind = r_.model.attention;
    refuse(kind != AttentionKind::automatic &&
               std::holds_alternative<options::CustomOptions>(r_.model.options),
           "model.attention", {"model.type"},
           "can have no effect with " + alternative_name(r_.model.options) +
               ", whose modules compute their own: remove it");
    const bool on_cpu = !r_.run.device.is_auto() && *r_.run.device.value == DeviceKind::cpu;
    refuse(on_cpu && options::needs_gpu(kind), "model.attention", {"run.device"},
           std::string(name_of(kind)) +
               " is a GPU's, and run.device is cpu: write auto, flash or math");
    // What a GPU will compute, wherever this is read.
    const bool on_gpu = !r_.run.device.is_auto() || r_.precision.compute == Compute::tf32 ||
                        options::needs_gpu(kind);
    if (on_cpu || !on_gpu) return;
    const DType compute = r_.precision.compute == Compute::bf16   ? DType::bf16
                          : r_.precision.compute == Compute::fp16 ? DType::f16
                                                                  : DType::f32;
    const std::string why = options::unfit_attention(kind, compute, written_head_size(),
                                                     r_.data.sequence_length,
                                                     options::packs_documents(r_.data.source));
    refuse(!why.empty(), "model.attention",
           {"model.type", "model.size", "model.options", "precision.compute",
            "data.sequence_length", "data.packed", "run.device"},
           std::string(name_of(kind)) + " " + why);
  }

 private:
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

  void adapter(const options::AdapterOptions& a) {
    if (a.type == options::AdapterType::none) {
      refuse(!(a == options::AdapterOptions{}), "model.adapter.type", {"model.adapter"},
             "must be lora where other keys of model.adapter are set: write type: lora");
      return;
    }
    refuse(std::holds_alternative<options::CustomOptions>(r_.model.options), "model.adapter",
           {"model.type"},
           "has no layers to stand beside in " + alternative_name(r_.model.options) +
               ", whose modules are its own: remove it");
    for (std::size_t k = 0; k < r_.optimizer.groups.size(); ++k)
      refuse(r_.optimizer.groups[k].freeze == false,
             "optimizer.groups[" + std::to_string(k) + "].freeze", {"model.adapter"},
             "cannot be false with model.adapter, whose folder has no room for the model's own "
             "weights: name the module in model.adapter.modules_to_save");
  }

  void dimensions(const options::CustomOptions& o) {
    refuse(r_.model.size.has_value(), "model.size", {"model.type"},
           "can have no effect: " + o.name + " has no published sizes, model.options says all");
    const auto& levels = r_.memory.activation_checkpoint.value;
    refuse(levels && std::ranges::count(*levels, RecomputeLevel::mlp) > 0,
           "memory.activation_checkpoint", {"model.type"},
           "has no level mlp with " + o.name +
               ", whose modules are recomputed as a whole: write none, full, or selective for "
               "those that are cheap (trainx::Graph::cheap)");
    const bool whole = levels && std::ranges::all_of(*levels, [](RecomputeLevel l) {
                         return l == RecomputeLevel::full;
                       });
    refuse(r_.memory.activation_offload != ActivationOffload::none && !whole,
           "memory.activation_offload", {"memory.activation_checkpoint", "model.type"},
           "needs memory.activation_checkpoint: full with " + o.name +
               ": what its modules keep for backward is LibTorch's and cannot be moved, the hidden "
               "values between layers can");
  }

  /// Do heads have a size that does not follow from hidden_size?
  template <class Options>
  static bool frees_heads(const Options& o, const options::PublishedSize& published) {
    if constexpr (requires { o.head_size; })
      return o.head_size.has_value() ||
             (published.head_size > 0 &&
              published.head_size * published.num_heads != published.hidden_size);
    return false;
  }

  template <class Options>
  void dimensions(const Options& o) {
    std::optional<options::PublishedSize> published;
    std::vector<std::string> names;
    for (const options::PublishedSize& size : published_sizes(o)) {
      names.emplace_back(size.name);
      if (!published && (!r_.model.size || *r_.model.size == size.name)) published = size;
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
    if constexpr (requires { o.router_bias_rate; })
      refuse(o.router_bias_rate > 0 && r_.precision.compute != Compute::fp32,
             "model.options.router_bias_rate", {"precision.compute", "model.type"},
             "needs precision: fp32: the correction has the weights' type, and 16 bits would lose "
             "most of its small steps");
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
};

}  // namespace

void check_model_rules(const RuleContext& context) { ModelRules(context).check(); }

}  // namespace trainx::recipe
