// Attention by Hopper's own instructions.
#include "attention_run.hpp"
#include "core/hopper_kernels.hpp"
#include <tuple>

namespace hopper_attention_test {

using namespace trainx;
using namespace trainx::gpu;
using namespace trainx::gpu::test;

TEST_CASE("attention by Hopper's own instructions equals the reference and repeats to the bit",
          "[gpu]") {
  TRAINX_NEEDS_HOPPER();
  if (!has_hopper_kernels) TRAINX_SKIP("built without kernels for Hopper");
  Attention attention;
  for (const auto& [tokens, heads, head_size] : {std::tuple{256, 3, 64},
                                                 {257, 2, 64},
                                                 {1000, 1, 64},
                                                 {300, 2, 128},
                                                 {513, 1, 128},
                                                 {300, 3, 8},
                                                 {257, 2, 40},
                                                 {300, 2, 72},
                                                 {513, 2, 96},
                                                 {256, 1, 120}}) {
    AttentionProblem p{3, tokens, heads, head_size, DType::bf16, true};
    p.compute_capability = 90;
    REQUIRE(path_of(p) == AttentionPath::hopper);
    const Inputs in = inputs_of(p);
    check(p, in, computed<Bf16>(attention, p, in, 20), reference(p, in), 6e-3);
  }
}

TEST_CASE("attention that sums columns writes the same gradients, and their sums", "[gpu]") {
  TRAINX_NEEDS_HOPPER();
  if (!has_hopper_kernels) TRAINX_SKIP("built without kernels for Hopper");
  Attention attention;
  for (const auto& [tokens, heads, causal] :
       {std::tuple{256, 3, true}, {257, 2, true}, {1000, 1, false}, {256, 2, false}}) {
    AttentionProblem p{3, tokens, heads, 64, DType::bf16, causal};
    p.compute_capability = 90;
    REQUIRE(can_sum_columns(p));
    const Inputs in = inputs_of(p);
    const Results plain = computed<Bf16>(attention, p, in);
    p.column_sums = true;
    INFO(describe(p));
    const Workspace workspace(
        std::max(attention.forward_workspace_bytes(p), attention.backward_workspace_bytes(p)));
    const OnDevice<Bf16> qkv(narrowed<Bf16>(in.qkv)), d_out(narrowed<Bf16>(in.d_out)),
        out(narrowed<Bf16>(plain.out)), d_qkv(narrowed<Bf16>(in.qkv));
    const OnDevice<float> lse(plain.lse);
    const AttentionColumnSums at = column_sums_in(workspace.space().workspace, p);
    const std::int64_t columns = p.heads * p.head_size;
    std::vector<float> first;
    for (int repeat = 0; repeat < 3; ++repeat) {
      kernels::require_success(
          cudaMemset(workspace.space().workspace, 0xff,
                     static_cast<std::size_t>(workspace.space().workspace_bytes)),
          "memset");
      attention.backward(p, {qkv.data(), nullptr}, out.data(), lse.data(), d_out.data(),
                         {d_qkv.data()}, workspace.space());
      const std::vector<float> got = widened(d_qkv.host());
      CHECK(got == plain.d_qkv);
      std::vector<float> slabs(
          static_cast<std::size_t>((at.query_slabs + 2 * at.key_slabs) * columns));
      kernels::require_success(cudaMemcpy(slabs.data(), at.queries, slabs.size() * sizeof(float),
                                          cudaMemcpyDeviceToHost),
                               "sums");
      if (repeat == 0) first = slabs;
      CHECK(slabs == first);
      for (std::int64_t c = 0; c < 3 * columns; ++c) {
        const bool of_queries = c < columns;
        const std::int64_t width = of_queries ? columns : 2 * columns,
                           from = of_queries ? c : at.query_slabs * columns + c - columns;
        double sum = 0, want = 0, squares = 0;
        for (std::int64_t s = 0; s < (of_queries ? at.query_slabs : at.key_slabs); ++s)
          sum += slabs[static_cast<std::size_t>(from + s * width)];
        for (std::int64_t row = 0; row < p.batch * p.tokens; ++row) {
          const double x = got[static_cast<std::size_t>(row * 3 * columns + c)];
          want += x, squares += x * x;
        }
        // these are sums of rounded elements
        if (!(std::abs(sum - want) <= 0.01 * std::sqrt(squares) + 1e-4))
          FAIL("column " << c << ": " << sum << " for " << want);
      }
    }
  }
}

TEST_CASE(
    "attention of encoders by Hopper's own instructions equals the reference, padded or not, and "
    "repeats to the bit",
    "[gpu]") {
  TRAINX_NEEDS_HOPPER();
  if (!has_hopper_kernels) TRAINX_SKIP("built without kernels for Hopper");
  Attention attention;
  for (const std::int32_t tokens : {128, 197, 256, 384, 500, 512}) {
    // around tiles of 64 queries and 128 keys; whole rows, and samples that are padding alone
    const std::vector<std::int32_t> lengths{1, tokens, 0, 64, 65, tokens - 1, 127, tokens * 2 / 3};
    AttentionProblem p{static_cast<std::int64_t>(lengths.size()), tokens, 1, 64, DType::bf16};
    p.compute_capability = 90;
    for (const bool padded : {false, true}) {
      p.padded = padded;
      REQUIRE(path_of(p) == AttentionPath::hopper);
      Inputs in = inputs_of(p);
      if (padded) in.lengths = lengths;
      const Results want = reference(p, in);
      fill_padding(p, in, 1000);
      check(p, in, computed<Bf16>(attention, p, in, 20), want, 6e-3);
    }
  }
  for (const std::int64_t head_size : {24, 48, 56}) {
    AttentionProblem p{3, 300, 2, head_size, DType::bf16};
    p.padded = true, p.compute_capability = 90;
    REQUIRE(path_of(p) == AttentionPath::hopper);
    Inputs in = inputs_of(p);
    const Results want = reference(p, in);
    fill_padding(p, in, 1000);
    check(p, in, computed<Bf16>(attention, p, in, 5), want, 6e-3);
  }
  // more blocks than run at once, beside cuDNN
  AttentionProblem p{16, 512, 12, 64, DType::bf16, false, true, true};
  Inputs in = inputs_of(p);
  for (std::size_t b = 0; b < in.lengths.size(); ++b)
    in.lengths[b] = static_cast<std::int32_t>(17 + 33 * b);
  const Results of_cudnn = computed<Bf16>(attention, p, in);
  p.compute_capability = 90;
  check(p, in, computed<Bf16>(attention, p, in, 20), of_cudnn, 6e-3);
}

TEST_CASE("lengths that leave nothing out change no bit of an encoder's attention", "[gpu]") {
  TRAINX_NEEDS_HOPPER();
  if (!has_hopper_kernels) TRAINX_SKIP("built without kernels for Hopper");
  Attention attention;
  for (const std::int64_t tokens : {130, 512}) {
    AttentionProblem p{7, tokens, 12, 64, DType::bf16};
    p.compute_capability = 90;
    const Inputs in = inputs_of(p);
    const Results whole = computed<Bf16>(attention, p, in);
    p.padded = true;
    const Results counted = computed<Bf16>(attention, p, in);
    CHECK(counted.out == whole.out);
    CHECK(counted.lse == whole.lse);
    CHECK(counted.d_qkv == whole.d_qkv);
  }
}

}  // namespace hopper_attention_test
