#include "kernels/rows/columns.hpp"
#include "kernels/rows/latent_heads.hpp"
#include "gpu/operands.hpp"
#include <algorithm>

namespace latent_heads_test {

using namespace trainx::kernels;

namespace {

struct Case {
  std::int64_t rows, heads, plain, rope, value_size, latent_columns;
};

const Case cases[] = {{5, 3, 4, 2, 6, 9},
                      {1, 1, 1, 1, 1, 1},
                      {67, 16, 128, 64, 128, 576},
                      {0, 2, 3, 2, 4, 5},
                      {33, 7, 5, 4, 3, 11}};

template <class T>
void check_case(const Case& c) {
  INFO("rows " << c.rows << " heads " << c.heads << " plain " << c.plain << " rope " << c.rope
               << " values " << c.value_size << " bytes " << sizeof(T));
  const std::int64_t D = c.plain + c.rope, wide = c.heads * (2 * D + c.value_size),
                     of_keys = c.heads * (c.plain + c.value_size);
  const auto queries = random_elements<T>(c.rows * c.heads * D, 1),
             keys_values = random_elements<T>(c.rows * of_keys, 2),
             latent = random_elements<T>(c.rows * c.latent_columns, 3),
             dy = random_elements<T>(c.rows * wide, 4);
  LatentHeads<T> op;
  op.rows = c.rows, op.heads = c.heads, op.plain = c.plain, op.rope = c.rope;
  op.value_size = c.value_size, op.latent_columns = c.latent_columns;
  std::vector<T> want(dy.size());
  op.queries = queries.data(), op.keys_values = keys_values.data(), op.latent = latent.data();
  op.y = want.data();
  latent_heads_reference(op);
  const OnDevice<T> d_queries(queries), d_keys_values(keys_values), d_latent(latent), d_dy(dy),
      out(std::vector<T>(dy.size()));
  op.queries = d_queries.data(), op.keys_values = d_keys_values.data();
  op.latent = d_latent.data(), op.y = out.data();
  require_success(latent_heads(op, nullptr), "latent_heads");
  CHECK(same_bits(out.host(), want));

  for (const bool added : {false, true}) {
    LatentHeadsBackward<T> back;
    back.of = op;
    std::vector<T> q(queries), kv(keys_values), l(latent);  // addends in place
    back.dy = dy.data();
    back.queries = q.data(), back.keys_values = kv.data(), back.latent = l.data();
    if (added)
      back.queries_addend = q.data(), back.keys_values_addend = kv.data(),
      back.latent_addend = l.data();
    latent_heads_backward_reference(back);
    const OnDevice<T> gq(queries), gkv(keys_values), gl(latent);
    back.dy = d_dy.data();
    back.queries = gq.data(), back.keys_values = gkv.data(), back.latent = gl.data();
    if (added)
      back.queries_addend = gq.data(), back.keys_values_addend = gkv.data(),
      back.latent_addend = gl.data();
    require_success(latent_heads_backward(back, nullptr), "latent_heads_backward");
    CHECK(same_bits(gq.host(), q));
    CHECK(same_bits(gkv.host(), kv));
    CHECK(same_bits(gl.host(), l));
  }
}

template <class T>
void check_copies() {
  const std::int64_t rows = 19, heads = 3;
  const auto from = random_elements<T>(rows * 40, 5);
  for (const std::int64_t width : {4, 8, 11}) {
    const OnDevice<T> source(from), to(std::vector<T>(static_cast<std::size_t>(rows * 50)));
    require_success(
        copy_heads<T>({to.data(), 50, 7, width}, {source.data(), 40, 3, 8}, rows, heads, nullptr),
        "copy_heads");
    std::vector<T> want(static_cast<std::size_t>(rows * 50));
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t h = 0; h < heads; ++h)
        for (std::int64_t d = 0; d < std::min<std::int64_t>(width, 8); ++d)
          want[static_cast<std::size_t>(r * 50 + 7 + h * width + d)] =
              from[static_cast<std::size_t>(r * 40 + 3 + h * 8 + d)];
    CHECK(same_bits(to.host(), want));
  }
}

template <class T>
void check_sums() {
  const std::int64_t rows = 17, width = 6;
  const auto from = random_elements<T>(rows * 20, 8), before = random_elements<T>(rows * 30, 9);
  const OnDevice<T> source(from), to(before);
  require_success(
      add_heads<T>({to.data(), 30, 7, width}, {source.data(), 20, 3, width}, rows, 2, nullptr),
      "add_heads");
  std::vector<T> want = before;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < 2 * width; ++c) {
      T& sum = want[static_cast<std::size_t>(r * 30 + 7 + c)];
      narrow(widened(sum) + widened(from[static_cast<std::size_t>(r * 20 + 3 + c)]), sum);
    }
  CHECK(same_bits(to.host(), want));
}

template <class T>
void check_put() {
  const std::int64_t rows = 21, columns = 13, first = 4, count = 6;
  const auto from = random_elements<T>(rows * count, 6),
             before = random_elements<T>(rows * columns, 7);
  for (const bool added : {false, true}) {
    const OnDevice<T> source(from), to(before);
    require_success(put_columns(PutColumns<T>{rows, columns, first, count, source.data(),
                                              added ? to.data() : nullptr, to.data()},
                                nullptr),
                    "put_columns");
    std::vector<T> want(before.size());
    for (std::int64_t i = 0; i < rows * columns; ++i) {
      const std::int64_t at = i % columns - first;
      float x = at >= 0 && at < count
                    ? widened(from[static_cast<std::size_t>(i / columns * count + at)])
                    : 0.0f;
      if (added) x += widened(before[static_cast<std::size_t>(i)]);
      narrow(x, want[static_cast<std::size_t>(i)]);
    }
    CHECK(same_bits(to.host(), want));
  }
}

}  // namespace

TEST_CASE("latent heads have the bits of their reference", "[gpu]") {
  TRAINX_NEEDS_GPU();
  for (const Case& c : cases) {
    check_case<float>(c);
    check_case<Bf16>(c);
    check_case<Fp16>(c);
  }
}

TEST_CASE("heads of other widths are copied with zeros behind them; columns are put among zeros",
          "[gpu]") {
  TRAINX_NEEDS_GPU();
  check_copies<float>();
  check_copies<Bf16>();
  check_copies<Fp16>();
  check_sums<float>();
  check_sums<Bf16>();
  check_sums<Fp16>();
  check_put<float>();
  check_put<Bf16>();
  check_put<Fp16>();
}

}  // namespace latent_heads_test
