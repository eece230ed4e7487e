// Attention with windows on both sides of a query, and lengths.
#include "kernels/attention/nearby_attention.hpp"
#include "gpu/grouped_attention_case.hpp"

namespace nearby_attention_test {

using namespace trainx::kernels;
using namespace trainx::kernels::grouped_case;

namespace {

const std::vector<std::int64_t> positions_of_samples{7, std::int64_t{1} << 35, 0};

struct Lengths {
  std::vector<std::int32_t> of_samples;  // empty: all tokens
  const std::int32_t* data() const { return of_samples.empty() ? nullptr : of_samples.data(); }
};

Results reference(const Case& c, const Lengths& lengths, const Inputs& in) {
  Results r{std::vector<float>(in.d_out.size()),
            std::vector<float>(static_cast<std::size_t>(c.statistics())),
            std::vector<float>(in.qkv.size())};
  nearby_attention_reference(in.qkv.data(), lengths.data(), in.d_out.data(), r.out.data(),
                             r.lse.data(), r.d_qkv.data(), c.size);
  return r;
}

template <class T>
Results computed(const Case& c, const Lengths& lengths, const Inputs& in, bool tf32,
                 std::size_t shift) {
  const Operands<T> on(c, in, shift);
  const OnDevice<std::int32_t> seen(lengths.of_samples, shift);
  const OnDevice<std::int64_t> positions(positions_of_samples);
  const std::int32_t* const of_samples = lengths.of_samples.empty() ? nullptr : seen.data();
  AttentionSize size = c.size;
  size.tf32 = tf32;
  size.dropout.positions = positions.data();
  require_success(nearby_attention_forward<T>(on.qkv.data(), of_samples, on.out.data(),
                                              on.lse.data(), size, nullptr),
                  "nearby_attention_forward");
  require_success(nearby_attention_backward<T>(on.qkv.data(), of_samples, on.out.data(),
                                               on.lse.data(), on.d_out.data(), on.d_qkv.data(),
                                               on.delta.data(), size, nullptr),
                  "nearby_attention_backward");
  return on.results();
}

void compare(Case c, bool padded, unsigned seed, std::size_t shift = 0) {
  const AttentionSize& s = c.size;
  Lengths lengths;
  // what `check` knows as padding are tokens without a document
  if (padded) {
    lengths.of_samples = sample_lengths(s.batch, s.tokens, true);
    for (const std::int32_t length : lengths.of_samples)
      for (std::int64_t t = 0; t < s.tokens; ++t) c.starts.push_back(t < length ? 0 : -1);
  }
  INFO((s.dropout ? "dropped" : "all") << (padded ? " of lengths" : ""));
  const Inputs in = inputs_of(c, seed);
  const Results want = reference(c, lengths, in);
  check(c, computed<float>(c, lengths, in, false, shift), want, 3e-6, "fp32");
  check(c, computed<float>(c, lengths, in, true, shift), want, 2e-3, "tf32");
  check(c, computed<Bf16>(c, lengths, in, false, shift), want, 6e-3, "bf16");
  check(c, computed<Fp16>(c, lengths, in, false, shift), want, 1e-3, "fp16");
}

AttentionSize both_sides(std::int64_t batch, std::int64_t tokens, std::int64_t heads,
                         std::int64_t key_value_heads, std::int64_t head, std::int64_t window) {
  AttentionSize s = size_of(batch, tokens, heads, key_value_heads, head, window);
  s.causal = false;
  return s;
}

}  // namespace

TEST_CASE("attention with windows on both sides equals the reference for all sizes", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const unsigned seed = drawn_seed();
  for (const bool padded : {false, true}) {
    for (const std::int64_t tokens : {1, 2, 16, 31, 33, 64, 65, 129, 200})
      for (const std::int64_t window : {0, 1, 2, 16, 31, 33, 64, 65, 1000})
        compare({both_sides(3, tokens, 4, 2, 64, window)}, padded, seed, tokens % 2);
    for (const std::int64_t head : {1, 20, 36, 80, 128, 136, 256})
      for (const std::int64_t group : {1, 3})
        compare({both_sides(2, 131, 2 * group, 2, head, 40)}, padded, seed, head % 3 == 1);
    compare({both_sides(1, 1024, 3, 3, 64, 65)}, padded, seed);
  }
  Case scaled{both_sides(2, 90, 4, 4, 64, 30)};
  scaled.size.scale = 1;
  compare(scaled, true, seed);
}

TEST_CASE("attention with windows on both sides whose probabilities are dropped", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const unsigned seed = drawn_seed();
  for (const std::int64_t head : {20, 64, 128, 256})
    for (const std::int64_t tokens : {5, 64, 100}) {
      Case c{both_sides(3, tokens, 4, head == 64 ? 2 : 4, head, tokens / 3)};
      c.size.dropout = {{0.3, 0x123456789abcdefull, 5, 3}, positions_of_samples.data(), 1, 0};
      compare(c, true, seed);
    }
}

TEST_CASE("attention with windows on both sides: what cannot be done", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const auto forward = [](const AttentionSize& s) {
    return nearby_attention_forward<float>(nullptr, nullptr, nullptr, nullptr, s, nullptr);
  };
  CHECK(forward(both_sides(0, 5, 4, 2, 64, 3)) == cudaSuccess);
  CHECK(forward(both_sides(2, 5, 4, 3, 64, 3)) == cudaErrorInvalidValue);
  AttentionSize capped = both_sides(2, 5, 4, 2, 64, 3);
  capped.soft_cap = 5;
  CHECK(forward(capped) == cudaErrorInvalidValue);
}

}  // namespace nearby_attention_test
