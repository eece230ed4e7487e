#include "plan/explain/graph_text.hpp"
#include "core/error.hpp"
#include "core/suggest.hpp"
#include "graph/print_model.hpp"
#include "architectures/architecture.hpp"
#include "plan/programs.hpp"
#include <algorithm>

namespace trainx::plan {
namespace {

std::vector<std::string> stages() {
  std::vector<std::string> names{"none"};
  for (const graph::GraphPass& pass : graph::graph_passes()) names.emplace_back(pass.name);
  names.emplace_back("all");
  return names;
}

}  // namespace

std::string graph_text(const Draft& plan, const std::string& after) {
  const std::vector<std::string> names = stages();
  if (std::ranges::find(names, after) == names.end()) {
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
    throw UserError(ExitCode::usage, "plan: --graph " + after + ": no such graph pass" +
                                         did_you_mean(after, names) + "; they are " + list);
  }
  std::string text, last;
  architectures::observe_graph_passes(plan.dims, plan.batch.micro_batch_size,
                                      plan.row_lengths.back(), plan.compute, graph_options_of(plan),
                                      [&](std::string_view pass, const graph::Model& model) {
                                        last = graph::print(model);
                                        if (pass == after || (pass.empty() && after == "none"))
                                          text = last;
                                      });
  return after == "all" ? last : text;
}

}  // namespace trainx::plan
