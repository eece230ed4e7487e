#include "spec/arch/gpt2_groups.hpp"
#include "spec/arch/gpt2_slots.hpp"
#include <algorithm>
#include <cmath>

namespace trainx::spec {

using program::group_alignment;
using program::GroupSpec;
using program::Initializer;
using program::ParameterSpec;

namespace {

std::int64_t round_up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

void add(GroupSpec& group, ParameterSpec p) {
  p.offset = round_up(group.elements, group_alignment);
  if (p.saved_dims.empty()) p.saved_dims = p.dims;
  if (p.saved_transposed) std::reverse(p.saved_dims.begin(), p.saved_dims.end());
  group.elements = round_up(p.offset + p.elements(), group_alignment);
  group.parameters.push_back(std::move(p));
}

ParameterSpec embedding(std::string name, std::int64_t rows, std::int64_t columns, std::int64_t saved_rows, double deviation) {
  return {.name = std::move(name), .dims = {rows, columns}, .decay = true, .initializer = Initializer::normal, .standard_deviation = deviation, .saved_dims = {saved_rows, columns}};
}

/// A Linear weight [out, in], which GPT-2's files hold as Conv1D [in, out].
ParameterSpec weight(std::string name, std::int64_t out, std::int64_t in, double deviation) {
  return {.name = std::move(name), .dims = {out, in}, .decay = true, .initializer = Initializer::normal, .standard_deviation = deviation, .saved_transposed = true};
}

ParameterSpec bias(std::string name, std::int64_t n) { return {.name = std::move(name), .dims = {n}}; }

void add_norm(GroupSpec& group, const std::string& name, std::int64_t n, const std::string& pending_bias) {
  add(group, {.name = name + ".weight", .dims = {n}, .initializer = Initializer::ones});
  add(group, bias(name + ".bias", n));
  if (!pending_bias.empty()) add(group, bias(pending_bias, n));
}

}  // namespace

std::vector<GroupSpec> gpt2_groups(const Gpt2Dims& d) {
  const std::int64_t C = d.hidden_size, F = d.intermediate_size;
  const double deviation = d.initializer_range, residual_deviation = deviation / std::sqrt(2.0 * static_cast<double>(d.num_layers));
  std::vector<GroupSpec> groups;
  add(groups.emplace_back(GroupSpec{.name = "wte"}), embedding("wte.weight", d.padded_vocab_size(), C, d.vocab_size, deviation));
  add(groups.emplace_back(GroupSpec{.name = "wpe"}), embedding("wpe.weight", d.max_positions, C, d.max_positions, deviation));
  std::string pending;                  // bias of the branch that the block before left open
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
  if (saved_name == "lm_head.weight" || saved_name.ends_with(".attn.bias") || saved_name.ends_with(".attn.masked_bias")) return {};
  return std::string(saved_name);
}

}  // namespace trainx::spec
