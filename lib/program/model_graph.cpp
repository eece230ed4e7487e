#include "program/model_graph.hpp"
#include <algorithm>
#include <functional>
#include <numeric>

namespace trainx::program {
namespace {

std::int64_t product(const std::vector<std::int64_t>& dims) {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
}

}  // namespace

std::int64_t TensorSpec::elements() const { return product(dims); }

ScalarSpec scalar(Role role) {
  return {{std::string(name_of(role)), DType::f64, {role == Role::loss_scale ? 2 : 1}}, role};
}
ScalarSpec metric(std::string name, std::vector<std::int64_t> dims) {
  return {{std::move(name), DType::f64, std::move(dims)}, Role::metric};
}

std::int64_t ParameterSpec::elements() const { return product(dims); }
std::int64_t ParameterSpec::tensor_elements() const {
  if (of_elements) return of_elements;
  return saved_dims.empty() ? elements() : product(saved_dims);
}
std::int64_t ParameterSpec::rows() const {
  return (saved_dims.empty() ? elements() : product(saved_dims)) / dims.back();
}

std::int64_t Gemm::row_alignment(DType operands) const {
  return std::gcd(16, std::gcd(n, a_transposed ? m : k) * size_of(operands));
}

double Phase::gemm_flops() const {
  double flops = 0;
  for (const Gemm& g : gemms)
    flops += 2.0 * static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k) *
             static_cast<double>(g.count);
  return flops;
}

std::int64_t Phase::launches_of(KernelFamily family) const {
  std::int64_t count = 0;
  for (const KernelLaunches& k : kernels)
    if (k.family == family) count += k.count;
  return count;
}

int ModelGraph::layers() const {
  int count = 0;
  for (const BlockSpec& b : blocks) count = std::max(count, b.layer + 1);
  return count;
}

std::vector<int> parts_of_values(const ModelGraph& graph) {
  std::vector<int> parts(graph.values.size(), 1);
  for (const BlockSpec& b : graph.blocks)
    for (const SlotSpec& s : b.slots)
      if (s.state == ValueState::of_part) parts[static_cast<std::size_t>(s.index)] = b.parts.count;
  return parts;
}

}  // namespace trainx::program
