#include "operations/router/router_spec.hpp"
#include "operations/activation/activation_spec.hpp"
#include <algorithm>

namespace trainx::operations {

using program::Gemm;

std::vector<OutputSpec> Router::outputs(const Types& t) const {
  const std::int64_t n = t.inputs[x].rows();
  std::vector<OperandId> from{output(scores)};
  if (t.has_parameter(correction)) from.push_back(parameter(correction));
  std::vector<OutputSpec> all{
      {"router_weights", {DType::f32, {n, per_token}}, from},
      {"router_indices", {DType::i32, {n, per_token}}, from},
      {"router_scores", {DType::f32, {n, experts}}, {input(x), parameter(weight)}},
      {},
      {},
      {}};
  if (t.has_parameter(bias)) all[scores].from.push_back(parameter(bias));
  if (t.has_input(added)) all[scores].from.push_back(input(added));
  if (has_z) {
    all[log_sums] = {"router_log_sums", {DType::f32, {n}}, all[scores].from};
    all[z] = {"router_z", {DType::f32, {1}}, {output(log_sums)}};
    if (t.has_input(z_before)) all[z].from.push_back(input(z_before));
  }
  if (balances) {
    all[balanced] = {
        "router_balance", {DType::f32, {2, experts}}, {output(scores), output(indices)}};
    if (t.has_input(balance)) all[balanced].from.push_back(input(balance));
  }
  return all;
}

BackwardSpec Router::backward(const Types& t) const {
  BackwardSpec b{
      .reads = {output(scores), output(indices)}, .inputs = {{.input = x}}, .parameters = {weight}};
  if (t.has_input(balance)) b.inputs.push_back({.input = balance});
  if (t.has_input(z_before)) b.inputs.push_back({.input = z_before});
  if (t.has_input(added)) b.inputs.push_back({.input = added});
  if (has_z) b.reads.push_back(output(log_sums));
  if (t.has_parameter(bias)) b.parameters.push_back(bias);
  if (t.trains(weight)) b.reads.push_back(input(x));
  if (t.wants_gradient(x)) b.reads.push_back(parameter(weight));
  return b;
}

Cost Router::cost(Direction direction, const Types& t) const {
  const std::int64_t N = t.inputs[x].rows(), H = t.inputs[x].columns();
  const bool forward = direction == Direction::forward, casts = t.host_16_bits(),
             wants_x = !forward && t.wants_gradient(x), trains = !forward && t.trains(weight),
             adds_bias = !forward && t.has_parameter(bias) && t.trains(bias);
  const TensorType some_rows{DType::f32, {std::min(N, cast_rows), H}}, none{};
  const auto elements = static_cast<double>(N * experts);
  Cost c;
  const bool in_parts = t.gpu && t.compute != DType::f32 && !forward;
  c.scratch.resize(6);
  c.scratch[x_cast] = {"router_x", casts && (forward || trains) ? some_rows : none};
  c.scratch[weight_cast] = {
      "router_weight", casts && (forward || wants_x) ? TensorType{DType::f32, {experts, H}} : none};
  const bool whole = !forward && (!in_parts || (t.has_input(added) && t.wants_gradient(added)));
  c.scratch[d_logits] = {"d_router_logits", whole ? TensorType{DType::f32, {N, experts}} : none};
  c.scratch[d_x] = {"d_router_x", casts && wants_x ? some_rows : none};
  if (in_parts) {
    const std::int64_t logits = part_count * experts;
    c.scratch[parts] = {"d_router_parts", {t.compute, {N, logits}}};
    if (wants_x) c.scratch[weight_cast].type = {t.compute, {logits, H}};
    // of the bias alone a row of it would do
    if (trains || adds_bias)
      c.scratch[part_sums] = {"d_router_part_sums", {DType::f32, {logits, H}}};
  }
  // scores and choice, and their backward; parts of the weight and of its gradient; sums of scores
  if (t.gpu)
    c.kernels = {{KernelFamily::rows, forward ? 2 + 2 * balances + has_z
                                              : 1 + (in_parts && wants_x) + (in_parts && trains) +
                                                    (in_parts && adds_bias)}};
  if (t.gpu && adds_bias) c.kernels.push_back({KernelFamily::column_sum});
  if (forward) {
    c.products = {{Gemm{N, experts, H}, scores}};
    c.element_output = scores;
  }
  if (wants_x) c.products.push_back({Gemm{N, H, experts}});
  if (trains) c.products.push_back({Gemm{.m = experts, .n = H, .k = N, .a_transposed = true}});
  // scores, and a comparison with what is chosen so far
  c.element_flops = elements * (forward ? activation_flops : activation_gradient_flops);
  c.element_bytes = 2 * 4 * elements;
  return c;
}

std::optional<Split> Router::split(SplitAxis, const Types&) const { return std::nullopt; }

bool Router::has_gpu_kernel(const Types&) const {
  return experts <= gpu_experts && per_token <= gpu_per_token && groups <= gpu_groups;
}

}  // namespace trainx::operations
