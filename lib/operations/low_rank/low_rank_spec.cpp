#include "operations/low_rank/low_rank_spec.hpp"
#include <algorithm>

namespace trainx::operations {

using program::Gemm;

std::int64_t LowRank::ranks() const {
  std::int64_t all = 0;
  for (const LowRankPart& p : parts) all += p.rank;
  return all;
}

bool LowRank::multiplies_at_once() const {
  return dropout == 0 && std::ranges::all_of(parts, [&](const LowRankPart& p) {
           return p.scale == parts.front().scale;
         });
}

std::vector<LowRankPart> LowRank::gaps(std::int64_t out) const {
  std::vector<LowRankPart> all;
  std::int64_t at = 0;
  for (const LowRankPart& p : parts) {
    if (p.first > at) all.push_back({.first = at, .width = p.first - at});
    at = p.first + p.width;
  }
  if (at < out) all.push_back({.first = at, .width = out - at});
  return all;
}

std::vector<OutputSpec> LowRank::outputs(const Types& t) const {
  std::vector<OperandId> from{input(x), parameter(a)};
  if (dropout > 0) from.push_back(input(positions));
  const bool adds = t.has_input(base);
  std::vector<OperandId> sum{output(narrow)};
  if (adds) sum.push_back(input(base));
  if (t.has_parameter(weight)) sum.insert(sum.end(), {input(x), parameter(weight)});
  if (t.has_parameter(bias)) sum.push_back(parameter(bias));
  for (std::size_t p = 0; p < parts.size(); ++p) sum.push_back(parameter(b_of(p)));
  return {{"narrow", {t.compute, {t.inputs[x].rows(), ranks()}}, std::move(from)},
          {"adapted", adds ? t.inputs[base] : TensorType{t.compute, {t.inputs[x].rows(), width(t)}},
           std::move(sum)}};
}

BackwardSpec LowRank::backward(const Types& t) const {
  BackwardSpec b;
  const bool narrows = t.trains(a) || t.wants_gradient(x);
  bool trains_b = false;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    trains_b = trains_b || t.trains(b_of(p));
    if (narrows) b.reads.push_back(parameter(b_of(p)));
    b.parameters.push_back(b_of(p));
  }
  b.parameters.push_back(a);
  if (t.trains(a)) b.reads.push_back(input(x));
  if (t.wants_gradient(x)) b.reads.push_back(parameter(a));
  if (t.wants_gradient(x) && t.has_parameter(weight)) b.reads.push_back(parameter(weight));
  if (trains_b) b.reads.push_back(output(narrow));
  if (narrows && dropout > 0) b.reads.push_back(input(positions));
  if (t.has_input(base)) b.inputs.push_back({.input = base, .over = y});
  b.inputs.push_back({.input = x});
  return b;
}

Cost LowRank::cost(Direction direction, const Types& t) const {
  const std::int64_t N = t.inputs[x].rows(), in = t.parameters[a].columns();
  const TensorType row_type{t.compute, {N, in}};
  Cost c;
  c.scratch.resize(scratch_count);
  const auto add = [&](Gemm gemm, int output = program::none) {
    c.products.push_back({gemm, output});
  };
  const auto drops = [&](std::int64_t times) {
    if (dropout == 0 || times == 0) return;
    c.kernels.push_back({KernelFamily::dropout, times});
    c.element_flops += static_cast<double>(times * N * in);
    c.element_bytes += static_cast<double>(2 * times) * row_type.bytes();
  };
  const auto count = std::ssize(parts);
  const bool multiplies = t.has_parameter(weight);
  if (direction == Direction::forward) {
    if (multiplies) add({.m = N, .n = width(t), .k = in}, y);
    if (multiplies_at_once()) add({.m = N, .n = ranks(), .k = in}, narrow);
    for (const LowRankPart& p : parts) {
      if (!multiplies_at_once()) add({.m = N, .n = p.rank, .k = in}, narrow);
      add({.m = N, .n = p.width, .k = p.rank}, y);
    }
    drops(count);
    if (dropout > 0) c.scratch[dropped] = {"dropped", row_type};
    const std::vector<LowRankPart> copied = t.has_input(base) ? gaps(t.inputs[base].columns())
                                                              : std::vector<LowRankPart>{};
    if (!copied.empty()) c.kernels.push_back({KernelFamily::rows, std::ssize(copied)});
    for (const LowRankPart& gap : copied)
      c.element_bytes += static_cast<double>(2 * N * gap.width * size_of(t.inputs[base].dtype));
    return c;
  }
  if (multiplies && t.wants_gradient(x)) add({.m = N, .n = in, .k = width(t)});
  const bool narrows = t.trains(a) || t.wants_gradient(x);
  std::int64_t widest = 0;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const LowRankPart& p = parts[k];
    if (narrows) add({.m = N, .n = p.rank, .k = p.width});
    if (!t.trains(b_of(k))) continue;
    add({.m = p.width, .n = p.rank, .k = N, .a_transposed = true});
    widest = std::max(widest, N * (p.width + p.rank));
  }
  if (t.trains(a)) widest = std::max(widest, N * (in + ranks()));
  if (t.host_16_bits() && widest > 0) c.scratch[cast] = {"cast", {DType::f32, {widest}}};
  if (!narrows) return c;
  c.scratch[narrow_gradient] = {"narrow_gradient", {t.compute, {N, ranks()}}};
  if (dropout == 0) {
    if (t.trains(a)) add({.m = ranks(), .n = in, .k = N, .a_transposed = true});
    if (t.wants_gradient(x)) add({.m = N, .n = in, .k = ranks()});
    return c;
  }
  c.scratch[dropped] = {"dropped", row_type};
  for (const LowRankPart& p : parts) {
    if (t.trains(a)) add({.m = p.rank, .n = in, .k = N, .a_transposed = true});
    if (t.wants_gradient(x)) add({.m = N, .n = in, .k = p.rank});
  }
  drops(count * (int{t.trains(a)} + int{t.wants_gradient(x)}));
  if (t.wants_gradient(x)) {
    c.kernels.push_back({KernelFamily::rows, count});
    c.element_bytes += static_cast<double>(3 * count) * row_type.bytes();
  }
  return c;
}

std::optional<Split> LowRank::split(SplitAxis axis, const Types& t) const {
  const bool columns = axis == SplitAxis::column, biased = t.has_parameter(bias);
  if (!columns && axis != SplitAxis::row) return std::nullopt;
  Split s;
  s.parameters.resize(t.parameters.size());
  if (t.has_parameter(weight)) s.parameters[weight] = columns ? 0 : 1;
  if (biased && columns) s.parameters[bias] = 0;
  if (!columns) s.parameters[a] = 1;
  for (std::size_t p = 0; columns && p < parts.size(); ++p) s.parameters[b_of(p)] = 0;
  s.sums_inputs = columns;
  s.sums_outputs = !columns;  // the product by b is linear: shares of `narrow` give shares of y
  return s;
}

bool LowRank::has_gpu_kernel(const Types&) const { return true; }

}  // namespace trainx::operations
