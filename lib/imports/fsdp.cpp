// FSDP (fully sharded data parallel) in the words of transformers, Accelerate and Axolotl.
#include "imports/readers.hpp"
#include "imports/reasons.hpp"
#include <algorithm>

namespace trainx::imports {
namespace {

/// What these settings ask for, and the keys that say so; empty: said nowhere.
struct Sharding {
  std::string mode, mode_key;
  std::string offload_key;
  bool is_hybrid = false;
};

/// True if `word` is a sharding strategy: its name, or its number in Accelerate's files.
bool take_strategy(Sharding& sharding, const std::string& word, std::string_view key) {
  struct Strategy {
    std::string_view name, number, mode;
    bool is_hybrid;
  };
  static constexpr Strategy strategies[]{{"full_shard", "1", "zero3", false},
                                         {"shard_grad_op", "2", "zero2", false},
                                         {"no_shard", "3", "ddp", false},
                                         {"hybrid_shard", "4", "zero3", true},
                                         {"hybrid_shard_zero2", "5", "zero2", true},
                                         {"true", "", "zero3", false}};
  for (const Strategy& s : strategies) {
    if (word != s.name && (s.number.empty() || word != s.number)) continue;
    sharding.mode = s.mode;
    sharding.mode_key = key;
    sharding.is_hybrid = s.is_hybrid;
    return true;
  }
  return false;
}

/// A key of fsdp_config, which Accelerate and older versions write with the prefix fsdp_.
std::string spelled(const Settings& config, const std::string& key) {
  return config.has("fsdp_" + key) ? "fsdp_" + key : key;
}

void take_config(Settings& config, Sharding& sharding) {
  const std::string strategy = spelled(config, "sharding_strategy");
  const std::string reshard = spelled(config, "reshard_after_forward");
  for (const std::string& key : {strategy, reshard}) {
    const std::string word = config.word(key);
    if (word.empty() || take_strategy(sharding, word, config.path(key))) continue;
    if (word == "false")
      sharding.mode = "zero2", sharding.mode_key = config.path(key);
    else
      config.refuse(key, "is no sharding strategy: " + yaml::excerpt(word));
  }
  for (const char* key : {"offload_params", "cpu_offload"})
    if (config.flag(spelled(config, key)).value_or(false))
      sharding.offload_key = spelled(config, key);
  const std::string recompute = spelled(config, "activation_checkpointing");
  if (config.flag(recompute).value_or(false))
    config.set("memory.activation_checkpoint", "full", recompute);
  const std::string offload = spelled(config, "activation_cpu_offload");
  if (config.flag(offload).value_or(false)) config.set("memory.activation_offload", "cpu", offload);
}

/// How trainx wraps, gathers ahead, loads and saves is its own affair; these change no result.
constexpr std::string_view without_effect[]{"auto_wrap_policy",
                                            "backward_prefetch",
                                            "backward_prefetch_policy",
                                            "forward_prefetch",
                                            "limit_all_gathers",
                                            "use_orig_params",
                                            "sync_module_states",
                                            "cpu_ram_efficient_loading",
                                            "transformer_layer_cls_to_wrap",
                                            "min_num_params",
                                            "state_dict_type",
                                            "final_state_dict_type",
                                            "version",
                                            "xla_fsdp_v2",
                                            "xla_fsdp_grad_ckpt",
                                            "xla_fsdp_settings"};

void leave_rest_of(Settings& config) {
  std::vector<std::string> keys;
  config.for_each_rest([&](const yaml::Entry& entry) {
    std::string_view key = entry.key;
    if (key.starts_with("fsdp_")) key.remove_prefix(5);
    const bool is_silent = std::ranges::count(without_effect, key) > 0;
    const bool is_xla = key == "xla";
    if (!is_silent && !(is_xla && is_default(entry.value, "false"))) keys.push_back(entry.key);
  });
  for (const std::string& key : keys) {
    const bool is_xla = key.ends_with("xla");
    config.leave(key, is_xla ? std::string(reasons::other_devices)
                             : "is no setting of FSDP that trainx knows");
  }
}

void set_offload(Settings& s, const Sharding& sharding, Settings& config) {
  if (sharding.offload_key.empty()) return;
  Settings& from = s.has(sharding.offload_key) ? s : config;
  from.set("memory.optimizer_offload.where", "cpu", sharding.offload_key);
  if (sharding.mode != "zero2")
    return from.set("memory.parameter_offload", "cpu", sharding.offload_key);
  from.leave(sharding.offload_key,
             "optimizer states are offloaded; memory.parameter_offload needs "
             "parallel.mode: zero3 or ddp");
}

}  // namespace

void map_fsdp(Settings& s, std::string_view key, bool is_on,
              std::optional<std::int64_t> ranks_of_node) {
  Sharding sharding;
  std::string unknown;
  for (const std::string& word : s.words(key)) {
    if (word == "false") continue;
    if (take_strategy(sharding, word, key)) continue;
    if (word == "offload")
      sharding.offload_key = key;
    else if (word != "auto_wrap")
      unknown += (unknown.empty() ? "" : ", ") + word;
  }
  if (!unknown.empty()) s.leave(key, "is no sharding strategy that trainx knows: " + unknown);
  const bool is_said = !sharding.mode.empty() || !sharding.offload_key.empty();
  if (!is_said && !is_on) return;
  const yaml::Node* written = s.take("fsdp_config");
  if (written && written->is_scalar())
    s.leave("fsdp_config", "is not read: write its contents here");
  static const yaml::Node nothing = [] {
    yaml::Node map;
    map.kind = yaml::Node::Kind::map;
    return map;
  }();
  Settings config(written && written->is_map() ? *written : nothing, s.draft(),
                  s.path("fsdp_config"));
  if (sharding.mode.empty())
    sharding.mode = "zero3", sharding.mode_key = is_said ? key : "fsdp_config";
  take_config(config, sharding);
  leave_rest_of(config);
  const std::size_t dot = sharding.mode_key.rfind('.');
  const bool in_config = dot != std::string::npos;
  Settings& from = in_config ? config : s;
  const std::string from_key = in_config ? sharding.mode_key.substr(dot + 1) : sharding.mode_key;
  from.set("parallel.mode", sharding.mode, from_key);
  if (sharding.is_hybrid && ranks_of_node.value_or(0) > 1)
    from.set("parallel.shard_ranks", std::to_string(*ranks_of_node), from_key);
  else if (sharding.is_hybrid)
    s.draft().remark("parallel.mode", "parallel.shard_ranks: auto shards within a node");
  set_offload(s, sharding, config);
}

}  // namespace trainx::imports
