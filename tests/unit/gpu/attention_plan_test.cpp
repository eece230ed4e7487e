#include "core/hopper_kernels.hpp"
#include "gpu/attention.hpp"
#include "operations/attention/attention_gpu_spec.hpp"
#include "support/catch.hpp"

namespace attention_plan_test {

using namespace trainx;

namespace {

/// As lib/operations/attention asks the GPU for it.
gpu::AttentionProblem problem_of(const operations::Attention& a, DType compute) {
  gpu::AttentionProblem p;
  p.batch = a.batch, p.tokens = a.length, p.heads = a.query_heads, p.head_size = a.head_size;
  p.dtype = compute;
  p.causal = a.mask != operations::AttentionMask::lengths;
  p.documents = a.mask == operations::AttentionMask::documents;
  p.key_value_heads = a.key_value_heads, p.window = a.window;
  p.scale = a.scale, p.soft_cap = a.soft_cap;
  p.dropped = a.dropout > 0;
  p.biased = a.alibi || a.has_sinks || a.bias.buckets > 0;
  p.sinks_alone = a.has_sinks && !a.alibi && a.bias.buckets == 0;
  p.memory_tokens = a.memory_length;
  p.compute_capability = a.compute_capability;
  return p;
}

std::vector<operations::Attention> kinds() {
  using operations::Attention;
  using operations::AttentionMask;
  std::vector<Attention> all;
  for (const auto mask :
       {AttentionMask::causal, AttentionMask::lengths, AttentionMask::documents}) {
    all.push_back({.mask = mask});
    all.push_back({.mask = mask, .scale = 1});
    all.push_back({.mask = mask, .window = 9});
    all.push_back({.mask = mask, .dropout = 0.1});
    all.push_back({.mask = mask, .alibi = true});
    all.push_back({.mask = mask, .window = 9, .has_sinks = true});
    all.push_back({.mask = mask, .bias = {.buckets = 32, .max_distance = 128}});
    all.push_back({.value_size = 32, .mask = mask});
  }
  all.push_back({.dropout = 0.1, .has_sinks = true});
  all.push_back({.soft_cap = 30});
  all.push_back({.mask = AttentionMask::lengths, .memory_length = 70});
  return all;
}

}  // namespace

TEST_CASE("plans of attention name who computes it and hold what it works in") {
  for (operations::Attention a : kinds())
    for (const std::int64_t head : {36, 40, 64, 96, 128, 200, 256})
      for (const std::int64_t length : {1, 2, 127, 128, 129, 255, 257, 2048, 2049})
        for (const std::int64_t keys : {2, 6})
          for (const DType compute : {DType::f32, DType::bf16, DType::f16})
            for (const bool deterministic : {false, true}) {
              if (head > 128 && a.bias.buckets > 0) continue;  // has no kernel
              a.head_size = head, a.length = length, a.batch = 3;
              a.query_heads = 6, a.key_value_heads = keys;
              a.compute_capability = length == 129 ? 80 : 90;
              gpu::AttentionProblem p = problem_of(a, compute);
              p.deterministic = deterministic;
              CAPTURE(gpu::describe(p), a.value_size);
              REQUIRE(a.has_gpu_kernel({}));
              p.value_size = a.value_size;
              gpu::Attention attention;
              const std::int64_t planned =
                  operations::gpu_workspace_bytes(a, compute, deterministic, 2048);  // gaps
              const gpu::AttentionPath path = gpu::path_of(p);
              CHECK(operations::is_by_hopper(a, compute) == (path == gpu::AttentionPath::hopper));
              CHECK(operations::is_by_cudnn(a, compute) == (path == gpu::AttentionPath::cudnn));
              // a batch's padding is known when it comes: one plan holds batches with it and
              // without
              gpu::AttentionProblem padded = p;
              padded.padded = a.mask == operations::AttentionMask::lengths;
              CHECK(gpu::path_of(padded) == path);
              // cuDNN says on a GPU alone what it needs
              if (path == gpu::AttentionPath::cudnn) continue;
              for (const gpu::AttentionProblem& either : {p, padded}) {
                CHECK(attention.forward_workspace_bytes(either) <= planned);
                CHECK(attention.backward_workspace_bytes(either) <= planned);
              }
              // an evaluation drops nothing, by kernels that may be others
              gpu::AttentionProblem evaluated = padded;
              evaluated.dropped = false;
              if (gpu::path_of(evaluated) != gpu::AttentionPath::cudnn)
                CHECK(attention.forward_workspace_bytes(evaluated) <= planned);
            }
}

TEST_CASE("plans of attention by Hopper's kernels hold sinks and what is between them") {
  // one head of keys: what Hopper's kernels work in is more than what others do
  operations::Attention a{.has_sinks = true};
  a.key_value_heads = 1, a.compute_capability = 90;
  for (const std::int64_t heads : {6, 64, 65})
    for (const std::int64_t head : {40, 64, 72, 128})
      for (const std::int64_t length : {256, 257, 2049})
        for (const std::int64_t batch : {1, 3}) {
          a.query_heads = heads, a.head_size = head, a.length = length, a.batch = batch;
          const gpu::AttentionProblem p = problem_of(a, DType::bf16);
          if (gpu::path_of(p) != gpu::AttentionPath::hopper) continue;
          CAPTURE(gpu::describe(p));
          gpu::Attention attention;
          const std::int64_t planned = operations::gpu_workspace_bytes(a, DType::bf16, false, 0);
          CHECK(attention.forward_workspace_bytes(p) <= planned);
          CHECK(attention.backward_workspace_bytes(p) <= planned);
        }
}

TEST_CASE("encoders' attention costs what kernels for Hopper take, wherever these compute it") {
  operations::Attention a{.head_size = 64, .batch = 3, .mask = operations::AttentionMask::lengths};
  a.query_heads = a.key_value_heads = 6;
  a.compute_capability = 90;
  const auto is_by_hopper = [&](std::int64_t length, DType compute = DType::bf16) {
    a.length = length;
    operations::Types types;
    types.compute = compute, types.gpu = true;
    types.inputs = {{compute, {a.batch * length, 3 * 6 * 64}}, {DType::i32, {a.batch}}};
    const auto cost = a.cost(operations::Direction::backward, types).attention;
    REQUIRE(cost);
    CHECK_FALSE(cost->causal);
    CHECK(cost->hopper == operations::is_by_hopper(a, compute));
    return cost->hopper;
  };
  CHECK(is_by_hopper(128) == has_hopper_kernels);
  CHECK(is_by_hopper(512) == has_hopper_kernels);
  CHECK_FALSE(is_by_hopper(127));
  CHECK_FALSE(is_by_hopper(512, DType::f16));
  a.kind = AttentionKind::cudnn;
  CHECK_FALSE(is_by_hopper(512));
  CHECK(operations::is_by_cudnn(a, DType::bf16));
}

}  // namespace attention_plan_test
