// The passes over a model's graph, before it is cut into blocks of a step program.
#pragma once
#include "graph/passes/graph_pass_options.hpp"
#include <functional>
#include <span>
#include <string_view>

namespace trainx::graph {

struct Model;

/// Rewrites a model into one that computes the same, or, where its name says so, what was asked
/// for.
struct GraphPass {
  std::string_view name;
  void (*apply)(Model& model, const GraphPassOptions& options);
};

/// In the one order in which they are applied. A new pass is a file, a line in graph_passes.hpp and
/// a line in graph_pass.cpp.
std::span<const GraphPass> graph_passes();

/// Called with the model before the first pass (`after`: "") and after each.
using GraphPassObserver = std::function<void(std::string_view after, const Model& model)>;

/// Applies all passes, and checks the model (check_model.hpp) before the first and after each.
/// UserError 78 of what a recipe asks for and the model cannot; InternalError, with the pass's
/// name, if a pass left the model broken.
void apply_graph_passes(Model& model, const GraphPassOptions& options,
                        const GraphPassObserver& observer = {});

}  // namespace trainx::graph
