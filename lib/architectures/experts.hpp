// Mixtures of experts in a decoder's layers.
#pragma once
#include "operations/clamped_gated/clamped_gated_spec.hpp"
#include "operations/router/router_spec.hpp"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trainx::architectures {

/// Names of tensors below a layer. Experts' are <experts>.<number>.<part>, or, stacked, one <part>
/// for all of them. "": there is none.
struct ExpertNames {
  std::string router = "mlp.gate", correction = "", experts = "mlp.experts";
  std::vector<std::string> up{"gate_proj", "up_proj"};
  std::string down = "down_proj";
  bool stacked = false;
  // of stacked ones: files hold [experts, in, out], as <part> and <part>_bias
  bool transposed = false;
  std::string shared = "mlp.shared_experts", shared_gate = "";
  bool operator==(const ExpertNames&) const = default;
};

/// What layers have instead of an MLP: gated MLPs, of which a router chooses some for each token.
struct Experts {
  std::vector<char> layers;             // of each layer: it has experts; empty: none has
  std::vector<std::string> count_keys;  // of config.json: spellings of how many experts there are
  std::int64_t features = 0;
  std::int64_t shared_features = 0;  // of one that computes all tokens; 0: there is none
  operations::Router router;
  bool biased = false;                              // the router, and all products of experts
  std::optional<operations::ClampedGated> clamped;  // instead of the decoder's activation
  ExpertNames names;
  double loss = 0;  // scale of the loss that keeps experts evenly busy
  // of a recipe: scale of operations::RouterZLoss, and by what a step moves the correction
  double z_loss = 0, balance_rate = 0;
  // layers that folders hold behind the model's, for tokens further ahead: they are not read
  std::int64_t later_layers = 0;

  bool in(std::int64_t layer) const {
    return static_cast<std::size_t>(layer) < layers.size() &&
           layers[static_cast<std::size_t>(layer)];
  }
  explicit operator bool() const { return !layers.empty(); }
  bool operator==(const Experts&) const = default;
};

}  // namespace trainx::architectures
