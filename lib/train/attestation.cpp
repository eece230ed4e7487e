#include "train/attestation.hpp"
#include "operations/attention/attention_kernels_spec.hpp"
#include "operations/linear/product_kernels_spec.hpp"
#include "operations/norm/norm_kernels_spec.hpp"
#include <algorithm>
#include <vector>

namespace trainx::train {
namespace {

using Names = std::vector<std::string_view>;

bool has_all(const std::string& name, const Names& parts) {
  return std::ranges::all_of(
      parts, [&](std::string_view part) { return name.find(part) != std::string::npos; });
}

/// Launches of the kernel that stands for the work: of several whose names fit, the one launched
/// most (the others prepare or finish for it).
std::int64_t launches(const StepEvidence& e, const Names& parts) {
  std::int64_t most = 0;
  for (const auto& [name, count] : e.kernels)
    if (has_all(name, parts)) most = std::max(most, count);
  return most;
}

/// May these kernels run, by what was asked for?
bool fits(const operations::FusedAttention& f, const plan::StepClaims& claims) {
  return claims.documents == f.documents && std::ranges::count(f.kinds, claims.attention) > 0;
}

std::int64_t all_launches(const StepEvidence& e, const Names& parts) {
  std::int64_t all = 0;
  for (const auto& [name, count] : e.kernels)
    if (has_all(name, parts)) all += count;
  return all;
}

template <class Parts>
bool has_any(const std::string& name, const Parts& parts) {
  return std::ranges::any_of(
      parts, [&](std::string_view part) { return name.find(part) != std::string::npos; });
}

std::int64_t products(const StepEvidence& e) {
  std::int64_t all = 0;
  for (const auto& [name, count] : e.kernels)
    if (has_any(name, operations::product_kernels) &&
        !has_any(name, operations::not_product_kernels))
      all += count;
  return all;
}

}  // namespace

std::vector<std::string> differences(const plan::StepClaims& claims, const StepEvidence& evidence) {
  std::vector<std::string> out;
  if (evidence.captured != claims.captured)
    out.push_back(claims.captured ? "steps are not replayed as a CUDA graph"
                                  : "steps are replayed as a CUDA graph");
  if (evidence.kernels.empty()) return out;
  const auto expect = [&](std::int64_t seen, std::int64_t planned, const std::string& what,
                          const std::string& because = "") {
    if (seen != planned)
      out.push_back(std::to_string(seen) + " launches of " + what + " in a step, " +
                    std::to_string(planned) + " were planned" + because);
  };
  const std::string checkpointing =
      " (memory.activation_checkpoint: " + claims.activation_checkpoint + ")";
  const std::string asked = " (model.attention: " + std::string(name_of(claims.attention)) +
                            (claims.documents ? ", data.packed: true)" : ")");
  std::int64_t forward = 0, backward = 0;
  for (const operations::FusedAttention& f : operations::fused_attention()) {
    const std::int64_t f_forward = launches(evidence, f.forward),
                       f_backward = launches(evidence, f.backward);
    if (fits(f, claims))
      forward = std::max(forward, f_forward), backward = std::max(backward, f_backward);
    else
      expect(f_forward + f_backward, 0,
             f.maker + "'s fused attention" + (f.documents ? " inside documents" : ""), asked);
  }
  const std::string kind =
      claims.attention == AttentionKind::automatic && !claims.documents ? "" : asked;
  expect(forward, claims.attention_forward, "fused attention", kind + checkpointing);
  expect(backward, claims.attention_backward, "fused attention's backward", kind);
  const std::int64_t seen = products(evidence);
  if (claims.products_recomputed ? seen <= claims.matrix_products : seen != claims.matrix_products)
    out.push_back(std::to_string(seen) + " matrix products in a step, " +
                  (claims.products_recomputed ? "more than " : "") +
                  std::to_string(claims.matrix_products) + " were planned" + checkpointing);
  // Selective recomputation shows in nothing else: whether GELU has a kernel of its own is up to
  // what was measured.
  expect(all_launches(evidence, {operations::norm_forward_kernel}),
         all_launches(evidence, {operations::norm_backward_kernel}) + claims.norms_recomputed,
         "a norm's forward", checkpointing);
  if (claims.host_updates > 0) {
    const std::string offloaded = " (memory.optimizer_offload)";
    if (!claims.updates_stay)
      expect(all_launches(evidence, {claims.update}), 0, "the optimizer on the GPU", offloaded);
    else if (all_launches(evidence, {claims.update, claims.weights}) == 0)
      out.push_back(
          "no " + claims.update + " over " + claims.weights +
          " in a step: no part of the optimizer stays on the GPU (memory.optimizer_offload.share)");
    if (evidence.host_updates != claims.host_updates)
      out.push_back(std::to_string(evidence.host_updates) + " updates on the host in a step, " +
                    std::to_string(claims.host_updates) + " were planned" + offloaded);
    if (const std::int64_t least = claims.offloaded_bytes + claims.gradients_out_bytes;
        evidence.bytes_to_host < least)
      out.push_back(std::to_string(evidence.bytes_to_host) +
                    " bytes are copied to the host in a step, at least " + std::to_string(least) +
                    " were planned" + offloaded);
    // out of fp32, into bf16
    if (const std::int64_t casts = all_launches(evidence, {"cast_kernel", "4Bf16Ef"});
        casts < claims.gradients_rounded)
      out.push_back(std::to_string(casts) + " gradients are rounded to bf16 in a step, at least " +
                    std::to_string(claims.gradients_rounded) +
                    " were planned (memory.optimizer_offload.gradients: bf16)");
    if (const std::int64_t least = claims.offloaded_bytes + claims.weights_back_bytes;
        evidence.bytes_from_host < least)
      out.push_back(std::to_string(evidence.bytes_from_host) +
                    " bytes are copied from the host in a step, at least " + std::to_string(least) +
                    " were planned" + offloaded);
  } else if (evidence.host_updates > 0) {
    out.push_back(std::to_string(evidence.host_updates) +
                  " updates on the host in a step, none were planned");
  } else if (all_launches(evidence, {claims.update, claims.weights}) == 0) {
    out.push_back("no " + claims.update + " over " + claims.weights +
                  " in a step: the exact weights that were asked for are not kept");
  }
  if (claims.parameters_in_bytes > 0) {
    const std::string away = std::string(" (memory.parameter_offload: ") +
                             (claims.weights_on_disk ? "disk)" : "cpu)");
    if (const std::int64_t least = claims.offloaded_bytes + claims.parameters_in_bytes;
        evidence.bytes_from_host < least)
      out.push_back(std::to_string(evidence.bytes_from_host) +
                    " bytes are copied from the host in a step, at least " + std::to_string(least) +
                    " were planned" + away);
    if (const std::int64_t least = claims.offloaded_bytes + claims.gradients_out_bytes +
                                   claims.parameters_out_bytes;
        evidence.bytes_to_host < least)
      out.push_back(std::to_string(evidence.bytes_to_host) +
                    " bytes are copied to the host in a step, at least " + std::to_string(least) +
                    " were planned" + away);
  }
  if (claims.update_launches > 0)
    expect(all_launches(evidence, {claims.update, claims.weights}), claims.update_launches,
           "the optimizer", " (optimizer.update_in_backward: true)");
  // NCCL names its kernels by what they do and with what: ncclDevKernel_AllReduce_Sum_bf16_RING_LL.
  if (!claims.summed.empty() &&
      all_launches(evidence, {"nccl", claims.sharded ? "ReduceScatter_Sum_" : "Reduce_Sum_",
                              claims.summed}) == 0)
    out.push_back("no sum of " + claims.summed +
                  " over ranks in a step (parallel.mode, precision.reduce)");
  if (claims.sharded && all_launches(evidence, {"nccl", "AllGather"}) == 0)
    out.push_back("no weights are gathered from other ranks in a step (parallel.mode)");
  if (const std::int64_t moved = std::min(evidence.bytes_to_host, evidence.bytes_from_host);
      moved < claims.offloaded_bytes)
    out.push_back(
        std::to_string(moved) + " bytes are copied to the host and back in a step, at least " +
        std::to_string(claims.offloaded_bytes) + " were planned (memory.activation_offload: cpu)");
  return out;
}

}  // namespace trainx::train
