// model.adapter: which weights of the model get an adapter, and how its folder calls it.
#pragma once
#include "plan/draft.hpp"

namespace trainx::plan {

/// What these settings make of a model. Throws UserError 78: a target that matches nothing, or what
/// trainx has no adapter for.
AdapterPlan adapter_of(const adapter::Config& config, const architectures::ModelDims& dims,
                       adapter::Unmatched unmatched = adapter::Unmatched::refused);

/// To be called if `dims` are those of a model whose head the adapter parts from the embedding: in
/// PEFT the base of both is still one weight.
void share_base_of_tied(AdapterPlan& plan, const architectures::ModelDims& dims);

/// Nothing without model.adapter. Of the plan: recipe, dims, compute; dims become those of the
/// adapted model (adapted_dims). Throws as adapter_of, and UserError 65 of a folder of an adapter
/// that cannot be followed.
std::optional<AdapterPlan> plan_adapter(Draft& plan, const facts::Facts& facts);

/// Throws InternalError unless the run's own graph has every adapter of the plan.
void require_adapters(const AdapterPlan& adapter, const program::ModelGraph& graph);

/// "model.adapter: 14 modules get one (2 each of q_proj, ...): 12,288 numbers are trained".
std::string adapter_words(const AdapterPlan& adapter);

/// Says what the run trains: optimizer.groups, and model.adapter.
void tell_trained(const Draft& plan, architectures::GraphOptions& graph_options);

}  // namespace trainx::plan
