// Rows of a vocabulary that are trained by themselves, against what torch makes of index_copy.
#include "operations/trained_tokens/trained_tokens.hpp"
#include "support/catch.hpp"
#include "tensor/torch_view.hpp"
#include <ATen/TensorOperators.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/index_copy.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <algorithm>

namespace trained_tokens_test {

using namespace trainx;

namespace {

constexpr std::int64_t vocabulary = 11, columns = 6;

at::Tensor ids_of(const std::vector<std::int32_t>& ids) {
  return at::tensor(std::vector<std::int64_t>(ids.begin(), ids.end()), at::kLong);
}

}  // namespace

TEST_CASE("rows of listed tokens stand in the table's place") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16, at::kHalf);
  const std::vector<std::int32_t> ids =
      GENERATE(std::vector<std::int32_t>{4}, std::vector<std::int32_t>{10, 0, 4});
  const double scale = GENERATE(1.0, 3.0);
  at::manual_seed(1);
  const auto count = std::ssize(ids);
  const at::Tensor table = at::randn({vocabulary, columns}, type),
                   rows = at::randn({count + 1, columns}, type),
                   tokens = at::randint(vocabulary, {2, 9}, at::kInt),
                   places = at::full({18}, -1, at::kInt);
  rows[count].zero_();
  operations::place_tokens(Tensor(places), Tensor(tokens), ids);
  for (std::int64_t n = 0; n < 18; ++n) {
    const auto token = tokens.view({-1})[n].item<std::int32_t>();
    const auto place = std::find(ids.begin(), ids.end(), token) - ids.begin();
    CHECK(places[n].item<std::int64_t>() == place);
  }
  const at::Tensor changed = at::index_copy(table, 0, ids_of(ids), rows.narrow(0, 0, count)),
                   want = at::embedding(changed, tokens.view({-1})).to(at::kFloat) * scale;
  const at::Tensor base = (at::embedding(table, tokens.view({-1})).to(at::kFloat) * scale).to(type),
                   y = at::full({18, columns}, 7, type);
  operations::replace_rows(Tensor(y), Tensor(base), Tensor(rows), Tensor(places), scale, {},
                           Tensor(tokens));
  CHECK(at::equal(y, want.to(type)));

  // of a sum the rest stays
  const at::Tensor positions = at::randn({18, columns}, type),
                   sum = (base.to(at::kFloat) + positions.to(at::kFloat)).to(type);
  operations::replace_rows(Tensor(y), Tensor(sum), Tensor(rows), Tensor(places), scale,
                           Tensor(table), Tensor(tokens));
  const double rounding = type == at::kFloat ? 1e-6 : type == at::kHalf ? 4e-3 : 3e-2;
  const double error =
      (y.to(at::kFloat) - want - positions.to(at::kFloat)).abs().max().item<double>();
  CHECK(error <= rounding * 4 * scale);
  operations::replace_rows(Tensor(sum), Tensor(sum), Tensor(rows), Tensor(places), scale,
                           Tensor(table), Tensor(tokens));
  CHECK(at::equal(sum, y));
}

TEST_CASE("columns of listed tokens are taken and put") {
  const auto type = GENERATE(at::kFloat, at::kBFloat16, at::kHalf);
  const std::vector<std::int32_t> ids{10, 0, 4};
  at::manual_seed(2);
  const at::Tensor wide = at::randn({5, vocabulary}, type), narrow = at::full({5, 3}, 7, type);
  operations::take_listed_columns(Tensor(narrow), Tensor(wide), ids);
  CHECK(at::equal(narrow, wide.index_select(1, ids_of(ids))));
  // what another rank has is 0, and is not written
  const std::vector<std::int32_t> own = operations::ids_within(ids, 4, 7);
  CHECK(own == std::vector<std::int32_t>{6, -1, 0});
  const std::vector<std::int32_t> some{10, -1, 4};
  operations::take_listed_columns(Tensor(narrow), Tensor(wide), some);
  at::Tensor taken = wide.index_select(1, ids_of(ids));
  taken.narrow(1, 1, 1).zero_();
  CHECK(at::equal(narrow, taken));
  const at::Tensor kept = wide.clone();
  operations::put_listed_columns(Tensor(kept), {}, some);
  CHECK(at::equal(kept, at::index_copy(wide, 1, ids_of({10, 4}), at::full({5, 2}, 0, type))));

  const at::Tensor others = at::randn({5, 3}, type), put = wide.clone(), cleared = wide.clone();
  operations::put_listed_columns(Tensor(put), Tensor(others), ids);
  CHECK(at::equal(put, at::index_copy(wide, 1, ids_of(ids), others)));
  operations::put_listed_columns(Tensor(cleared), {}, ids);
  CHECK(at::equal(cleared, at::index_copy(wide, 1, ids_of(ids), at::full({5, 3}, 0, type))));
}

}  // namespace trained_tokens_test
