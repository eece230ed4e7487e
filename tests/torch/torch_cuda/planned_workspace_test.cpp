// What math attention allocates, one piece after the other as it does on a GPU, finds room in the
// workspace that is planned for it there.
#include "gpu/first_fit.hpp"
#include "operations/attention/attention.hpp"
#include "architectures/library_bytes.hpp"
#include "operations/attention/attention_gpu_spec.hpp"
#include "tensor/torch_view.hpp"
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <c10/core/CPUAllocator.h>
#include <stdexcept>
#include <vector>
#include "support/catch.hpp"

namespace planned_workspace_test {

using namespace trainx;

namespace {

gpu::FirstFit* fit = nullptr;

/// LibTorch's memory for CPU tensors, out of a workspace.
class InWorkspace final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t n) override {
    void* const p = n == 0 ? nullptr : fit->take(static_cast<std::int64_t>(n));
    if (n > 0 && !p)
      throw std::runtime_error("the workspace has no piece of " + std::to_string(n) +
                               " bytes left");
    return {p, p, raw_deleter(), c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override {
    return [](void* p) { fit->give(p); };
  }
  void copy_data(void* to, const void* from, std::size_t n) const override {
    default_copy_data(to, from, n);
  }
};

/// Forward and backward of B rows of T tokens and H heads of D elements.
void check_room(at::ScalarType type, bool causal, std::int64_t B, std::int64_t T, std::int64_t H,
                std::int64_t D) {
  INFO(c10::toString(type) << (causal ? " causal " : " padded ") << B << " x " << T << " x " << H
                           << " x " << D);
  const at::Tensor
      qkv = at::randn({B, T, 3, H, D}, at::detail::createCPUGenerator(1), at::kFloat).to(type),
      d_out = at::randn({B, T, H, D}, at::detail::createCPUGenerator(2), at::kFloat).to(type);
  const at::Tensor out = at::full({B, T, H, D}, 7, type), lse = at::full({B, T, H}, 7, at::kFloat),
                   d_qkv = at::full({B, T, 3, H, D}, 7, type),
                   lengths = at::full({B}, T - 3, at::kInt);
  const std::int64_t planned =
      architectures::gpu_library_bytes({.micro_batch_size = B,
                                        .length = T,
                                        .compute = tensor::dtype(type),
                                        .attention = {{.query_heads = H,
                                                       .key_value_heads = H,
                                                       .head_size = D,
                                                       .batch = B,
                                                       .length = T,
                                                       .kind = AttentionKind::math}}},
                                       false) -
      operations::kept_product_bytes;
  std::vector<std::byte> memory(static_cast<std::size_t>(planned) + 512);
  gpu::FirstFit workspace(
      reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(memory.data()) + 511) / 512 * 512),
      planned);
  fit = &workspace;
  InWorkspace in_workspace;
  c10::Allocator* const usual = c10::GetCPUAllocator();
  c10::SetCPUAllocator(&in_workspace, 255);
  std::string problem;
  try {
    if (causal) {
      operations::causal_attention(out, lse, qkv, AttentionKind::math);
      operations::causal_attention_backward(d_qkv, d_out, qkv, out, lse, AttentionKind::math);
    } else {
      operations::bidirectional_attention(out, lse, qkv, lengths, AttentionKind::math);
      operations::bidirectional_attention_backward(d_qkv, d_out, qkv, out, lse, lengths,
                                                   AttentionKind::math);
    }
  } catch (const std::exception& e) { problem = e.what(); }
  c10::SetCPUAllocator(usual, 255);
  CHECK(problem == "");
  CHECK(workspace.blocks() == 0);
}

}  // namespace

TEST_CASE("math attention finds room in a GPU's workspace for all that it allocates") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16, at::kHalf);
  const bool causal = GENERATE(true, false);
  const auto [B, T, H, D] = GENERATE(table<std::int64_t, std::int64_t, std::int64_t, std::int64_t>(
      {{4, 256, 12, 64}, {16, 48, 4, 128}, {1, 1000, 4, 64}}));
  check_room(type, causal, B, T, H, D);
}

TEST_CASE("math attention of whole batches finds room too", "[slow]") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16, at::kHalf);
  const bool causal = GENERATE(true, false);
  const auto [B, T, H, D] = GENERATE(table<std::int64_t, std::int64_t, std::int64_t, std::int64_t>(
      {{8, 256, 12, 64}, {64, 48, 4, 128}, {2, 1024, 4, 64}, {8, 1000, 12, 64}}));
  check_room(type, causal, B, T, H, D);
}

}  // namespace planned_workspace_test
