#include "graph/model.hpp"
#include "graph/parameter_rules.hpp"
#include "graph/passes/graph_passes.hpp"

namespace trainx::graph {

void choose_trained(Model& model, const GraphPassOptions& options) { apply(options.rules, model); }

}  // namespace trainx::graph
