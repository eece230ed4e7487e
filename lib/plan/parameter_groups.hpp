// optimizer.groups: which parameters of the model are trained, and how.
#pragma once
#include "graph/parameter_rules.hpp"
#include "plan/draft.hpp"

namespace trainx::plan {

/// As the model's description takes them: by the names that it has of tensors, however the folder
/// that weights come from calls them. Rates of a group's own become factors of optimizer.lr.
std::vector<graph::ParameterRule> parameter_rules(const Draft& plan);

/// Throws UserError 78 for a group that matches no parameter of the model, naming near ones, and
/// where nothing is left to train.
void require_groups_match(const Draft& plan, const program::ModelGraph& graph);

}  // namespace trainx::plan
