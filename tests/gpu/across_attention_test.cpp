// Attention of queries of one text to keys and values of another.
#include "kernels/attention/across_attention.hpp"
#include "gpu/grouped_attention_case.hpp"

namespace across_attention_test {

using namespace trainx::kernels;
using namespace trainx::kernels::grouped_case;

namespace {

const std::vector<std::int64_t> positions_of_samples{7, std::int64_t{1} << 35, 0};

struct Problem {
  AttentionSize size;
  std::int64_t keys;  // of a sample
  bool padded;

  std::int64_t elements() const { return size.batch * size.tokens * size.heads * size.head_size; }
  std::int64_t key_elements() const {
    return size.batch * keys * 2 * size.key_value_heads * size.head_size;
  }
  std::size_t statistics() const {
    return static_cast<std::size_t>(size.batch * size.tokens * size.heads);
  }
};

struct Values {
  std::vector<float> q, keys, d_out;
};
struct Found {
  std::vector<float> out, lse, d_q, d_keys;
};

Found reference(const Problem& p, const std::vector<std::int32_t>& lengths, const Values& in) {
  Found r{std::vector<float>(in.q.size()), std::vector<float>(p.statistics()),
          std::vector<float>(in.q.size()), std::vector<float>(in.keys.size())};
  AttentionSize size = p.size;
  size.memory = {p.keys, in.keys.data(), r.d_keys.data()};
  across_attention_reference(in.q.data(), lengths.empty() ? nullptr : lengths.data(),
                             in.d_out.data(), r.out.data(), r.lse.data(), r.d_q.data(), size);
  return r;
}

template <class T>
Found computed(const Problem& p, const std::vector<std::int32_t>& lengths, const Values& in,
               bool tf32, std::size_t shift) {
  const auto of = [&](const std::vector<float>& x) { return OnDevice<T>(narrowed<T>(x), shift); };
  const auto garbage = [&](std::size_t n) { return of(std::vector<float>(n, 77)); };
  const OnDevice<T> q = of(in.q), keys = of(in.keys), d_out = of(in.d_out),
                    out = garbage(in.q.size()), d_q = garbage(in.q.size()),
                    d_keys = garbage(in.keys.size());
  const OnDevice<float> lse(std::vector<float>(p.statistics(), std::nanf("")), shift),
      delta(lse.host(), shift);
  const OnDevice<std::int32_t> seen(lengths, shift);
  const OnDevice<std::int64_t> positions(positions_of_samples);
  const std::int32_t* const of_samples = lengths.empty() ? nullptr : seen.data();
  AttentionSize size = p.size;
  size.tf32 = tf32;
  size.dropout.positions = positions.data();
  size.memory = {p.keys, keys.data(), d_keys.data()};
  require_success(
      across_attention_forward<T>(q.data(), of_samples, out.data(), lse.data(), size, nullptr),
      "across_attention_forward");
  require_success(
      across_attention_backward<T>(q.data(), of_samples, out.data(), lse.data(), d_out.data(),
                                   d_q.data(), delta.data(), size, nullptr),
      "across_attention_backward");
  delta.host();  // its guards
  return {widened(out.host()), lse.host(), widened(d_q.host()), widened(d_keys.host())};
}

void check_close(const Problem& p, const Found& got, const Found& want, double tolerance,
                 const char* type) {
  INFO(type << " B " << p.size.batch << " T " << p.size.tokens << " M " << p.keys << " H "
            << p.size.heads << " K " << p.size.key_value_heads << " D " << p.size.head_size
            << (p.padded ? " padded" : "") << (p.size.dropout ? " dropped" : ""));
  CHECK(relative_error(got.out, want.out) <= tolerance);
  CHECK(relative_error(got.lse, want.lse) <= tolerance);
  // of one key the probability is 1, whatever the score
  if (p.keys > 1) CHECK(relative_error(got.d_q, want.d_q) <= 1.5 * tolerance);
  const std::int64_t row = 2 * p.size.key_value_heads * p.size.head_size;
  for (const bool values : {false, true}) {
    if (!values && p.keys == 1) continue;
    INFO((values ? "values" : "keys"));
    CHECK(relative_error(got.d_keys, want.d_keys, [&](std::int64_t i) {
            return (i % row >= row / 2) == values;
          }) <= 1.5 * tolerance);
  }
  for (std::size_t i = 0; i < want.d_keys.size(); ++i)
    if (want.d_keys[i] == 0 && p.keys > 1 && !(got.d_keys[i] == 0))
      FAIL("a key that nobody sees has a gradient of " << got.d_keys[i]);
}

void compare(const Problem& p, unsigned seed, std::size_t shift = 0) {
  std::vector<std::int32_t> lengths;
  if (p.padded) lengths = sample_lengths(p.size.batch, p.keys, true);
  const Values in{random_values(p.elements(), seed), random_values(p.key_elements(), seed + 1),
                  random_values(p.elements(), seed + 2)};
  const Found want = reference(p, lengths, in);
  check_close(p, computed<float>(p, lengths, in, false, shift), want, 4e-6, "fp32");
  check_close(p, computed<float>(p, lengths, in, true, shift), want, 2e-3, "tf32");
  check_close(p, computed<Bf16>(p, lengths, in, false, shift), want, 6e-3, "bf16");
  check_close(p, computed<Fp16>(p, lengths, in, false, shift), want, 1e-3, "fp16");
}

}  // namespace

TEST_CASE("attention to another text equals the reference for all sizes", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const unsigned seed = drawn_seed();
  for (const bool padded : {false, true}) {
    for (const std::int64_t tokens : {1, 2, 31, 64, 65, 129})
      for (const std::int64_t keys : {1, 3, 32, 33, 64, 100, 130})
        compare({size_of(3, tokens, 4, 2, 64), keys, padded}, seed, tokens % 2);
    for (const std::int64_t head : {1, 20, 36, 80, 128, 136, 256})
      compare({size_of(2, 70, 6, 2, head), 131, padded}, seed, head % 3 == 1);
    compare({size_of(1, 512, 3, 3, 64), 1024, padded}, seed);
  }
  AttentionSize unscaled = size_of(2, 90, 4, 4, 64);
  unscaled.scale = 1;
  compare({unscaled, 77, true}, seed);
}

TEST_CASE("attention to another text whose probabilities are dropped", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const unsigned seed = drawn_seed();
  for (const std::int64_t head : {20, 64, 128, 256}) {
    AttentionSize s = size_of(3, 70, 4, 4, head);
    s.dropout = {{0.3, 0x123456789abcdefull, 5, 3}, positions_of_samples.data(), 1, 0};
    compare({s, 90, true}, seed);
  }
}

TEST_CASE("attention to another text: what cannot be done", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const auto forward = [](AttentionSize s, std::int64_t keys) {
    s.memory.tokens = keys;
    return across_attention_forward<float>(nullptr, nullptr, nullptr, nullptr, s, nullptr);
  };
  CHECK(forward(size_of(0, 5, 4, 2, 64), 3) == cudaSuccess);
  CHECK(forward(size_of(2, 5, 4, 2, 64), 0) == cudaErrorInvalidValue);
  CHECK(forward(size_of(2, 5, 4, 3, 64), 3) == cudaErrorInvalidValue);
  CHECK(forward(size_of(2, 5, 4, 2, 64, 2), 3) == cudaErrorInvalidValue);
}

}  // namespace across_attention_test
