// Attention whose scores have biases by distance, and sinks.
#include "kernels/attention/biased_attention.hpp"
#include "gpu/grouped_attention_case.hpp"
#include <climits>
#include <cmath>

namespace biased_attention_test {

using namespace trainx::kernels;
using namespace trainx::kernels::grouped_case;

namespace {

const std::vector<std::int64_t> positions_of_samples{7, std::int64_t{1} << 35, 0};

/// What is added to scores, on the host.
struct Beside {
  DistanceBuckets buckets = {};
  std::vector<float> table = {};   // [count, H]
  std::vector<float> slopes = {};  // [H], of ALiBi
  std::vector<float> sinks = {};   // [H]

  bool by_distance() const { return !table.empty() || !slopes.empty(); }
  int bucket_of(std::int64_t distance) const {
    const bool behind = buckets.both_sides && distance > 0;
    const std::int64_t far = behind ? distance : std::max<std::int64_t>(0, -distance);
    int bucket = 0;
    for (int k = 0; k < buckets.of_side(); ++k)
      if (buckets.from[k] <= far) bucket = k;
    return bucket + (behind ? buckets.of_side() : 0);
  }
  /// [H, 2 T - 1].
  std::vector<float> expanded(std::int64_t tokens, std::int64_t heads) const {
    std::vector<float> all;
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t distance = 1 - tokens; distance < tokens; ++distance) {
        const auto head = static_cast<std::size_t>(h);
        float bias = 0;
        if (!table.empty())
          bias += table[static_cast<std::size_t>(bucket_of(distance) * heads + h)];
        if (!slopes.empty()) bias -= slopes[head] * static_cast<float>(std::abs(distance));
        all.push_back(bias);
      }
    return all;
  }
};

/// As T5 has them, of few distances.
DistanceBuckets some_buckets(bool both_sides) {
  DistanceBuckets b;
  b.both_sides = both_sides;
  b.count = both_sides ? 14 : 7;
  const std::int32_t from[] = {0, 1, 2, 4, 9, 40, INT_MAX};
  std::copy(std::begin(from), std::end(from), b.from);
  return b;
}

Beside learned(bool both_sides, std::int64_t heads, unsigned seed) {
  Beside beside{some_buckets(both_sides)};
  beside.table = random_values(beside.buckets.count * heads, seed + 2);
  return beside;
}

struct All : Results {
  std::vector<float> d_table, d_sinks;
  double sink_terms = 0;  // the norm of what d_sinks are sums of
};

/// A sink's gradient sums terms of either sign, and four sums may all come out small: errors are
/// measured beside this norm then.
double norm_of_sink_terms(const Case& c, const Inputs& in, const Results& r,
                          const std::vector<float>& sinks) {
  const std::int64_t heads = c.size.heads, tokens = c.size.tokens, D = c.size.head_size;
  double squares = 0;
  for (std::int64_t row = 0; row < c.rows(); ++row)
    for (std::int64_t h = 0; h < heads && !sinks.empty(); ++h) {
      const auto lse = (row / tokens * heads + h) * tokens + row % tokens,
                 at = (row * heads + h) * D;
      double delta = 0;
      for (std::int64_t i = at; i < at + D; ++i)
        delta += static_cast<double>(r.out[static_cast<std::size_t>(i)]) *
                 in.d_out[static_cast<std::size_t>(i)];
      const double term = delta * std::exp(static_cast<double>(sinks[static_cast<std::size_t>(h)]) -
                                           r.lse[static_cast<std::size_t>(lse)]);
      squares += term * term;
    }
  return std::sqrt(squares);
}

/// `seen`: starts or lengths; empty: none.
struct Problem {
  Case c;
  std::vector<std::int32_t> seen = {};
  Beside beside;
  const std::int32_t* on_host() const { return seen.empty() ? nullptr : seen.data(); }
};

All reference(const Problem& p, const Inputs& in) {
  const Case& c = p.c;
  const std::int64_t heads = c.size.heads, distances = 2 * c.size.tokens - 1;
  All r;
  r.out.resize(in.d_out.size());
  r.lse.resize(static_cast<std::size_t>(c.statistics()));
  r.d_qkv.resize(in.qkv.size());
  r.d_sinks.resize(static_cast<std::size_t>(heads));
  const std::vector<float> by_distance = p.beside.expanded(c.size.tokens, heads);
  std::vector<float> d_biases(by_distance.size());
  AttentionSize size = c.size;
  size.biases.lowest = 1 - c.size.tokens;
  size.biases.distances = distances;
  if (p.beside.by_distance()) size.biases.by_distance = by_distance.data();
  if (!p.beside.sinks.empty()) size.biases.sinks = p.beside.sinks.data();
  biased_attention_reference(in.qkv.data(), p.on_host(), in.d_out.data(), r.out.data(),
                             r.lse.data(), r.d_qkv.data(), d_biases.data(), r.d_sinks.data(), size);
  std::vector<double> d_table(p.beside.table.size());
  for (std::int64_t h = 0; h < heads && !d_table.empty(); ++h)
    for (std::int64_t d = 0; d < distances; ++d) {
      const int bucket = p.beside.bucket_of(d + 1 - c.size.tokens);
      d_table[static_cast<std::size_t>(bucket * heads + h)] +=
          d_biases[static_cast<std::size_t>(h * distances + d)];
    }
  r.d_table.assign(d_table.begin(), d_table.end());
  r.sink_terms = norm_of_sink_terms(c, in, r, p.beside.sinks);
  return r;
}

template <class T>
All computed(const Problem& p, const Inputs& in, bool tf32, std::size_t shift) {
  const Case& c = p.c;
  const Beside& beside = p.beside;
  const std::int64_t batch = c.size.batch, tokens = c.size.tokens, heads = c.size.heads;
  const auto distances = static_cast<std::size_t>(2 * tokens - 1);
  const Operands<T> on(c, in, shift);
  const OnDevice<std::int32_t> seen(p.seen, shift),
      ends(std::vector<std::int32_t>(static_cast<std::size_t>(batch * tokens), 1 << 30), shift);
  const OnDevice<std::int64_t> positions(positions_of_samples);
  const OnDevice<T> table(narrowed<T>(beside.table), shift),
      sinks(narrowed<T>(beside.sinks), shift);
  const OnDevice<float> by_distance(
      std::vector<float>(distances * static_cast<std::size_t>(heads), 77)),
      wide_sinks(std::vector<float>(static_cast<std::size_t>(heads), 77)),
      d_buckets(std::vector<float>(
          static_cast<std::size_t>(bias_gradient_floats(batch, tokens, heads)), std::nanf(""))),
      d_table(std::vector<float>(beside.table.size(), 77)),
      d_sinks(std::vector<float>(beside.sinks.size(), 77));
  const OnDevice<std::int32_t> buckets(std::vector<std::int32_t>(distances, 1 << 30));
  const bool learns = !beside.table.empty(), has_sinks = !beside.sinks.empty();

  AttentionSize size = c.size;
  size.tf32 = tf32;
  size.dropout.positions = positions.data();
  ScoreBiases& b = size.biases;
  b.lowest = 1 - tokens;
  b.distances = 2 * tokens - 1;
  if (beside.by_distance()) b.by_distance = by_distance.data();
  if (has_sinks) b.sinks = wide_sinks.data();
  if (learns) b.buckets = buckets.data(), b.d_buckets = d_buckets.data();
  const BiasSource<T> from{beside.buckets, learns ? table.data() : nullptr, !beside.slopes.empty(),
                           has_sinks ? sinks.data() : nullptr};
  require_success(
      expand_biases(from, tokens, heads, beside.by_distance() ? by_distance.data() : nullptr,
                    learns ? buckets.data() : nullptr, has_sinks ? wide_sinks.data() : nullptr,
                    nullptr),
      "expand_biases");
  const std::int32_t* const of_samples = p.seen.empty() ? nullptr : seen.data();
  require_success(biased_attention_forward<T>(on.qkv.data(), of_samples, on.out.data(),
                                              on.lse.data(), size, nullptr),
                  "biased_attention_forward");
  All all;
  for (const bool again : {false, true}) {
    require_success(biased_attention_backward<T>(on.qkv.data(), of_samples, on.out.data(),
                                                 on.lse.data(), on.d_out.data(), on.d_qkv.data(),
                                                 on.delta.data(), ends.data(), size, nullptr),
                    "biased_attention_backward");
    if (learns)
      require_success(
          sum_bias_gradients(d_buckets.data(), batch, tokens, heads, beside.buckets.count,
                             d_table.data(), heads, again, nullptr),
          "sum_bias_gradients");
    if (has_sinks)
      require_success(sum_sink_gradients(wide_sinks.data(), on.lse.data(), on.delta.data(), batch,
                                         tokens, heads, d_sinks.data(), again, nullptr),
                      "sum_sink_gradients");
    const Results once = on.results();
    if (again) {  // the same bits, added
      CHECK(once.d_qkv == all.d_qkv);
      const auto twice = [](std::vector<float> x) {
        for (float& v : x) v *= 2;
        return x;
      };
      if (learns) CHECK(d_table.host() == twice(all.d_table));
      if (has_sinks) CHECK(d_sinks.host() == twice(all.d_sinks));
    }
    static_cast<Results&>(all) = once;
    if (again) break;
    if (learns) all.d_table = d_table.host();
    if (has_sinks) all.d_sinks = d_sinks.host();
  }
  return all;
}

void compare_as(const Problem& p, const All& got, const All& want, double tolerance,
                const char* type) {
  check(p.c, got, want, tolerance, type);
  INFO(type << " " << p.c.text());
  // sums of many terms that cancel
  if (!p.beside.table.empty() && p.c.size.tokens > 1 && p.c.size.window != 1)
    CHECK(relative_error(got.d_table, want.d_table) <= 4 * tolerance);
  if (p.beside.sinks.empty()) return;
  double norm = 0;
  for (const float x : want.d_sinks) norm += static_cast<double>(x) * x;
  norm = std::sqrt(norm);
  CHECK(relative_error(got.d_sinks, want.d_sinks) * norm <=
        4 * tolerance * std::max(norm, want.sink_terms));
}

void compare(const Problem& p, unsigned seed, std::size_t shift = 0) {
  INFO((p.c.size.causal ? "causal " : "both sides ")
       << (p.seen.empty() ? "" : "seen ") << (p.beside.table.empty() ? "" : "table ")
       << (p.beside.slopes.empty() ? "" : "slopes ") << (p.beside.sinks.empty() ? "" : "sinks ")
       << (p.c.size.dropout ? "dropped" : ""));
  const Inputs in = inputs_of(p.c, seed);
  const All want = reference(p, in);
  compare_as(p, computed<float>(p, in, false, shift), want, 4e-6, "fp32");
  compare_as(p, computed<float>(p, in, true, shift), want, 2e-3, "tf32");
  compare_as(p, computed<Bf16>(p, in, false, shift), want, 6e-3, "bf16");
  compare_as(p, computed<Fp16>(p, in, false, shift), want, 1e-3, "fp16");
}

Problem of_lengths(AttentionSize size, Beside beside, bool padded) {
  size.causal = false;
  Problem p{{size}, {}, std::move(beside)};
  if (!padded) return p;
  p.seen = sample_lengths(size.batch, size.tokens, true);
  // what `check` knows as padding are tokens without a document
  for (const std::int32_t length : p.seen)
    for (std::int64_t t = 0; t < size.tokens; ++t) p.c.starts.push_back(t < length ? 0 : -1);
  return p;
}
Problem of_documents(const AttentionSize& size, Beside beside, unsigned seed) {
  Problem p{{size, random_starts(size, 50, seed)}, {}, std::move(beside)};
  p.seen = p.c.starts;
  return p;
}

}  // namespace

TEST_CASE("attention with learned biases by distance equals the reference", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const unsigned seed = drawn_seed();
  for (const std::int64_t tokens : {1, 2, 16, 31, 33, 64, 65, 129, 200}) {
    compare({{size_of(3, tokens, 4, 4, 64)}, {}, learned(false, 4, seed)}, seed, tokens % 2);
    for (const bool padded : {false, true})
      compare(of_lengths(size_of(3, tokens, 4, 4, 64), learned(true, 4, seed), padded), seed,
              tokens % 2);
  }
  for (const std::int64_t head : {1, 20, 36, 80, 128}) {
    compare(of_lengths(size_of(2, 131, 4, 2, head), learned(true, 4, seed), true), seed);
    compare(of_documents(size_of(2, 131, 4, 2, head), learned(false, 4, seed), seed), seed);
  }
  compare(of_lengths(size_of(1, 1024, 3, 3, 64), learned(true, 3, seed), false), seed);
  AttentionSize unscaled = size_of(2, 90, 4, 4, 64);
  unscaled.scale = 1;
  compare(of_lengths(unscaled, learned(true, 4, seed), true), seed);
}

TEST_CASE("attention with ALiBi's biases and with sinks equals the reference", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const unsigned seed = drawn_seed();
  const std::vector<float> four{0x1p-2f, 0x1p-4f, 0x1p-6f, 0x1p-8f},
      six{0x1p-2f, 0x1p-4f, 0x1p-6f, 0x1p-8f, 0x1p-1f, 0x1p-3f};
  for (const std::int64_t tokens : {1, 2, 33, 64, 129})
    for (const std::int64_t head : {20, 64, 128, 256}) {
      Beside slopes;
      slopes.slopes = four;
      compare({{size_of(2, tokens, 4, 4, head)}, {}, slopes}, seed);
      Beside sinks;
      sinks.sinks = random_values(4, seed + 3);
      compare({{size_of(2, tokens, 4, 2, head, tokens / 2)}, {}, sinks}, seed);
    }
  Beside both;
  both.slopes = six;
  both.sinks = random_values(6, seed + 4);
  compare(of_documents(size_of(3, 140, 6, 2, 64), both, seed), seed, 1);
  compare(of_lengths(size_of(3, 140, 6, 2, 64, 50), both, true), seed, 1);
}

TEST_CASE("attention with biases whose probabilities are dropped equals the reference", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const unsigned seed = drawn_seed();
  for (const std::int64_t head : {20, 64, 128})
    for (const std::int64_t tokens : {5, 64, 100}) {
      AttentionSize s = size_of(3, tokens, 4, 4, head);
      s.dropout = {{0.3, 0x123456789abcdefull, 5, 3}, positions_of_samples.data(), 1, 0};
      Beside beside = learned(true, 4, seed);
      beside.sinks = random_values(4, seed + 3);
      compare(of_lengths(s, beside, true), seed);
      beside.buckets = some_buckets(false);
      beside.table = random_values(beside.buckets.count * 4, seed + 2);
      compare({{s}, {}, beside}, seed);
    }
}

TEST_CASE("attention with biases: what cannot be done", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const auto forward = [](const AttentionSize& s) {
    return biased_attention_forward<float>(nullptr, nullptr, nullptr, nullptr, s, nullptr);
  };
  CHECK(forward(size_of(0, 5, 4, 2, 64)) == cudaSuccess);
  CHECK(forward(size_of(2, 5, 4, 3, 64)) == cudaErrorInvalidValue);
  AttentionSize s = size_of(2, 5, 4, 2, 64);
  s.soft_cap = 5;
  CHECK(forward(s) == cudaErrorInvalidValue);
  float some = 0;
  s = size_of(2, 5, 4, 2, 64);
  s.biases.by_distance = &some;  // of how many distances is not said
  CHECK(forward(s) == cudaErrorInvalidValue);
  s = size_of(2, 5, 4, 2, 256);
  s.biases.d_buckets = &some;
  CHECK(forward(s) == cudaErrorInvalidValue);
}

}  // namespace biased_attention_test
