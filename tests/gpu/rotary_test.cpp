#include "kernels/rotary/rotary.hpp"
#include "gpu/operands.hpp"

namespace rotary_test {

using namespace trainx::kernels;

namespace {

struct Case {
  std::int64_t rows, length, past, query_heads, key_heads, head_size, pairs;
  bool neighbours = false;
  double factor = 1, clip = 0;
  bool packed = false;
  std::size_t shift = 0;
  std::int64_t columns() const { return (query_heads + 2 * key_heads) * head_size; }
};

std::vector<float> frequencies_of(std::int64_t pairs) {
  std::vector<float> f;
  for (std::int64_t p = 0; p < pairs; ++p)
    f.push_back(static_cast<float>(
        std::pow(10000.0, -static_cast<double>(p) / static_cast<double>(pairs))));
  return f;
}

// Of each row: where its document begins, -1 for padding.
std::vector<std::int32_t> starts_of(const Case& c) {
  std::vector<std::int32_t> starts;
  for (std::int64_t r = 0; r < c.rows; ++r) {
    const std::int64_t t = r % c.length;
    starts.push_back(static_cast<std::int32_t>(t % 7 == 6 ? -1 : t - t % 5));
  }
  return starts;
}

template <class T>
Rotary<T> operation(const Case& c, const std::vector<float>& frequencies) {
  Rotary<T> op;
  op.rows = c.rows, op.columns = c.columns(), op.length = c.length, op.past = c.past;
  op.heads = c.query_heads + c.key_heads, op.head_size = c.head_size;
  op.frequencies = frequencies.data(), op.pairs = c.pairs;
  op.factor = c.factor, op.neighbours = c.neighbours, op.clip = c.clip;
  return op;
}

template <class T>
void compare(const Case& c) {
  INFO("rows " << c.rows << " length " << c.length << " past " << c.past << " heads "
               << c.query_heads << " + " << c.key_heads << " of " << c.head_size << " pairs "
               << c.pairs << " neighbours " << c.neighbours << " clip " << c.clip << " packed "
               << c.packed << " shift " << c.shift << " bytes " << sizeof(T));
  const auto frequencies = frequencies_of(c.pairs);
  const auto x = random_elements<T>(c.rows * c.columns(), 1),
             dy = random_elements<T>(c.rows * c.columns(), 2);
  const auto starts = starts_of(c);
  const OnDevice<std::int32_t> d_starts(starts);
  std::vector<T> want(x.size()), want_d(x.size());
  Rotary<T> op = operation<T>(c, frequencies);
  if (c.packed) op.starts = starts.data();
  op.x = x.data(), op.y = want.data();
  rotary_reference(op);
  op.back = true;
  op.x = dy.data(), op.y = want_d.data();
  if (c.clip > 0) op.cut = x.data();
  rotary_reference(op);

  // an angle in radians is as exact as an fp32 of thousands
  const double exact = sizeof(T) == 2 ? 1e-5 : 1e-6;
  const OnDevice<T> in(x, c.shift), out(std::vector<T>(x.size()), c.shift), d(dy, c.shift);
  op = operation<T>(c, frequencies);
  if (c.packed) op.starts = d_starts.data();
  op.x = in.data(), op.y = out.data();
  require_success(rotary(op, nullptr), "rotary");
  check_close(out.host(), want, rounding<T>, exact, "rotated");
  op.back = true;
  op.x = d.data(), op.y = d.data();
  if (c.clip > 0) op.cut = in.data();
  require_success(rotary(op, nullptr), "rotary");
  check_close(d.host(), want_d, rounding<T>, exact, "gradient");
  // in place
  op = operation<T>(c, frequencies);
  if (c.packed) op.starts = d_starts.data();
  op.x = in.data(), op.y = in.data();
  require_success(rotary(op, nullptr), "rotary");
  CHECK(same_bits(in.host(), out.host()));
}

template <class T>
void check_shapes() {
  for (const bool neighbours : {false, true})
    for (const bool packed : {false, true})
      for (const double clip : {0.0, 0.7})
        for (const std::size_t shift : {0u, 1u}) {
          compare<T>({22, 11, 0, 4, 2, 64, 32, neighbours, 1, clip, packed, shift});
          compare<T>({10, 5, 3, 3, 1, 80, 16, neighbours, 1.2, clip, packed, shift});
          compare<T>({9, 9, 100'000, 2, 2, 16, 4, neighbours, 1, clip, packed, shift});
          compare<T>({7, 7, 0, 2, 1, 10, 5, neighbours, 1, clip, packed, shift});
          compare<T>({1, 1, 0, 1, 1, 2, 1, neighbours, 1, clip, packed, shift});
        }
  compare<T>({0, 5, 0, 4, 4, 64, 32});
  compare<T>({3, 3, 1, 1, 1, 1024, 512});
  compare<T>({2'500, 1'250, 0, 16, 4, 128, 64});
}

}  // namespace

TEST_CASE("rotary embeddings equal their reference, forward, back and in place", "[gpu]") {
  TRAINX_NEEDS_GPU();
  check_shapes<float>();
  check_shapes<Bf16>();
  check_shapes<Fp16>();
}

TEST_CASE("a rotation turned back gives what was there; NaN stays in its pair", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const Case c{40, 40, 7, 4, 2, 64, 32};
  const auto frequencies = frequencies_of(c.pairs);
  auto x = random_elements<float>(c.rows * c.columns(), 3);
  const OnDevice<float> there(x);
  Rotary<float> op = operation<float>(c, frequencies);
  op.x = op.y = there.data();
  require_success(rotary(op, nullptr), "rotary");
  op.back = true;
  require_success(rotary(op, nullptr), "rotary");
  check_close(there.host(), x, 1e-5, 1e-6, "turned back");

  const std::size_t broken = 5 * static_cast<std::size_t>(c.columns()) + 64 + 3;
  x[broken] = std::numeric_limits<float>::quiet_NaN();
  const OnDevice<float> in(x);
  op = operation<float>(c, frequencies);
  op.x = op.y = in.data();
  require_success(rotary(op, nullptr), "rotary");
  const auto y = in.host();
  for (std::size_t i = 0; i < y.size(); ++i)
    if (std::isnan(y[i]) != (i == broken || i == broken + 32)) FAIL("element " << i);
}

TEST_CASE("rotary embeddings refuse more pairs than travel with a launch", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const auto frequencies = frequencies_of(513);
  Rotary<float> op = operation<float>({1, 1, 0, 1, 1, 1026, 513}, frequencies);
  const OnDevice<float> x(std::vector<float>(3 * 1026));
  op.x = op.y = x.data();
  CHECK(rotary(op, nullptr) == cudaErrorInvalidValue);
}

}  // namespace rotary_test
