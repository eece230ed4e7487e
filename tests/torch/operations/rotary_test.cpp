// Rotary positions against rotations of doubles.
#include "torch/operations/double_reference.hpp"
#include "operations/rotary/rotary.hpp"

namespace rotary_test {

using namespace trainx;
using namespace double_reference;
using operations::Rotary;

namespace {

struct Case {
  Rotary r;
  std::int64_t rows = 0, past = 0;
  Doubles starts;  // empty: none
  std::int64_t columns() const { return (r.query_heads + 2 * r.key_value_heads) * r.head_size; }
};

Doubles formula(const Case& c, const Doubles& x) {
  const Rotary& r = c.r;
  Doubles out = x;
  if (r.clip > 0)
    for (double& v : out) v = std::clamp(v, -r.clip, r.clip);
  const auto pairs = static_cast<std::int64_t>(r.frequencies.size());
  for (std::int64_t row = 0; row < c.rows; ++row) {
    auto position = static_cast<double>(c.past + row % r.length);
    if (!c.starts.empty()) {
      const double start = c.starts[static_cast<std::size_t>(row)];
      position = start < 0 ? 0 : position - start;
    }
    for (std::int64_t h = 0; h < r.query_heads + r.key_value_heads; ++h)
      for (std::int64_t p = 0; p < pairs; ++p) {
        const std::int64_t head = row * c.columns() + h * r.head_size;
        double& a = out[static_cast<std::size_t>(head + (r.neighbours ? 2 * p : p))];
        double& b = out[static_cast<std::size_t>(head + (r.neighbours ? 2 * p + 1 : p + pairs))];
        const double angle = position * r.frequencies[static_cast<std::size_t>(p)],
                     first = a * std::cos(angle) - b * std::sin(angle),
                     second = b * std::cos(angle) + a * std::sin(angle);
        a = first * r.factor, b = second * r.factor;
      }
  }
  return out;
}

}  // namespace

TEST_CASE("rotary positions, forward and backward, also in place") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16, at::kHalf);
  const std::int64_t D = GENERATE(2, 10, 20), group = GENERATE(1, 2, 3);
  const bool part = GENERATE(false, true), neighbours = GENERATE(false, true);
  enum Rows { plain, later, documents };
  const auto rows = GENERATE(plain, later, documents);
  const double clip = GENERATE(0.0, 0.7);
  const std::int64_t K = D == 20 ? 1 : 2, T = 9, B = rows == later ? 1 : 2;
  const std::int64_t pairs = part ? D / 4 : D / 2;
  Operands operands(type);
  INFO(c10::toString(type) << " head size " << D << " group " << group << " pairs " << pairs
                           << " neighbours " << neighbours << " rows " << rows << " clip " << clip
                           << " seed " << operands.seed());
  Case c{.r = {.query_heads = K * group,
               .key_value_heads = K,
               .head_size = D,
               .length = T,
               .factor = part ? 1.2 : 1,
               .neighbours = neighbours,
               .clip = clip},
         .rows = B * T,
         .past = rows == later ? 7 : 0};
  for (std::int64_t p = 0; p < pairs; ++p)  // some turn the other way
    c.r.frequencies.push_back((p % 3 == 2 ? -1.0f : 1.0f) / static_cast<float>(1 + p));
  at::Tensor starts;
  if (rows == documents) starts = document_starts(B, T), c.starts = doubles(starts);
  at::Tensor x = operands.normal({c.rows, c.columns()});
  if (clip > 0) x = x.masked_fill((x.abs() - clip).abs() < 5e-3, 0.5);  // none at the cut
  const Tensor from = starts.defined() ? Tensor(starts) : Tensor();
  const at::Tensor y = operands.empty(x.sizes()), same = x.clone();
  operations::rotate(c.r, y, x, from, c.past);
  Doubles in = doubles(x);
  CHECK(error(y, formula(c, in)) <= operands.tolerance());
  operations::rotate(c.r, same, same, from, c.past);
  CHECK(at::equal(same, y));

  if (rows == later) return;  // no training
  const at::Tensor dy = operands.normal(x.sizes()), dx = operands.empty(x.sizes()),
                   over = dy.clone();
  const Tensor cut = clip > 0 ? Tensor(x) : Tensor();
  operations::rotate_backward(c.r, dx, dy, cut, from);
  // linear but for the cut: turned back, which is the turn by opposite angles
  Case back = c;
  back.r.clip = 0;
  for (float& f : back.r.frequencies) f = -f;
  Doubles want = formula(back, doubles(dy));
  for (std::size_t i = 0; i < want.size(); ++i)
    if (clip > 0 && std::abs(in[i]) > clip) want[i] = 0;
  CHECK(error(dx, want) <= operands.tolerance());
  if (D < 20 && group < 3 && type == at::kFloat) {
    const Doubles d = doubles(dy);
    CHECK(error(dx, slopes(in, [&] { return dot(formula(c, in), d); })) <= operands.tolerance());
  }
  operations::rotate_backward(c.r, over, over, cut, from);
  CHECK(at::equal(over, dx));
}

TEST_CASE("rotary positions of no pairs cut alone") {
  Operands operands(at::kFloat);
  INFO("seed " << operands.seed());
  const Case c{.r = {.head_size = 10, .length = 3, .clip = 0.5}, .rows = 3};
  const at::Tensor x = operands.normal({3, 30}), y = operands.empty({3, 30});
  operations::rotate(c.r, y, x, {}, 0);
  CHECK(error(y, formula(c, doubles(x))) <= 1e-7);
}

TEST_CASE("rows that come one by one turn as they do together") {
  Operands operands(at::kFloat);
  INFO("seed " << operands.seed());
  Rotary r{.query_heads = 2, .head_size = 10, .length = 6};
  r.frequencies = {1, 0.5f, 0.1f};
  const at::Tensor x = operands.normal({6, 40}), y = operands.empty({6, 40}),
                   each = operands.empty({6, 40});
  operations::rotate(r, y, x, {}, 0);
  r.length = 1;
  for (std::int64_t t = 0; t < 6; ++t) {
    const at::Tensor to = each.narrow(0, t, 1), from = x.narrow(0, t, 1);
    operations::rotate(r, to, from, {}, t);
  }
  CHECK(at::equal(each, y));
}

}  // namespace rotary_test
