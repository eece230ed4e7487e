#include "kernels/attention/grouped_attention.hpp"
#include "gpu/grouped_attention_case.hpp"
#include "kernels/attention/cached_attention.hpp"
#include <algorithm>
#include <random>

namespace grouped_attention_test {

using namespace trainx::kernels;
using namespace trainx::kernels::grouped_case;

namespace {

Results reference(const Case& c, const Inputs& in) {
  Results r{std::vector<float>(in.d_out.size()),
            std::vector<float>(static_cast<std::size_t>(c.statistics())),
            std::vector<float>(in.qkv.size())};
  grouped_attention_reference(in.qkv.data(), c.starts.empty() ? nullptr : c.starts.data(),
                              in.d_out.data(), r.out.data(), r.lse.data(), r.d_qkv.data(), c.size);
  return r;
}

template <class T>
void both(const Operands<T>& on, const AttentionSize& size, cudaStream_t stream = nullptr) {
  const std::int32_t* const seen = on.has_documents ? on.starts.data() : nullptr;
  require_success(
      grouped_attention_forward(on.qkv.data(), seen, on.out.data(), on.lse.data(), size, stream),
      "grouped_attention_forward");
  require_success(
      grouped_attention_backward(on.qkv.data(), seen, on.out.data(), on.lse.data(), on.d_out.data(),
                                 on.d_qkv.data(), on.delta.data(),
                                 on.has_documents ? on.ends.data() : nullptr, size, stream),
      "grouped_attention_backward");
}

template <class T>
Results computed(const Case& c, const Inputs& in, bool tf32 = false, std::size_t shift = 0) {
  const Operands<T> on(c, in, shift);
  AttentionSize size = c.size;
  size.tf32 = tf32;
  both(on, size);
  return on.results();
}

void compare(const Case& c, unsigned seed, std::size_t shift = 0) {
  Inputs in = inputs_of(c, seed);
  const Results want = reference(c, in);
  // what padding holds reaches nothing
  const std::int64_t qkv_row = c.qkv_elements() / c.rows(), out_row = c.out_elements() / c.rows();
  for (std::size_t i = 0; i < in.qkv.size(); ++i)
    if (c.pads(static_cast<std::int64_t>(i) / qkv_row)) in.qkv[i] = std::nanf("");
  for (std::size_t i = 0; i < in.d_out.size(); ++i)
    if (c.pads(static_cast<std::int64_t>(i) / out_row)) in.d_out[i] = std::nanf("");
  check(c, computed<float>(c, in, false, shift), want, 3e-6, "fp32");
  check(c, computed<float>(c, in, true, shift), want, 2e-3, "tf32");
  check(c, computed<Bf16>(c, in, false, shift), want, 6e-3, "bf16");
  check(c, computed<Fp16>(c, in, false, shift), want, 1e-3, "fp16");
}

}  // namespace

TEST_CASE("grouped attention equals the reference for all head sizes and groups", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const unsigned seed = drawn_seed();
  for (const std::int64_t head : {1, 20, 36, 64, 80, 128, 136, 256})
    for (const std::int64_t group : {1, 2, 7}) {
      const std::int64_t K = group == 7 ? 1 : 2;
      compare({size_of(2, 70, K * group, K, head)}, seed, head % 3 == 1);
      compare({size_of(1, 131, K * group, K, head, 40)}, seed + 2, head % 3 == 2);
    }
}

TEST_CASE("grouped attention equals the reference for all lengths and windows", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const unsigned seed = drawn_seed();
  for (const std::int64_t tokens : {1, 2, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 200})
    for (const std::int64_t window : {0, 1, 2, 16, 31, 32, 33, 64, 100, 1000})
      compare({size_of(2, tokens, 4, 2, 64, window)}, seed);
  for (const std::int64_t tokens : {17, 65, 129})
    for (const std::int64_t window : {0, 16, 33})
      for (const std::int64_t head : {80, 160})
        compare({size_of(2, tokens, 4, 2, head, window)}, seed);
  compare({size_of(1, 1024, 3, 1, 64, 300)}, seed);
  compare({size_of(1, 700, 2, 1, 256, 128)}, seed);
  compare({size_of(9, 130, 16, 4, 64)}, seed);  // more blocks than multiprocessors
}

TEST_CASE("grouped attention equals the reference inside documents", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const unsigned seed = drawn_seed();
  for (unsigned k = 0; k < 24; ++k) {
    Case c{size_of(1 + k % 4, 1 + 23 * k, 4, k % 2 ? 2 : 1, k % 3 ? 64 : 112,
                   k % 4 == 3 ? 0 : 1 + 17 * (k % 7))};
    c.starts = random_starts(c.size, 1 + 20 * k, seed + k);
    if (k % 5 == 4) c.size.soft_cap = 3;
    compare(c, seed + k, k % 3 == 2);
  }
}

TEST_CASE("grouped attention equals the reference under soft caps and other scales", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const unsigned seed = drawn_seed();
  for (const double cap : {0.0, 0.5, 5.0, 50.0})
    for (const double scale : {0.0, 0.04, 1.0})
      for (const std::int64_t head : {64, 96, 256})
        for (const std::int64_t window : {0, 50}) {
          Case c{size_of(2, 90, 4, 2, head, window)};
          c.size.soft_cap = cap;
          c.size.scale = scale;
          compare(c, seed);
        }
}

namespace {

const std::vector<std::int64_t> positions_of_samples{7, std::int64_t{1} << 35, 0};

FusedDropout dropped_by(double probability, const std::int64_t* positions) {
  return {{probability, 0x123456789abcdefull, 5, 3}, positions, 1, 0};
}

template <class T>
void check_dropped(Case c, unsigned seed, double tolerance, const char* type, bool tf32 = false) {
  const OnDevice<std::int64_t> positions(positions_of_samples);
  c.size.dropout = dropped_by(0.3, positions_of_samples.data());
  const Inputs in = inputs_of(c, seed);
  const Results want = reference(c, in);
  c.size.dropout.positions = positions.data();
  check(c, computed<T>(c, in, tf32), want, tolerance, type);
}

void compare_dropped(const Case& c, unsigned seed) {
  check_dropped<float>(c, seed, 3e-6, "fp32 dropped");
  check_dropped<float>(c, seed, 2e-3, "tf32 dropped", true);
  check_dropped<Bf16>(c, seed, 6e-3, "bf16 dropped");
  check_dropped<Fp16>(c, seed, 1e-3, "fp16 dropped");
}

}  // namespace

TEST_CASE("grouped attention whose probabilities are dropped equals the reference", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const unsigned seed = drawn_seed();
  for (const std::int64_t head : {16, 64, 80, 136, 256})
    for (const std::int64_t tokens : {1, 33, 70, 131}) {
      compare_dropped({size_of(2, tokens, 4, 2, head)}, seed);
      compare_dropped({size_of(1, tokens, 3, 3, head, 21)}, seed + 1);
    }
  for (unsigned k = 0; k < 6; ++k) {
    Case c{size_of(1 + k % 3, 40 + 23 * k, 4, k % 2 ? 2 : 4, 64, k % 4 == 3 ? 0 : 1 + 17 * k)};
    c.starts = random_starts(c.size, 30, seed + k);
    if (k % 2) c.size.soft_cap = 3;
    compare_dropped(c, seed + k);
  }
}

TEST_CASE("attention of lengths whose probabilities are dropped equals the reference", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const unsigned seed = drawn_seed();
  const OnDevice<std::int64_t> positions(positions_of_samples);
  for (const bool causal : {false, true})
    for (const std::int64_t head : {20, 64, 128})
      for (const std::int64_t tokens : {5, 64, 100}) {
        Case c{size_of(3, tokens, 2, 2, head)};
        c.size.causal = causal;
        c.size.dropout = dropped_by(0.2, positions_of_samples.data());
        const Inputs in = inputs_of(c, seed);
        const std::vector<std::int32_t> lengths = sample_lengths(3, tokens, true);
        Results want{std::vector<float>(in.d_out.size()),
                     std::vector<float>(static_cast<std::size_t>(c.statistics())),
                     std::vector<float>(in.qkv.size())};
        attention_reference(in.qkv.data(), lengths.data(), in.d_out.data(), want.out.data(),
                            want.lse.data(), want.d_qkv.data(), c.size);
        c.size.dropout.positions = positions.data();
        const auto check_type = [&]<class T>(T, double tolerance, const char* type) {
          const Operands<T> on(c, in, 0);
          const OnDevice<std::int32_t> seen(lengths);
          require_success(attention_forward(on.qkv.data(), seen.data(), on.out.data(),
                                            on.lse.data(), c.size, nullptr),
                          "attention_forward");
          require_success(attention_backward(on.qkv.data(), seen.data(), on.out.data(),
                                             on.lse.data(), on.d_out.data(), on.d_qkv.data(),
                                             on.delta.data(), c.size, nullptr),
                          "attention_backward");
          check(c, on.results(), want, tolerance, type);
        };
        check_type(float{}, 3e-6, "fp32 of lengths");
        check_type(Bf16{}, 6e-3, "bf16 of lengths");
        check_type(Fp16{}, 1e-3, "fp16 of lengths");
      }
}

TEST_CASE("ten repeats of grouped attention have the same bits, captured too", "[gpu]") {
  TRAINX_NEEDS_GPU();
  Case c{size_of(4, 1024, 14, 2, 64, 500)};
  c.size.soft_cap = GENERATE(0, 30);
  if (GENERATE(false, true)) c.starts = random_starts(c.size, 400, 5);
  const Inputs in = inputs_of(c, 1);
  cudaStream_t stream = nullptr;
  require_success(cudaStreamCreate(&stream), "stream");
  {
    const Operands<Bf16> on(c, in, 0);
    both(on, c.size, stream);
    const Results first = on.results();
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t replay = nullptr;
    require_success(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
    both(on, c.size, stream);
    require_success(cudaStreamEndCapture(stream, &graph), "capture");
    require_success(cudaGraphInstantiate(&replay, graph, 0), "instantiate");
    for (int repeat = 0; repeat < 10; ++repeat) {
      require_success(cudaMemset(on.out.data(), 0x55, in.d_out.size() * 2), "memset");
      require_success(cudaMemset(on.d_qkv.data(), 0x55, in.qkv.size() * 2), "memset");
      require_success(cudaDeviceSynchronize(), "memset");
      if (repeat % 2)
        require_success(cudaGraphLaunch(replay, stream), "launch");
      else
        both(on, c.size, stream);
      const Results again = on.results();
      CHECK(same_bits(again.out, first.out));
      CHECK(same_bits(again.lse, first.lse));
      CHECK(same_bits(again.d_qkv, first.d_qkv));
    }
    cudaGraphExecDestroy(replay);
    cudaGraphDestroy(graph);
  }
  cudaStreamDestroy(stream);
}

TEST_CASE("what is not finite shows in the heads that see it", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const Case c{size_of(1, 128, 4, 2, 64, 20)};
  const auto check_nan = [&]<class T>(T) {
    Inputs in = inputs_of(c, 1);
    in.qkv[10 * 8 * 64 + 6 * 64 + 5] = std::nanf("");  // of the first head's value 10
    const Results r = computed<T>(c, in);
    const auto out = [&](std::size_t t, std::size_t head) {
      return r.out[(t * 4 + head) * 64 + 5];
    };
    for (const std::size_t t : {10u, 29u})
      CHECK((std::isnan(out(t, 0)) && std::isnan(out(t, 1)) && std::isfinite(out(t, 2))));
    // those before it may share a product with it, in which 0 * NaN is NaN
    CHECK(std::isfinite(out(127, 0)));
  };
  check_nan(float{});
  check_nan(Bf16{});
  check_nan(Fp16{});
}

TEST_CASE("grouped attention: nothing to do, and what cannot be done", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const auto forward = [](const AttentionSize& s) {
    return grouped_attention_forward(static_cast<const float*>(nullptr), nullptr, nullptr, nullptr,
                                     s, nullptr);
  };
  CHECK(forward(size_of(0, 5, 4, 2, 64)) == cudaSuccess);
  CHECK(forward(size_of(2, 0, 4, 2, 64)) == cudaSuccess);
  CHECK(forward(size_of(2, 5, 4, 3, 64)) == cudaErrorInvalidValue);
  CHECK(forward(size_of(2, 5, 4, 2, 257)) == cudaErrorInvalidValue);
  CHECK(forward(size_of(2, 5, 4, 2, 64, -1)) == cudaErrorInvalidValue);
}

namespace {

template <class T>
void check_cached(const CachedAttentionSize& s, std::size_t shift, unsigned seed) {
  INFO("past " << s.past << " rows " << s.rows << " H " << s.heads << " K " << s.key_value_heads
               << " D " << s.head_size << " window " << s.window << " cap " << s.soft_cap);
  const std::int64_t tokens = s.past + s.rows, width = s.heads * s.head_size;
  AttentionSize whole = size_of(1, tokens, s.heads, s.key_value_heads, s.head_size, s.window);
  whole.scale = s.scale, whole.soft_cap = s.soft_cap;
  const std::vector<T> qkv =
      random_elements<T>(tokens * (s.heads + 2 * s.key_value_heads) * s.head_size, seed, 1.5F);
  std::vector<float> out(static_cast<std::size_t>(tokens * width)),
      lse(static_cast<std::size_t>(s.heads * tokens));
  grouped_attention_reference(widened(qkv).data(), starts_of_last_rows(s.past, s.rows).data(),
                              nullptr, out.data(), lse.data(), nullptr, whole);
  std::vector<T> want(static_cast<std::size_t>(s.rows * width));
  for (std::size_t i = 0; i < want.size(); ++i)
    narrow(out[static_cast<std::size_t>(s.past * width) + i], want[i]);
  const OnDevice<T> in(qkv, shift), got(std::vector<T>(want.size()), shift);
  require_success(cached_attention(in.data(), got.data(), s, nullptr), "cached_attention");
  check_close(got.host(), want, rounding<T>, 4 * rounding<T>, "out");
}

}  // namespace

TEST_CASE("grouped attention over a cache is that of the last rows of the whole", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const unsigned seed = drawn_seed();
  const std::int64_t head = GENERATE(16, 64, 112, 256), group = GENERATE(1, 3);
  for (const std::int64_t past : {1, 4, 127, 300})
    for (const std::int64_t rows : {1, 5})
      for (const std::int64_t window : {0, 1, 3, 130, 1000})
        for (const double cap : {0.0, 4.0}) {
          CachedAttentionSize s{past, rows, 2 * group, head, 2, window};
          s.soft_cap = cap;
          s.scale = cap > 0 ? 0.3 : 0;
          check_cached<float>(s, 0, seed);
          check_cached<Bf16>(s, 1, seed);
          check_cached<Fp16>(s, 0, seed);
        }
}

}  // namespace grouped_attention_test
