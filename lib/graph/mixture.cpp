// Mixtures of experts: a router, rows by expert, products of each expert, and back to tokens.
#include "core/error.hpp"
#include "graph/builder.hpp"

namespace trainx::graph {

using namespace operations;
using program::Initializer;
using program::ParameterSpec;

/// One linear layer of each expert. Parts of an expert follow one another, and experts, too.
Value ModelBuilder::expert_layer(Value x, Value offsets, const MixtureOptions& o,
                                 const std::vector<std::string>& parts, std::int64_t features) {
  const std::int64_t E = o.router.experts, in = columns_of(x),
                     width = features / static_cast<std::int64_t>(parts.size());
  const auto matrix = [&](const std::string& name, std::vector<std::int64_t> dims) {
    return ParameterSpec{.name = o.transposed ? name : name + ".weight",
                         .dims = std::move(dims),
                         .decay = true,
                         .initializer = Initializer::normal,
                         .standard_deviation = options_.initializer_range,
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
  return out(add(GroupedLinear{.experts = E, .per_token = o.router.per_token}, {x.id, offsets.id},
                 std::move(parameters)),
             GroupedLinear::y);
}

Value ModelBuilder::mixture(Value x, const MixtureOptions& o, Value shared, Value shared_gate) {
  const std::int64_t E = o.router.experts, hidden = columns_of(x);
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
  if (o.biased) {
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
    balance_ = out(router, Router::balanced);
    router_loss_ = {
        .experts = E,
        .rows = (router_loss_.scale > 0 ? router_loss_.rows : 0) + options_.batch_size * length_,
        .scale = o.loss};
  }
  if (choice.has_z) {
    z_ = out(router, Router::z);
    z_loss_ = {.rows = (z_loss_.scale > 0 ? z_loss_.rows : 0) + options_.batch_size * length_,
               .scale = o.z_loss};
  }
  const Node& dispatch = add(Dispatch{.experts = E}, {x.id, indices.id}, {});
  const Value rows = out(dispatch, Dispatch::rows), places = out(dispatch, Dispatch::places),
              offsets = out(dispatch, Dispatch::offsets);
  offsets_.push_back(offsets.id);
  loads_ = {.experts = E, .choices = options_.batch_size * length_ * o.router.per_token};
  Value y = expert_layer(rows, offsets, o, o.up, 2 * o.features);
  y = o.clamped ? out(add(*o.clamped, {y.id}, {})) : gated(y, o.activation);
  y = expert_layer(y, offsets, o, {o.down}, hidden);
  return out(add(Combine{}, {y.id, weights.id, places.id, shared.id, shared_gate.id}, {}));
}

}  // namespace trainx::graph
