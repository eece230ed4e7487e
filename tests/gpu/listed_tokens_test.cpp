#include "kernels/rows/listed_tokens.hpp"
#include "gpu/operands.hpp"
#include <algorithm>
#include <numeric>

namespace listed_tokens_test {

using namespace trainx::kernels;

namespace {

std::vector<std::int32_t> drawn_ids(std::int32_t count, std::int32_t of) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(of));
  std::iota(ids.begin(), ids.end(), 0);
  std::shuffle(ids.begin(), ids.end(), std::mt19937(1));
  ids.resize(static_cast<std::size_t>(count));
  return ids;
}

std::vector<std::int32_t> drawn_tokens(std::int64_t rows, std::int32_t of) {
  std::mt19937 source(2);
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(rows));
  for (std::int32_t& token : tokens)
    token = static_cast<std::int32_t>(source() % static_cast<unsigned>(of));
  return tokens;
}

template <class T>
void check_rows() {
  constexpr std::int32_t vocabulary = 1000;
  const std::int64_t columns = GENERATE(1, 7, 768);
  const std::int32_t count = GENERATE(1, 255, 256, 257, 700);
  for (const std::int64_t rows : {0, 1, 97}) {
    INFO("columns " << columns << " ids " << count << " rows " << rows);
    const auto ids = drawn_ids(count, vocabulary);
    const auto tokens = drawn_tokens(rows, vocabulary);
    std::vector<std::int32_t> places(tokens.size(), -1);
    place_tokens_reference({rows, tokens.data(), places.data(), count, ids.data()});
    const OnDevice<std::int32_t> d_tokens(tokens),
        d_places(std::vector<std::int32_t>(tokens.size(), -1));
    require_success(
        place_tokens({rows, d_tokens.data(), d_places.data(), count, ids.data()}, nullptr),
        "place_tokens");
    CHECK(d_places.host() == places);
    const auto base = random_elements<T>(rows * columns, 3),
               trained = random_elements<T>((count + 1) * columns, 4),
               table = random_elements<T>(vocabulary * columns, 5);
    const OnDevice<T> d_base(base), d_rows(trained), d_table(table);
    for (const bool sums : {false, true}) {
      std::vector<T> want(base.size());
      ReplaceRows<T> op{rows,
                        columns,
                        places.data(),
                        count,
                        base.data(),
                        trained.data(),
                        sums ? table.data() : nullptr,
                        tokens.data(),
                        1.5f,
                        want.data()};
      replace_rows_reference(op);
      const OnDevice<T> got(std::vector<T>(base.size()));
      op.places = d_places.data(), op.base = d_base.data(), op.rows = d_rows.data();
      op.table = sums ? d_table.data() : nullptr;
      op.tokens = d_tokens.data(), op.y = got.data();
      require_success(replace_rows(op, nullptr), "replace_rows");
      CHECK(same_bits(got.host(), want));
    }
  }
}

template <class T>
void check_columns() {
  constexpr std::int64_t columns = 900;
  const std::int32_t count = GENERATE(1, 255, 256, 257, 700);
  const bool has_others = GENERATE(false, true);
  for (const std::int64_t rows : {0, 1, 33}) {
    INFO("ids " << count << " rows " << rows << (has_others ? " some are elsewhere" : ""));
    auto ids = drawn_ids(count, columns);
    for (std::size_t k = 0; has_others && k < ids.size(); k += 3) ids[k] = -1;
    auto wide = random_elements<T>(rows * columns, 6), narrow = random_elements<T>(rows * count, 7);
    const OnDevice<T> d_wide(wide), d_narrow(narrow);
    std::vector<T> taken(narrow.size());
    take_listed_columns_reference(
        ListedColumns<T>{rows, columns, count, ids.data(), wide.data(), taken.data()});
    const OnDevice<T> got(std::vector<T>(narrow.size()));
    require_success(
        take_listed_columns(
            ListedColumns<T>{rows, columns, count, ids.data(), d_wide.data(), got.data()}, nullptr),
        "take_listed_columns");
    CHECK(same_bits(got.host(), taken));
    for (const bool clears : {false, true}) {
      put_listed_columns_reference(ListedColumns<T>{rows, columns, count, ids.data(), wide.data(),
                                                    clears ? nullptr : narrow.data()});
      require_success(
          put_listed_columns(ListedColumns<T>{rows, columns, count, ids.data(), d_wide.data(),
                                              clears ? nullptr : d_narrow.data()},
                             nullptr),
          "put_listed_columns");
      CHECK(same_bits(d_wide.host(), wide));
    }
  }
}

}  // namespace

TEMPLATE_TEST_CASE("rows of listed tokens are replaced as by the reference", "[gpu]", float, Bf16,
                   Fp16) {
  TRAINX_NEEDS_GPU();
  check_rows<TestType>();
}

TEMPLATE_TEST_CASE("columns of listed tokens are copied as by the reference", "[gpu]", float, Bf16,
                   Fp16) {
  TRAINX_NEEDS_GPU();
  check_columns<TestType>();
}

}  // namespace listed_tokens_test
