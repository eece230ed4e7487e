// Mixtures of experts: a router, rows by expert, products of each expert, and back to tokens.
#include "core/error.hpp"
#include "graph/builder.hpp"
#include <algorithm>
#include <cmath>

namespace trainx::graph {

using namespace operations;
using program::Initializer;
using program::ParameterSpec;

/// One linear layer of each expert. Parts of an expert follow one another, and experts, too.
Value ModelBuilder::expert_layer(Value x, Value offsets, const MixtureOptions& o,
                                 const std::vector<std::string>& parts, std::int64_t features,
                                 double initializer_range) {
  const std::int64_t E = o.router.experts, in = columns_of(x),
                     width = features / static_cast<std::int64_t>(parts.size());
  const auto matrix = [&](const std::string& name, std::vector<std::int64_t> dims) {
    return ParameterSpec{.name = o.transposed ? name : name + ".weight",
                         .dims = std::move(dims),
                         .decay = true,
                         .initializer = Initializer::normal,
                         .standard_deviation = initializer_range,
                         .saved_transposed = o.transposed};
  };
  ParameterId all;
  if (o.stacked) {
    if (parts.size() != 1) throw InternalError("stacked experts have one tensor a layer");
    all = parameter(matrix(parts.front(), {E, features, in}));
  } else {
    for (std::int64_t e = 0; e < E; ++e)
      for (const std::string& part : parts) {
        const std::string name = o.experts + "." + std::to_string(e) + "." + part;
        const ParameterId id = parameter(matrix(name, {width, in}), "", all.index != none);
        if (all.index == none) all = {id.index, static_cast<int>(E * std::ssize(parts))};
      }
  }
  std::vector<ParameterId> parameters{all};
  if (o.biased) {
    if (!o.stacked) throw InternalError("experts with biases are stacked");
    parameters.push_back(parameter(
        {.name = parts.front() + (o.transposed ? "_bias" : ".bias"), .dims = {E, features}}));
  }
  const GroupedLinear all_rows{.experts = E, .per_token = o.router.per_token, .of_experts = E};
  return out(add(all_rows, {x.id, offsets.id}, std::move(parameters)), GroupedLinear::y);
}

std::int64_t ModelBuilder::choices(const MixtureOptions& o) const {
  return options_.batch_size * length_ * o.router.per_token;
}

Value ModelBuilder::experts(Value rows, Value offsets, const MixtureOptions& o) {
  const double range = options_.initializer_range;
  Value y = expert_layer(rows, offsets, o, o.up, (o.gated ? 2 : 1) * o.features, range);
  y = o.clamped ? out(add(*o.clamped, {y.id}, {}))
      : o.gated ? gated(y, o.activation)
                : activation(y, o.activation);
  return expert_layer(y, offsets, o, {o.down}, columns_of(rows),
                      o.down_range > 0 ? o.down_range : range);
}

Value ModelBuilder::mixture(Value x, const MixtureOptions& o, Value shared, Value shared_gate) {
  const std::int64_t E = o.router.experts, hidden = columns_of(x),
                     tokens = options_.batch_size * length_;
  std::vector<ParameterId> routing(2);
  routing[Router::weight] = parameter({.name = o.router_name + ".weight",
                                       .dims = {E, hidden},
                                       .decay = true,
                                       .initializer = Initializer::normal,
                                       .standard_deviation = options_.initializer_range});
  if (!o.correction.empty()) {
    routing[Router::correction] = parameter({.name = o.correction, .dims = {E}});
    model_.parameters.back().training.trained = false;
    model_.parameters.back().constant = true;
    if (o.balance_rate > 0) {
      model_.parameters.back().spec.expert_layer = static_cast<int>(offsets_.size());
      model_.balance_rate = o.balance_rate;
    }
  }
  if (o.router_biased) {
    routing.resize(3);
    routing[Router::bias] = parameter({.name = o.router_name + ".bias",
                                       .dims = {E},
                                       .initializer = Initializer::normal,
                                       .standard_deviation = options_.initializer_range});
  }
  Router choice = o.router;
  choice.balances = o.loss > 0;
  choice.has_z = o.z_loss > 0;
  // operations are added to a list that moves: values, not nodes, are kept
  const Node& router = add(choice, {x.id, balance_.id, z_.id}, std::move(routing));
  const Value weights = out(router, Router::weights), indices = out(router, Router::indices);
  if (choice.balances) {
    const Value balanced = out(router, Router::balanced);
    const bool adds = !o.loss_by_layer && !router_losses_.empty();
    const std::int64_t rows_before = adds ? router_losses_.back().second.rows : 0;
    if (adds) router_losses_.clear();
    router_losses_.emplace_back(
        balanced, RouterLoss{.experts = E, .rows = rows_before + tokens, .scale = o.loss});
    if (!o.loss_by_layer) balance_ = balanced;
  }
  if (choice.has_z) {
    z_ = out(router, Router::z);
    z_loss_ = {.rows = (z_loss_.scale > 0 ? z_loss_.rows : 0) + tokens, .scale = o.z_loss};
  }
  loads_ = {.experts = E, .choices = choices(o)};
  Dispatch by_expert{.experts = E};
  if (o.capacity_factor > 0) {
    const auto even = static_cast<double>(choices(o)) / static_cast<double>(E);
    const auto rows = static_cast<std::int64_t>(std::ceil(o.capacity_factor * even));
    by_expert.sparse = rows < tokens;
    by_expert.capacity = rows < tokens ? std::max<std::int64_t>(1, rows) : 0;
  }
  const Node& dispatch = add(by_expert, {x.id, indices.id}, {});
  const Value rows = out(dispatch, Dispatch::rows), places = out(dispatch, Dispatch::places),
              offsets = out(dispatch, Dispatch::offsets);
  offsets_.push_back(offsets.id);
  const Value y = experts(rows, offsets, o);
  return out(add(Combine{.sparse = by_expert.sparse},
                 {y.id, weights.id, places.id, shared.id, shared_gate.id}, {}));
}

}  // namespace trainx::graph
