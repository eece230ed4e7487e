#include "core/error.hpp"
#include "architectures/custom.hpp"
#include "graph/builder.hpp"
#include "graph/parameter_rules.hpp"
#include "graph/to_blocks.hpp"
#include <cmath>

namespace trainx::architectures {

using program::Bytes;

namespace {

Bytes between(Bytes low, Bytes high, double share) {
  return low + static_cast<Bytes>(std::ceil(share * static_cast<double>(high - low)));
}

/// The described shape, or one between two described ones: bytes grow with the micro-batch in a
/// straight line.
CustomShape shape_for(const CustomDims& dims, std::int64_t B, std::int64_t T, DType compute) {
  const CustomShape *below = nullptr, *above = nullptr;
  for (const CustomShape& s : dims.shapes) {
    if (s.length != T || s.compute != compute) continue;
    if (s.micro_batch_size <= B && (!below || s.micro_batch_size > below->micro_batch_size))
      below = &s;
    if (s.micro_batch_size >= B && (!above || s.micro_batch_size < above->micro_batch_size))
      above = &s;
  }
  if (!below || !above)
    throw InternalError("model " + dims.options.name + " is not described for micro-batches of " +
                        std::to_string(B) + " times " + std::to_string(T) + " tokens");
  CustomShape made = *above;
  if (below == above) return made;
  const double share = static_cast<double>(B - below->micro_batch_size) /
                       static_cast<double>(above->micro_batch_size - below->micro_batch_size);
  made.micro_batch_size = B;
  made.library_bytes = between(below->library_bytes, above->library_bytes, share);
  for (std::size_t k = 0; k < made.modules.size(); ++k) {
    made.modules[k].output.front() = B;
    made.modules[k].graph_bytes =
        between(below->modules.at(k).graph_bytes, above->modules[k].graph_bytes, share);
  }
  return made;
}

/// Matrices and embeddings decay; biases and norm parameters do not.
graph::ModuleOptions options_of(const CustomModule& m) {
  graph::ModuleOptions o{.name = m.name,
                         .module = {.dims = m.output, .graph_bytes = m.graph_bytes}};
  for (const CustomParameter& p : m.parameters)
    o.parameters.push_back({.name = m.name + "." + p.name,
                            .dims = p.dims,
                            .decay = p.dims.size() >= 2,
                            .initializer = program::Initializer::constructed});
  return o;
}

}  // namespace

program::ModelGraph custom_graph(const CustomDims& dims, std::int64_t B, std::int64_t T,
                                 DType compute, const Machine& machine) {
  const CustomShape shape = shape_for(dims, B, T, compute);
  const bool classification = dims.task == Task::classification;
  const std::string targets = classification ? "labels" : "targets";
  graph::ModelBuilder m({.batch_size = B, .length = T, .compute = compute},
                        {"tokens", "positions", targets});
  graph::Value x = m.batch("tokens");
  for (std::size_t k = 0; k + 1 < shape.modules.size(); ++k)
    x = m.module(x, options_of(shape.modules[k]));
  m.module_head(x, options_of(shape.modules.back()), m.batch(targets),
                classification ? dims.num_labels : 0);
  graph::Model model = m.finish();
  graph::apply(machine.rules, model);
  program::ModelGraph graph = graph::to_blocks(model);
  graph.library_bytes = shape.library_bytes;
  return graph;
}

}  // namespace trainx::architectures
