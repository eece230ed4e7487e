// What attention says that it costs, against a count of the keys that are seen.
#include "operations/attention/attention_spec.hpp"
#include "support/catch.hpp"
#include <cstdlib>

namespace attention_cost_test {

using namespace trainx;
using namespace trainx::operations;

TEST_CASE("attention's products are as many as its queries see keys") {
  const auto mask =
      GENERATE(AttentionMask::causal, AttentionMask::lengths, AttentionMask::documents);
  const std::int64_t length = GENERATE(1, 2, 9, 64), window = GENERATE(0, 1, 3, 9, 100),
                     value_size = GENERATE(0, 2);
  const Attention a{.query_heads = 4,
                    .key_value_heads = 2,
                    .head_size = 8,
                    .batch = 3,
                    .length = length,
                    .value_size = value_size,
                    .mask = mask,
                    .window = window};
  std::int64_t pairs = 0;
  for (std::int64_t q = 0; q < length; ++q)
    for (std::int64_t k = 0; k < length; ++k)
      pairs += (mask == AttentionMask::lengths || k <= q) &&
               (window == 0 || std::abs(q - k) < window);
  const Types types{.inputs = {{DType::f32, {3 * length, a.columns()}}}};
  const auto flops = [&](std::int64_t elements) {
    return static_cast<double>(2 * 3 * 4 * elements * pairs);
  };
  const std::int64_t V = a.values();
  CHECK(a.cost(Direction::forward, types).attention->flops == flops(8 + V));
  CHECK(a.cost(Direction::backward, types).attention->flops == flops(3 * 8 + 2 * V));
}

TEST_CASE("a query of another text sees the whole memory") {
  const Attention a{
      .head_size = 2, .batch = 2, .length = 3, .mask = AttentionMask::lengths, .memory_length = 5};
  Types types{.inputs = std::vector<TensorType>(4)};
  types.inputs[Attention::qkv] = {DType::f32, {6, a.columns()}};
  types.inputs[Attention::memory] = {DType::f32, {10, a.key_value_columns()}};
  CHECK(a.columns() == 2);
  CHECK(a.cost(Direction::forward, types).attention->flops == 2 * 2 * (2 + 2) * 3 * 5);
}

TEST_CASE("GPUs have kernels for windows, biases, sinks, another text and narrow values") {
  const auto on_gpu = [](Attention a) {
    a.query_heads = a.key_value_heads = 2, a.head_size = 64;
    return a.has_gpu_kernel({});
  };
  CHECK(on_gpu({}));
  CHECK(on_gpu({.mask = AttentionMask::lengths}));
  CHECK(on_gpu({.window = 8}));
  CHECK(on_gpu({.mask = AttentionMask::documents, .window = 8}));
  CHECK(on_gpu({.mask = AttentionMask::lengths, .dropout = 0.1}));
  CHECK(on_gpu({.mask = AttentionMask::lengths, .window = 8}));
  CHECK(on_gpu({.alibi = true}));
  CHECK(on_gpu({.window = 8, .has_sinks = true}));
  CHECK(on_gpu({.bias = {.buckets = 8, .max_distance = 16}}));
  CHECK(on_gpu({.mask = AttentionMask::lengths, .memory_length = 4}));
  CHECK(on_gpu({.value_size = 32}));
  CHECK_FALSE(on_gpu({.value_size = 96}));
  CHECK_FALSE(on_gpu({.mask = AttentionMask::lengths, .soft_cap = 30}));
  CHECK_FALSE(on_gpu({.soft_cap = 30, .alibi = true}));
  CHECK_FALSE(on_gpu({.bias = {.buckets = 64, .max_distance = 128}}));
  CHECK_FALSE(on_gpu({.value_size = 32, .mask = AttentionMask::lengths, .memory_length = 4}));
}

}  // namespace attention_cost_test
