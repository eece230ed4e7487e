// The operations that there are: a folder each, and a word in this list.
#pragma once
#include "operations/activation/activation_layer_spec.hpp"
#include "operations/attention/attention_spec.hpp"
#include "operations/clamped_gated/clamped_gated_spec.hpp"
#include "operations/columns/columns_spec.hpp"
#include "operations/combine/combine_spec.hpp"
#include "operations/cross_entropy/cross_entropy_spec.hpp"
#include "operations/dispatch/dispatch_spec.hpp"
#include "operations/dispatch_to_ranks/dispatch_to_ranks_spec.hpp"
#include "operations/dropout/dropout_spec.hpp"
#include "operations/embedding/embedding_spec.hpp"
#include "operations/exchange/exchange_spec.hpp"
#include "operations/expert_loads/expert_loads_spec.hpp"
#include "operations/gated/gated_spec.hpp"
#include "operations/grouped_linear/grouped_linear_spec.hpp"
#include "operations/head_norm/head_norm_spec.hpp"
#include "operations/heads_by_rank/heads_by_rank_spec.hpp"
#include "operations/latent_heads/latent_heads_spec.hpp"
#include "operations/linear/linear_spec.hpp"
#include "operations/logit_sums/logit_sums_spec.hpp"
#include "operations/logit_sums/part_loss_spec.hpp"
#include "operations/low_rank/low_rank_spec.hpp"
#include "operations/mean_pool/mean_pool_spec.hpp"
#include "operations/module/module_spec.hpp"
#include "operations/norm/residual_norm_spec.hpp"
#include "operations/quantize/quantize_spec.hpp"
#include "operations/rotary/rotary_spec.hpp"
#include "operations/router/router_spec.hpp"
#include "operations/router_loss/router_loss_spec.hpp"
#include "operations/router_z_loss/router_z_loss_spec.hpp"
#include "operations/shared_heads/shared_heads_spec.hpp"
#include "operations/trained_tokens/token_logits_spec.hpp"
#include "operations/trained_tokens/token_rows_spec.hpp"
#include "operations/value_loss/value_loss_spec.hpp"
#include <variant>

namespace trainx::operations {

using Operation =
    std::variant<Embedding, ResidualNorm, Linear, HeadNorm, Rotary, Attention, Gated, Columns,
                 LatentHeads, DropoutLayer, CrossEntropy, ValueLoss, MeanPool, Module, Router,
                 Dispatch, DispatchToRanks, GroupedLinear, Combine, RouterLoss, RouterZLoss,
                 ExpertLoads, ClampedGated, ActivationLayer, Quantize, LowRank, TokenRows,
                 TokenLogits, Exchange, LogitSums, PartLoss, SharedHeads, HeadsByRank>;

inline std::string_view name_of(const Operation& o) {
  return std::visit([](const auto& op) { return op.name; }, o);
}
inline std::vector<OutputSpec> outputs_of(const Operation& o, const Types& t) {
  return std::visit([&](const auto& op) { return op.outputs(t); }, o);
}
/// Of the gradients that are wanted; empty where none is.
inline BackwardSpec backward_of(const Operation& o, const Types& t) {
  return only_wanted(std::visit([&](const auto& op) { return op.backward(t); }, o), t);
}
inline Cost cost_of(const Operation& o, Direction direction, const Types& t) {
  return std::visit([&](const auto& op) { return op.cost(direction, t); }, o);
}
inline std::optional<Split> split_of(const Operation& o, SplitAxis axis, const Types& t) {
  return std::visit([&](const auto& op) { return op.split(axis, t); }, o);
}
/// Does it make each row of what it makes of the same rows of its inputs, wherever they lie in a
/// sample?
inline bool computes_rows(const Operation& o) {
  return std::visit(
      []<class T>(const T&) {
        return requires { T::of_rows_alone; };
      },
      o);
}
/// ... or of any rows that are given, as many as there are?
inline bool goes_by_tokens(const Operation& o) {
  return std::visit(
      []<class T>(const T&) {
        return requires { T::of_tokens_alone; };
      },
      o);
}
inline bool has_gpu_kernel(const Operation& o, const Types& t) {
  return std::visit([&](const auto& op) { return op.has_gpu_kernel(t); }, o);
}

}  // namespace trainx::operations
