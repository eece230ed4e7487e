#include "spec/arch/gpt2_groups.hpp"
#include "spec/arch/gpt2_slots.hpp"
#include "spec/arch/group_builder.hpp"
#include <cmath>

namespace trainx::spec {

using program::GroupSpec;
using program::ParameterSpec;

namespace {

/// A Linear weight [out, in], which GPT-2's files hold as Conv1D [in, out].
ParameterSpec weight(std::string name, std::int64_t out, std::int64_t in, double deviation) {
  ParameterSpec p = linear_weight(std::move(name), out, in, deviation);
  p.saved_transposed = true;
  return p;
}

}  // namespace

std::vector<GroupSpec> gpt2_groups(const Gpt2Dims& d) {
  const std::int64_t C = d.hidden_size, F = d.intermediate_size;
  const double deviation = d.initializer_range,
               residual_deviation = deviation / std::sqrt(2.0 * static_cast<double>(d.num_layers));
  std::vector<GroupSpec> groups;
  add(groups.emplace_back(GroupSpec{.name = "wte"}),
      embedding("wte.weight", d.padded_vocab_size(), C, d.vocab_size, deviation));
  add(groups.emplace_back(GroupSpec{.name = "wpe"}),
      embedding("wpe.weight", d.max_positions, C, d.max_positions, deviation));
  std::string pending;  // bias of the branch that the block before left open
  for (std::int64_t i = 0; i < d.num_layers; ++i) {
    const std::string layer = "h." + std::to_string(i), block = "h" + std::to_string(i);
    GroupSpec& attention = groups.emplace_back(GroupSpec{.name = block + ".attention"});
    add(attention, weight(layer + ".attn.c_attn.weight", 3 * C, C, deviation));
    add(attention, weight(layer + ".attn.c_proj.weight", C, C, residual_deviation));
    add(attention, bias(layer + ".attn.c_attn.bias", 3 * C));
    add_norm(attention, layer + ".ln_1", C, pending);
    pending = layer + ".attn.c_proj.bias";
    GroupSpec& mlp = groups.emplace_back(GroupSpec{.name = block + ".mlp"});
    add(mlp, weight(layer + ".mlp.c_fc.weight", F, C, deviation));
    add(mlp, weight(layer + ".mlp.c_proj.weight", C, F, residual_deviation));
    add(mlp, bias(layer + ".mlp.c_fc.bias", F));
    add_norm(mlp, layer + ".ln_2", C, pending);
    pending = layer + ".mlp.c_proj.bias";
  }
  add_norm(groups.emplace_back(GroupSpec{.name = "head"}), "ln_f", C, pending);
  return groups;
}

std::string gpt2_parameter_name(std::string_view saved_name) {
  constexpr std::string_view prefix = "transformer.";
  if (saved_name.starts_with(prefix)) saved_name.remove_prefix(prefix.size());
  if (saved_name == "lm_head.weight" || saved_name.ends_with(".attn.bias") ||
      saved_name.ends_with(".attn.masked_bias"))
    return {};
  return std::string(saved_name);
}

}  // namespace trainx::spec
