#include "core/hopper_kernels.hpp"
#include "attention_run.hpp"
#include "kernels/attention/document_attention.hpp"
#include "kernels/attention/grouped_attention.hpp"
#include <algorithm>
#include <cmath>
#include <memory>
#include <tuple>

namespace attention_test {

using namespace trainx;
using namespace trainx::gpu;
using namespace trainx::gpu::test;

TEST_CASE(
    "attention and its gradients equal the reference for all lengths, head sizes, masks and types",
    "[gpu]") {
  TRAINX_NEEDS_GPU();
  Attention attention;
  struct Size {
    std::int64_t batch, tokens, heads, head_size;
  };
  for (const Size s : {Size{3, 1, 2, 64},
                       {3, 2, 2, 64},
                       {3, 17, 3, 64},
                       {3, 64, 2, 80},
                       {2, 65, 2, 128},
                       {3, 130, 2, 36},
                       {1, 40, 1, 200},
                       {2, 512, 2, 80},
                       {1, 512, 2, 64},
                       {1, 1024, 1, 64},
                       {6, 130, 8, 64},
                       {9, 130, 8, 64},
                       {5, 160, 16, 32}})
    for (const bool causal : {false, true})
      for (const bool padded : {false, true}) {
        if (s.tokens >= 512 && causal == padded) continue;  // the reference takes seconds
        AttentionProblem p{s.batch,    s.tokens, s.heads, s.head_size,
                           DType::f32, causal,   padded,  false};
        Inputs in = inputs_of(p);
        const Results want = reference(p, in);
        padding_of(p, in).fill(in.d_out, 1000);  // reaches nothing
        check(p, in, computed<float>(attention, p, in), want, 3e-6);
        p.tf32 = true;
        check(p, in, computed<float>(attention, p, in), want, 2e-3);
        p.tf32 = false;
        p.dtype = DType::bf16;
        check(p, in, computed<Bf16>(attention, p, in), want, 6e-3);
        p.deterministic = true;
        check(p, in, computed<Bf16>(attention, p, in), want, 6e-3);
        p.dtype = DType::f16;
        check(p, in, computed<Fp16>(attention, p, in), want, 1e-3);
        p.deterministic = false;
        check(p, in, computed<Fp16>(attention, p, in), want, 1e-3);
      }
}

TEST_CASE(
    "attention inside documents is that of the kernels in all types, within the workspace that it "
    "asks for",
    "[gpu]") {
  TRAINX_NEEDS_GPU();
  Attention attention;
  AttentionProblem p{2, 300, 3, 64, DType::bf16, true, false, true};
  p.documents = true;
  const Inputs in = inputs_of(p);
  std::vector<std::int32_t> starts;
  for (std::int32_t t = 0; t < 600; ++t)
    starts.push_back(t < 300 ? (t < 90 ? 0 : t < 91 ? 90 : 91) : t < 430 ? 0 : -1);
  Results want{std::vector<float>(in.d_out.size()), std::vector<float>(2 * 3 * 300),
               std::vector<float>(in.qkv.size())};
  kernels::document_attention_reference(in.qkv.data(), starts.data(), in.d_out.data(),
                                        want.out.data(), want.lse.data(), want.d_qkv.data(),
                                        {p.batch, p.tokens, p.heads, p.head_size});
  const auto compare = [&]<class T>(T, DType type, double tolerance,
                                    AttentionPath path = AttentionPath::kernels) {
    p.dtype = type;
    REQUIRE(path_of(p) == path);
    const Workspace workspace(attention.backward_workspace_bytes(p));
    const OnDevice<T> qkv(narrowed<T>(in.qkv)), d_out(narrowed<T>(in.d_out)),
        out(narrowed<T>(in.d_out)), d_qkv(narrowed<T>(in.qkv));
    const OnDevice<float> lse(want.lse);
    const OnDevice<std::int32_t> seen(starts);
    attention.forward(p, {qkv.data(), seen.data()}, out.data(), lse.data(), workspace.space());
    attention.backward(p, {qkv.data(), seen.data()}, out.data(), lse.data(), d_out.data(),
                       {d_qkv.data()}, workspace.space());
    CHECK(relative_error(widened(out.host()), want.out) <= tolerance);
    CHECK(relative_error(lse.host(), want.lse) <= tolerance);
    CHECK(relative_error(widened(d_qkv.host()), want.d_qkv) <= 1.5 * tolerance);
  };
  compare(float{}, DType::f32, 3e-6);
  compare(Bf16{}, DType::bf16, 6e-3);
  compare(Fp16{}, DType::f16, 1e-3);
  p.compute_capability = attention.compute_capability();
  if (has_hopper_kernels && p.compute_capability == 90)
    compare(Bf16{}, DType::bf16, 6e-3, AttentionPath::hopper);
}

TEST_CASE("attention of grouped heads and windows equals the reference, whoever computes it",
          "[gpu]") {
  TRAINX_NEEDS_GPU();
  Attention attention;
  struct Size {
    std::int64_t batch, tokens, heads, of_keys, head_size, window;
    double soft_cap;
  };
  const auto compare = [&]<class T>(T, DType type, const Size& s, bool deterministic,
                                    double tolerance, int compute_capability = 0) {
    AttentionProblem p{s.batch, s.tokens, s.heads, s.head_size, type, true, false, deterministic};
    p.compute_capability = compute_capability;
    p.key_value_heads = s.of_keys;
    p.window = s.window;
    p.soft_cap = s.soft_cap;
    p.scale = s.tokens % 2 ? 0.07 : 0;
    INFO(describe(p) << " by " << name_of(path_of(p)));
    CHECK((path_of(p) == AttentionPath::hopper) ==
          (has_hopper_kernels && compute_capability == 90 && s.head_size <= 128));
    CHECK((path_of(p) == AttentionPath::kernels) ==
          (type == DType::f32 || s.soft_cap > 0 ||
           (s.head_size > 128 && compute_capability != 90) || s.tokens == 1));
    const std::int64_t rows = s.batch * s.tokens;
    const std::vector<float> qkv = kernels::random_values(rows * p.row(), 1),
                             d_out = kernels::random_values(rows * s.heads * s.head_size, 2);
    kernels::AttentionSize size{s.batch, s.tokens, s.heads, s.head_size, true};
    size.key_value_heads = s.of_keys, size.window = s.window;
    size.scale = p.scale, size.soft_cap = s.soft_cap;
    Results want{std::vector<float>(d_out.size()),
                 std::vector<float>(static_cast<std::size_t>(rows * s.heads)),
                 std::vector<float>(qkv.size())};
    kernels::grouped_attention_reference(qkv.data(), nullptr, d_out.data(), want.out.data(),
                                         want.lse.data(), want.d_qkv.data(), size);
    const Workspace workspace(
        std::max(attention.forward_workspace_bytes(p), attention.backward_workspace_bytes(p)));
    const OnDevice<T> x(narrowed<T>(qkv)), dy(narrowed<T>(d_out)),
        out(narrowed<T>(std::vector<float>(d_out.size(), 77))),
        d_x(narrowed<T>(std::vector<float>(qkv.size(), 77)));
    const OnDevice<float> lse(std::vector<float>(want.lse.size(), std::nanf("")));
    attention.forward(p, {x.data()}, out.data(), lse.data(), workspace.space());
    attention.backward(p, {x.data()}, out.data(), lse.data(), dy.data(), {d_x.data()},
                       workspace.space());
    CHECK(relative_error(widened(out.host()), want.out) <= tolerance);
    CHECK(relative_error(lse.host(), want.lse) <= tolerance);
    CHECK(relative_error(widened(d_x.host()), want.d_qkv) <= 1.5 * tolerance);
    const auto first = d_x.host();
    attention.backward(p, {x.data()}, out.data(), lse.data(), dy.data(), {d_x.data()},
                       workspace.space());
    if (deterministic) CHECK(kernels::same_bits(first, d_x.host()));
  };
  for (const Size& s : {Size{2, 17, 4, 2, 64, 0, 0},
                        {2, 64, 14, 2, 64, 0, 0},
                        {2, 130, 6, 2, 128, 50, 0},
                        {1, 300, 8, 1, 80, 128, 0},
                        {2, 256, 4, 4, 64, 32, 0},
                        {2, 64, 4, 2, 64, 8, 0},
                        {2, 129, 4, 2, 96, 200, 0},
                        {1, 200, 4, 2, 256, 64, 0},
                        {2, 100, 4, 2, 64, 40, 20}}) {
    compare(float{}, DType::f32, s, true, 3e-6);
    for (const bool deterministic : {false, true}) {
      compare(Bf16{}, DType::bf16, s, deterministic, 6e-3);
      compare(Fp16{}, DType::f16, s, deterministic, 1e-3);
    }
  }
  TRAINX_NEEDS_HOPPER();
  for (const Size& s : {Size{2, 256, 14, 2, 64, 0, 0},
                        {1, 301, 4, 2, 64, 0, 0},
                        {1, 420, 4, 4, 64, 0, 0},
                        {2, 257, 4, 2, 64, 100, 0},
                        {1, 420, 4, 4, 128, 500, 0},
                        {2, 256, 8, 2, 128, 0, 0},
                        {1, 301, 6, 1, 128, 0, 0},
                        {2, 301, 6, 2, 96, 0, 0},
                        {1, 300, 4, 1, 32, 90, 0},
                        {1, 300, 4, 1, 256, 0, 0},
                        {2, 301, 4, 2, 256, 120, 0}})
    compare(Bf16{}, DType::bf16, s, true, 6e-3, 90);
}

TEST_CASE("heads above 128 are cuDNN's on Hopper, and equal the reference", "[gpu]") {
  TRAINX_NEEDS_HOPPER();
  Attention attention;
  for (const auto& [tokens, head_size, causal] :
       {std::tuple{257, 256, true}, {64, 160, true}, {130, 192, false}, {300, 256, false}})
    for (const bool deterministic : {false, true})
      for (const bool padded : {false, true}) {
        AttentionProblem p{2, tokens, 2, head_size, DType::bf16, causal, padded, deterministic};
        p.compute_capability = 90;
        REQUIRE(path_of(p) == AttentionPath::cudnn);
        const Inputs in = inputs_of(p);
        check(p, in, computed<Bf16>(attention, p, in, deterministic ? 5 : 1), reference(p, in),
              6e-3);
      }
}

TEST_CASE("ten repeats of the deterministic backward have the same bits", "[gpu]") {
  TRAINX_NEEDS_GPU();
  Attention attention;
  for (const bool padded : {false, true}) {
    // 24 MiB of score gradients a sample: two calls of cuDNN, of 6 samples and of 5.
    const AttentionProblem p{11, 1024, 12, 64, DType::bf16, !padded, padded, true};
    const Inputs in = inputs_of(p);
    const Results strict = computed<Bf16>(attention, p, in, 10);
    AttentionProblem loose = p;
    loose.deterministic = false;
    const Results free = computed<Bf16>(attention, loose, in);
    CHECK(relative_error(strict.d_qkv, free.d_qkv) <= 6e-3);
    CHECK(relative_error(strict.out, free.out) == 0);
  }
  const AttentionProblem plain{4, 300, 3, 64, DType::f32, true, false, true};
  computed<float>(attention, plain, inputs_of(plain), 10);
}

TEST_CASE("what is not finite shows in attention", "[gpu]") {
  TRAINX_NEEDS_GPU();
  Attention attention;
  AttentionProblem p{1, 256, 1, 64, DType::f32, true, false, false};
  p.compute_capability = attention.compute_capability();
  Inputs in = inputs_of(p);
  in.qkv[static_cast<std::size_t>(70 * 192 + 3)] = std::nanf("");  // of query 70
  const auto out_of = [&](const Results& r, std::size_t t) { return r.out[t * 64]; };
  for (const DType type : {DType::f32, DType::bf16, DType::f16}) {
    p.dtype = type;
    const Results r = type == DType::f32   ? computed<float>(attention, p, in)
                      : type == DType::f16 ? computed<Fp16>(attention, p, in)
                                           : computed<Bf16>(attention, p, in);
    CHECK(std::isfinite(out_of(r, 69)));
    CHECK(std::isnan(out_of(r, 70)));
    CHECK(std::isfinite(out_of(r, 71)));
  }
}

TEST_CASE("a captured attention gives what the uncaptured one gave", "[gpu]") {
  TRAINX_NEEDS_GPU();
  Attention attention;
  cudaStream_t stream = nullptr;
  kernels::require_success(cudaStreamCreate(&stream), "stream");
  const auto compare = [&](const AttentionProblem& p) {
    INFO(describe(p) << " by " << name_of(path_of(p)));
    const Inputs in = inputs_of(p);
    const Workspace workspace(
        std::max(attention.forward_workspace_bytes(p), attention.backward_workspace_bytes(p)));
    StreamSpace space = workspace.space();
    space.stream = stream;
    const OnDevice<Bf16> qkv(narrowed<Bf16>(in.qkv)), d_out(narrowed<Bf16>(in.d_out)),
        out(narrowed<Bf16>(in.d_out)), d_qkv(narrowed<Bf16>(in.qkv));
    const OnDevice<float> lse(std::vector<float>(4 * 256 * 2));
    const OnDevice<std::int32_t> lengths(in.lengths);
    const std::int32_t* const given = p.padded ? lengths.data() : nullptr;
    const auto both = [&] {
      attention.forward(p, {qkv.data(), given}, out.data(), lse.data(), space);
      attention.backward(p, {qkv.data(), given}, out.data(), lse.data(), d_out.data(),
                         {d_qkv.data()}, space);
    };
    const auto forget = [&] {
      kernels::require_success(cudaMemset(out.data(), 0, in.d_out.size() * 2), "memset");
      kernels::require_success(cudaMemset(d_qkv.data(), 0, in.qkv.size() * 2), "memset");
    };
    both();
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t replay = nullptr;
    kernels::require_success(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
                             "capture");
    both();
    kernels::require_success(cudaStreamEndCapture(stream, &graph), "capture");
    kernels::require_success(cudaGraphInstantiate(&replay, graph, 0), "instantiate");
    // a padded one is replayed for batches of other lengths
    for (const std::vector<std::int32_t>& of_batch :
         {in.lengths, std::vector<std::int32_t>{256, 3, 130, 0}}) {
      if (p.padded)
        kernels::require_success(cudaMemcpy(lengths.data(), of_batch.data(),
                                            4 * sizeof(std::int32_t), cudaMemcpyDefault),
                                 "copy");
      forget();
      both();
      const auto want_out = out.host(), want_gradient = d_qkv.host();
      forget();
      kernels::require_success(cudaGraphLaunch(replay, stream), "launch");
      CHECK(kernels::same_bits(out.host(), want_out));
      CHECK(kernels::same_bits(d_qkv.host(), want_gradient));
    }
    cudaGraphExecDestroy(replay);
    cudaGraphDestroy(graph);
  };
  for (const int compute_capability : {0, attention.compute_capability()})
    for (const bool causal : {true, false})
      for (const bool padded : {false, true}) {
        if (causal && padded) continue;
        AttentionProblem p{4, 256, 2, 64, DType::bf16, causal, padded, true};
        p.compute_capability = compute_capability;
        compare(p);
      }
  cudaStreamDestroy(stream);
}

}  // namespace attention_test
