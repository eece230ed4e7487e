#include "execute/attestation.hpp"
#include "operations/attention/attention_kernels_spec.hpp"
#include "operations/linear/product_kernels_spec.hpp"
#include "operations/norm/norm_kernels_spec.hpp"
#include <algorithm>
#include <vector>

namespace trainx::execute {
namespace {

using Names = std::vector<std::string_view>;

bool has_all(const std::string& name, const Names& parts) {
  return std::ranges::all_of(
      parts, [&](std::string_view part) { return name.find(part) != std::string::npos; });
}

std::int64_t all_launches(const CapturedKernels& e, const Names& parts) {
  std::int64_t all = 0;
  for (const auto& [name, count] : e.kernels)
    if (has_all(name, parts)) all += count;
  return all;
}

/// Launches of the kernel that stands for the work: of several whose names fit, the one launched
/// most (the others prepare or finish for it).
std::int64_t launches(const CapturedKernels& e, const Names& parts) {
  std::int64_t most = 0;
  for (const auto& [name, count] : e.kernels)
    if (has_all(name, parts)) most = std::max(most, count);
  return most;
}

/// May these kernels run, by what was asked for?
bool fits(const operations::FusedAttention& f, const plan::ExpectedKernels& expected) {
  return expected.documents == f.documents.value_or(expected.documents) &&
         std::ranges::count(f.kinds, expected.attention) > 0;
}

/// Of kernels with any of these names, none of which is part of another.
template <class Kernels>
std::int64_t launches_of_any(const CapturedKernels& e, const Kernels& names) {
  std::int64_t all = 0;
  for (const std::string_view name : names) all += all_launches(e, {name});
  return all;
}

template <class Parts>
bool has_any(const std::string& name, const Parts& parts) {
  return std::ranges::any_of(
      parts, [&](std::string_view part) { return name.find(part) != std::string::npos; });
}

bool is_product(const std::string& kernel) {
  return has_any(kernel, operations::product_kernels) &&
         !has_any(kernel, operations::not_product_kernels);
}

std::int64_t products(const CapturedKernels& e) {
  std::int64_t all = 0;
  for (const auto& [name, count] : e.kernels)
    if (is_product(name)) all += count;
  return all;
}

bool has_summed_products(const CapturedKernels& e) {
  return all_launches(e, {operations::summed_products_kernel}) > 0;
}

/// As far as names tell.
std::int64_t fp8_products(const CapturedKernels& e) {
  std::int64_t all = 0;
  for (const auto& [name, count] : e.kernels)
    if (is_product(name) && has_any(name, operations::fp8_product_kernels)) all += count;
  return all;
}

/// Of one direction of attention, by maker. Of a library's kernels the one launched most stands for
/// the work; trainx's are one each.
class AttentionLaunches {
 public:
  void add(const std::string& maker, std::int64_t most, std::int64_t all) {
    if (maker == "trainx")
      own_ += all;
    else
      library_ = std::max(library_, most), all_of_library_ = std::max(all_of_library_, all);
  }
  /// Where layers attend differently several of the library's kernels may share its work: then any
  /// number from the launches of one to those of all is what is missing of `planned`.
  std::int64_t counted(std::int64_t planned, bool mixed) const {
    const std::int64_t rest = planned - own_;
    return own_ + (mixed && library_ <= rest && rest <= all_of_library_ ? rest : library_);
  }

 private:
  std::int64_t own_ = 0, library_ = 0, all_of_library_ = 0;
};

}  // namespace

std::vector<std::string> differences(const plan::ExpectedKernels& expected,
                                     const CapturedKernels& found) {
  std::vector<std::string> out;
  if (found.captured != expected.captured)
    out.push_back(expected.captured ? "steps are not replayed as a CUDA graph"
                                    : "steps are replayed as a CUDA graph");
  if (found.kernels.empty()) return out;
  const auto expect = [&](std::int64_t seen, std::int64_t planned, const std::string& what,
                          const std::string& because = "") {
    if (seen != planned)
      out.push_back(std::to_string(seen) + " launches of " + what + " in a step, " +
                    std::to_string(planned) + " were planned" + because);
  };
  const std::string recomputing =
      " (memory.activation_checkpoint: " + expected.activation_checkpoint + ")";
  const std::string asked = " (model.attention: " + std::string(name_of(expected.attention)) +
                            (expected.documents ? ", data.packed: true)" : ")");
  AttentionLaunches forward, backward;
  for (const operations::FusedAttention& f : operations::fused_attention()) {
    const std::int64_t f_forward = launches(found, f.forward),
                       f_backward = launches(found, f.backward);
    if (fits(f, expected))
      forward.add(f.maker, f_forward, all_launches(found, f.forward)),
          backward.add(f.maker, f_backward, all_launches(found, f.backward));
    else
      expect(
          f_forward + f_backward, 0,
          f.maker + "'s fused attention" + (f.documents.value_or(false) ? " inside documents" : ""),
          asked);
  }
  const std::string kind =
      expected.attention == AttentionKind::automatic && !expected.documents ? "" : asked;
  expect(forward.counted(expected.attention_forward, expected.mixed_windows),
         expected.attention_forward, "fused attention", kind + recomputing);
  expect(backward.counted(expected.attention_backward, expected.mixed_windows),
         expected.attention_backward, "fused attention's backward", kind);
  const std::int64_t seen = products(found),
                     added = has_summed_products(found) ? expected.products_added : 0;
  if (expected.products_recomputed
          ? seen <= expected.matrix_products - added
          : seen > expected.matrix_products || seen < expected.matrix_products - added)
    out.push_back(std::to_string(seen) + " matrix products in a step, " +
                  (expected.products_recomputed ? "more than " : "") +
                  std::to_string(expected.matrix_products) + " were planned" + recomputing);
  const std::string in_fp8 = " (precision.products: " +
                             std::string(expected.fp8_products > 0 ? "fp8)" : "compute)");
  if (const std::int64_t told = fp8_products(found);
      told > expected.fp8_products && !(expected.products_recomputed && expected.fp8_products > 0))
    out.push_back(std::to_string(told) + " matrix products in fp8 in a step, " +
                  std::to_string(expected.fp8_products) + " were planned" + in_fp8);
  for (const bool blocks : {false, true}) {
    const std::int64_t casts = all_launches(found, {blocks ? operations::fp8_blocks_cast_kernel
                                                           : operations::fp8_cast_kernel}),
                       planned = blocks == expected.fp8_blocks ? expected.fp8_casts : 0;
    if (casts != planned)
      out.push_back(std::to_string(casts) + " casts to fp8" +
                    (blocks ? " with scales of blocks" : "") + " in a step, " +
                    std::to_string(planned) + " were planned" + in_fp8);
  }
  // Selective recomputation shows in nothing else: whether GELU has a kernel of its own is up to
  // what was measured.
  expect(launches_of_any(found, operations::norm_forward_kernels),
         launches_of_any(found, operations::norm_backward_kernels) + expected.norms_recomputed,
         "a norm's forward", recomputing);
  if (expected.host_updates > 0) {
    const std::string offloaded = " (memory.optimizer_offload)";
    if (!expected.updates_stay)
      expect(all_launches(found, {expected.update}), 0, "the optimizer on the GPU", offloaded);
    else if (all_launches(found, {expected.update, expected.weights}) == 0)
      out.push_back(
          "no " + expected.update + " over " + expected.weights +
          " in a step: no part of the optimizer stays on the GPU (memory.optimizer_offload.share)");
    if (found.host_updates != expected.host_updates)
      out.push_back(std::to_string(found.host_updates) + " updates on the host in a step, " +
                    std::to_string(expected.host_updates) + " were planned" + offloaded);
    if (const std::int64_t least = expected.offloaded_bytes + expected.gradients_out_bytes;
        found.bytes_to_host < least)
      out.push_back(std::to_string(found.bytes_to_host) +
                    " bytes are copied to the host in a step, at least " + std::to_string(least) +
                    " were planned" + offloaded);
    // out of fp32, into bf16
    if (const std::int64_t casts = all_launches(found, {"cast_kernel", "4Bf16Ef"});
        casts < expected.gradients_rounded)
      out.push_back(std::to_string(casts) + " gradients are rounded to bf16 in a step, at least " +
                    std::to_string(expected.gradients_rounded) +
                    " were planned (memory.optimizer_offload.gradients: bf16)");
    if (const std::int64_t least = expected.offloaded_bytes + expected.weights_back_bytes;
        found.bytes_from_host < least)
      out.push_back(std::to_string(found.bytes_from_host) +
                    " bytes are copied from the host in a step, at least " + std::to_string(least) +
                    " were planned" + offloaded);
  } else if (found.host_updates > 0) {
    out.push_back(std::to_string(found.host_updates) +
                  " updates on the host in a step, none were planned");
  } else if (all_launches(found, {expected.update, expected.weights}) == 0) {
    out.push_back("no " + expected.update + " over " + expected.weights +
                  " in a step: the exact weights that were asked for are not kept");
  }
  if (expected.parameters_in_bytes > 0) {
    const std::string away = std::string(" (memory.parameter_offload: ") +
                             (expected.weights_on_disk ? "disk)" : "cpu)");
    if (const std::int64_t least = expected.offloaded_bytes + expected.parameters_in_bytes;
        found.bytes_from_host < least)
      out.push_back(std::to_string(found.bytes_from_host) +
                    " bytes are copied from the host in a step, at least " + std::to_string(least) +
                    " were planned" + away);
    if (const std::int64_t least = expected.offloaded_bytes + expected.gradients_out_bytes +
                                   expected.parameters_out_bytes;
        found.bytes_to_host < least)
      out.push_back(std::to_string(found.bytes_to_host) +
                    " bytes are copied to the host in a step, at least " + std::to_string(least) +
                    " were planned" + away);
  }
  if (expected.update_launches > 0)
    expect(all_launches(found, {expected.update, expected.weights}), expected.update_launches,
           "the optimizer", " (optimizer.update_in_backward: true)");
  // NCCL names its kernels by what they do and with what: ncclDevKernel_AllReduce_Sum_bf16_RING_LL.
  if (!expected.summed.empty() &&
      all_launches(found, {"nccl", expected.sharded ? "ReduceScatter_Sum_" : "Reduce_Sum_",
                           expected.summed}) == 0)
    out.push_back("no sum of " + expected.summed +
                  " over ranks in a step (parallel.mode, precision.reduce)");
  if (expected.sharded && all_launches(found, {"nccl", "AllGather"}) == 0)
    out.push_back("no weights are gathered from other ranks in a step (parallel.mode)");
  if (expected.exchanged && all_launches(found, {"nccl", "SendRecv"}) == 0)
    out.push_back("no rows go to experts of other ranks in a step (parallel.experts)");
  if (const std::int64_t moved = std::min(found.bytes_to_host, found.bytes_from_host);
      moved < expected.offloaded_bytes)
    out.push_back(std::to_string(moved) +
                  " bytes are copied to the host and back in a step, at least " +
                  std::to_string(expected.offloaded_bytes) +
                  " were planned (memory.activation_offload: cpu)");
  return out;
}

}  // namespace trainx::execute
