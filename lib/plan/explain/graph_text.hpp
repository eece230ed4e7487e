#pragma once
#include "plan/draft.hpp"
#include <string>

namespace trainx::plan {

/// The model of a run as it is after the graph pass `after`: "none" before the first, "all" after
/// the last; a line for each operation (graph/print_model.hpp). UserError 2 naming the passes for
/// another name.
std::string graph_text(const Draft& plan, const std::string& after);

}  // namespace trainx::plan
