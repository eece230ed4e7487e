#pragma once
#include "options/model/transformer.hpp"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trainx::options {

/// How rotary positions are stretched for rows beyond the folder's positions.
enum class RopeScaling : std::uint8_t { none, linear, yarn };
inline const EnumNames<RopeScaling>& enum_names(RopeScaling) {
  static const EnumNames<RopeScaling> names{
      {RopeScaling::none, "none"}, {RopeScaling::linear, "linear"}, {RopeScaling::yarn, "yarn"}};
  return names;
}

struct DecoderOptions {
  std::string name = "llama";  // the family
  std::string summary;
  static constexpr bool packs = true;  // as Gpt2Options
  std::optional<std::int64_t> num_layers, num_heads, num_key_value_heads, head_size, hidden_size,
      intermediate_size, max_positions, vocab_size, num_experts, num_experts_per_tok;
  RopeScaling rope_scaling = RopeScaling::none;
  Auto<double> dropout, attention_dropout;
  double label_smoothing = 0, z_loss = 0;
  double router_z_loss = 0, router_bias_rate = 0;
  double initializer_range = 0.02;
  /// One of each family. Defined in lib/architectures (published.hpp).
  static const std::vector<DecoderOptions>& described();
};

template <class Visitor>
void visit_fields(Visitor& field, DecoderOptions& o) {
  size_fields(field, o);
  field("num_key_value_heads", o.num_key_value_heads, at_least(1),
        "Heads of keys and values, each for as many query heads; divides num_heads");
  field("head_size", o.head_size, at_least(1), "Elements of a head; default: the published size's");
  field("num_experts", o.num_experts, at_least(1),
        "Experts of a layer that has some; default: the published size's");
  field("num_experts_per_tok", o.num_experts_per_tok, at_least(1),
        "Experts that compute a token; default: the published size's");
  field("rope_scaling", o.rope_scaling, anything(),
        "How the positions of model.init_from are stretched to max_positions, or else to "
        "data.sequence_length: linear (all alike) or yarn (slow pairs alone)");
  training_fields(field, o, "residual branches");
  field(
      "router_z_loss", o.router_z_loss, non_negative(),
      "Factor of the mean of routers' log(sum(exp(logits)))^2, which training adds to the loss of "
      "a target");
  field(
      "router_bias_rate", o.router_bias_rate, non_negative(),
      "By which each step moves the correction of routers' choices towards even loads of experts; "
      "0: the correction is a constant");
}

}  // namespace trainx::options
