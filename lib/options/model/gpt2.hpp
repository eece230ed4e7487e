#pragma once
#include "options/model/transformer.hpp"
#include <cstdint>
#include <optional>
#include <string_view>

namespace trainx::options {

struct Gpt2Options {
  static constexpr std::string_view name = "gpt2";
  static constexpr std::string_view summary =
      "Decoder-only transformer with learned positions (124m, 350m, 774m, 1558m)";
  static constexpr bool packs = true;  // documents of a row may be kept apart
  std::optional<std::int64_t> num_layers, num_heads, hidden_size, intermediate_size, max_positions,
      vocab_size, num_experts, num_experts_per_tok, decoder_sparse_step;
  Auto<double> capacity_factor, router_aux_loss_coef;
  Auto<double> dropout, attention_dropout;
  double label_smoothing = 0, z_loss = 0, router_z_loss = 0;
  double initializer_range = 0.02;
};

template <class Visitor>
void visit_fields(Visitor& field, Gpt2Options& o) {
  size_fields(field, o);
  field("num_experts", o.num_experts, at_least(1),
        "Experts in place of the MLP of some layers, of which a router chooses for each token; "
        "default: none");
  field("num_experts_per_tok", o.num_experts_per_tok, at_least(1),
        "Experts that compute a token; default: 1");
  field("decoder_sparse_step", o.decoder_sparse_step, at_least(1),
        "Every such layer has experts, the last of each group; default: 2, every other layer");
  field("capacity_factor", o.capacity_factor, non_negative(),
        "Tokens of a micro-batch that an expert computes, times those that it would have if all "
        "experts had as many; further ones are dropped, which leaves them as they are. 0: none is "
        "dropped. auto: that of model.init_from's config.json, else 1.25");
  field("router_aux_loss_coef", o.router_aux_loss_coef, non_negative(),
        "Factor of the loss that keeps experts evenly busy. auto: that of model.init_from's "
        "config.json, else 0.01");
  field("router_z_loss", o.router_z_loss, non_negative(),
        "Factor of the mean of routers' log(sum(exp(logits)))^2, which training adds to the loss "
        "of a target");
  training_fields(field, o, "embeddings and residual branches",
                  "; 0.02 suits published sizes, narrow models learn sooner with more");
}

}  // namespace trainx::options
