#include "train/attestation.hpp"
#include <algorithm>

namespace trainx::train {
namespace {

using Names = std::initializer_list<std::string_view>;

bool has_all(const std::string& name, Names parts) {
  return std::ranges::all_of(parts, [&](std::string_view part) { return name.find(part) != std::string::npos; });
}

/// Launches of the kernel that stands for the work: of several whose names fit, the one launched most (the others prepare or finish for it).
std::int64_t launches(const StepEvidence& e, Names of_library, Names own) {
  std::int64_t most = 0;
  for (const auto& [name, count] : e.kernels)
    if (has_all(name, of_library) || has_all(name, own)) most = std::max(most, count);
  return most;
}

std::int64_t all_launches(const StepEvidence& e, Names parts) {
  std::int64_t all = 0;
  for (const auto& [name, count] : e.kernels)
    if (has_all(name, parts)) all += count;
  return all;
}

bool has_any(const std::string& name, Names parts) {
  return std::ranges::any_of(parts, [&](std::string_view part) { return name.find(part) != std::string::npos; });
}

/// Kernels that add up the parts of a product are none of their own.
std::int64_t products(const StepEvidence& e) {
  std::int64_t all = 0;
  for (const auto& [name, count] : e.kernels)
    if (has_any(name, {"nvjet", "gemm", "gemv", "cutlass"}) && !has_any(name, {"sdpa", "execute_split_k_kernel", "splitKreduce"})) all += count;
  return all;
}

}  // namespace

std::vector<std::string> differences(const plan::StepClaims& claims, const StepEvidence& evidence) {
  std::vector<std::string> out;
  if (evidence.captured != claims.captured) out.push_back(claims.captured ? "steps are not replayed as a CUDA graph" : "steps are replayed as a CUDA graph");
  if (evidence.kernels.empty()) return out;
  const auto expect = [&](std::int64_t seen, std::int64_t planned, const std::string& what, const std::string& because = "") {
    if (seen != planned) out.push_back(std::to_string(seen) + " launches of " + what + " in a step, " + std::to_string(planned) + " were planned" + because);
  };
  const std::string checkpointing = " (memory.activation_checkpoint: " + claims.activation_checkpoint + ")";
  expect(launches(evidence, {"sdpa", "fprop"}, {"attention_kernel", "7Forward"}), claims.attention_forward, "fused attention", checkpointing);
  expect(launches(evidence, {"sdpa", "bprop"}, {"attention_kernel", "16KeyValueGradient"}), claims.attention_backward, "fused attention's backward");
  const std::int64_t seen = products(evidence);
  if (claims.products_recomputed ? seen <= claims.matrix_products : seen != claims.matrix_products)
    out.push_back(std::to_string(seen) + " matrix products in a step, " + (claims.products_recomputed ? "more than " : "") + std::to_string(claims.matrix_products) + " were planned" +
                  checkpointing);
  // Selective recomputation shows in nothing else: whether GELU has a kernel of its own is up to what was measured.
  expect(all_launches(evidence, {"residual_layer_norm_kernel"}), all_launches(evidence, {"layer_norm_backward_kernel"}) + claims.norms_recomputed, "a norm's forward", checkpointing);
  if (all_launches(evidence, {claims.update, claims.weights}) == 0)
    out.push_back("no " + claims.update + " over " + claims.weights + " in a step: the exact weights that were asked for are not kept");
  if (claims.update_launches > 0) expect(all_launches(evidence, {claims.update, claims.weights}), claims.update_launches, "the optimizer", " (optimizer.update_in_backward: true)");
  if (const std::int64_t moved = std::min(evidence.bytes_to_host, evidence.bytes_from_host); moved < claims.offloaded_bytes)
    out.push_back(std::to_string(moved) + " bytes are copied to the host and back in a step, at least " + std::to_string(claims.offloaded_bytes) + " were planned (memory.activation_offload: cpu)");
  return out;
}

}  // namespace trainx::train
